"""pydantic-ai-harness: `SummarizingCompaction` with its defaults (20 messages and the first request kept), run by `compact_now`."""

import asyncio
import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from line import chat_call, serve, text_of  # noqa: E402
from pydantic_ai.messages import (  # noqa: E402
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402
from pydantic_ai_harness.compaction import SummarizingCompaction, compact_now  # noqa: E402


class Session:
    def __init__(self, model_url):
        self.model = OpenAIChatModel("played", provider=OpenAIProvider(base_url=model_url, api_key="none"))
        self.version = importlib.metadata.version("pydantic-ai-harness")

    def start(self, system, window):
        self.strategy = SummarizingCompaction(max_fraction=0.9, context_window=window)
        self.messages, self.names = [], {}

    def compact(self, messages):
        for message in messages:
            self.add(message)
        self.messages = asyncio.run(compact_now(self.strategy, self.messages, model=self.model))
        return [chat for message in self.messages for chat in self.chats(message)]

    def add(self, message):
        if message["role"] == "user":
            self.messages.append(ModelRequest(parts=[UserPromptPart(message["content"])]))
        elif message["role"] == "tool":
            identifier = message["tool_call_id"]
            part = ToolReturnPart(tool_name=self.names.get(identifier, "tool"), content=message["content"], tool_call_id=identifier)
            last = self.messages[-1]
            # Results of one batch are one request, as the library makes them.
            if isinstance(last, ModelRequest) and all(isinstance(p, ToolReturnPart) for p in last.parts):
                self.messages[-1] = ModelRequest(parts=[*last.parts, part])
            else:
                self.messages.append(ModelRequest(parts=[part]))
        else:
            parts = [TextPart(message["content"])] if message["content"] else []
            for call in message.get("tool_calls") or []:
                self.names[call["id"]] = call["function"]["name"]
                parts.append(ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]))
            self.messages.append(ModelResponse(parts=parts))

    @staticmethod
    def chats(message):
        if isinstance(message, ModelResponse):
            text = "\n".join(p.content for p in message.parts if isinstance(p, TextPart))
            calls = [chat_call(p.tool_call_id, p.tool_name, p.args) for p in message.parts if isinstance(p, ToolCallPart)]
            yield {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
            return
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
            elif isinstance(part, SystemPromptPart):
                yield {"role": "system", "content": part.content}
            elif content := getattr(part, "content", None):
                yield {"role": "user", "content": text_of(content)}


if __name__ == "__main__":
    serve(Session)
