"""Chat messages as LangChain's, and back."""

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from line import arguments_of, chat_call, text_of


def to_langchain(message, number):
    identifier, role = f"m{number}", message["role"]
    if role == "user":
        return HumanMessage(message["content"], id=identifier)
    if role == "tool":
        return ToolMessage(message["content"], tool_call_id=message["tool_call_id"], id=identifier)
    calls = [{"name": c["function"]["name"], "args": arguments_of(c), "id": c["id"]} for c in message.get("tool_calls") or []]
    return AIMessage(message["content"] or "", tool_calls=calls, id=identifier)


def to_chat(message):
    text = text_of(message.content)
    if isinstance(message, SystemMessage):
        return {"role": "system", "content": text}
    if isinstance(message, HumanMessage):
        return {"role": "user", "content": text}
    if isinstance(message, ToolMessage):
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    calls = [chat_call(c["id"], c["name"], c["args"]) for c in message.tool_calls]
    return {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
