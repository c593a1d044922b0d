"""The adapters, and what each is imported beside."""

FRAMEWORKS = {
    "claude_agent_sdk": "claude_agent_sdk",
    "google_adk": "google.adk",
    "inspect_ai": "inspect_ai",
    "langchain": "langchain",
    "openai_agents": "agents",
    "openhands": "openhands.sdk",
    "pydantic_ai": "pydantic_ai",
}
