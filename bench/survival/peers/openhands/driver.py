"""OpenHands' summarizing condenser as its default agent has it, asked by a condensation request."""

import importlib.metadata
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
# It warns of windows under 16,384 tokens and otherwise works in them.
os.environ["ALLOW_SHORT_CONTEXT_WINDOWS"] = "true"
# litellm's own list of models, in place of one that it would fetch: nothing here needs the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from line import arguments_of, chat_call, serve  # noqa: E402
from openhands.sdk import LLM, Message, TextContent  # noqa: E402
from openhands.sdk.context.condenser.llm_summarizing_condenser import default_condenser  # noqa: E402
from openhands.sdk.context.view import View  # noqa: E402
from openhands.sdk.event import ActionEvent, MessageEvent, ObservationEvent  # noqa: E402
from openhands.sdk.event.condenser import Condensation, CondensationRequest  # noqa: E402
from openhands.sdk.llm import MessageToolCall  # noqa: E402
from openhands.sdk.mcp.definition import MCPToolAction, MCPToolObservation  # noqa: E402


class Session:
    def __init__(self, model_url):
        self.model_url = model_url
        self.version = importlib.metadata.version("openhands-sdk")

    def start(self, system, window):
        self.llm = LLM(model="openai/played", base_url=self.model_url, api_key="none", max_input_tokens=window, usage_id="condenser")
        self.condenser = default_condenser(self.llm)
        self.events, self.actions, self.answers = [], {}, 0

    def compact(self, messages):
        for message in messages:
            self.add(message)
        self.events.append(CondensationRequest())
        outcome = self.condenser.condense(View.from_events(self.events), agent_llm=self.llm)
        if isinstance(outcome, Condensation):
            self.events.append(outcome)
        else:
            self.events.pop()
        return [chat for event in View.from_events(self.events).events for chat in self.chat(event)]

    def add(self, message):
        text = [TextContent(text=message["content"])] if message["content"] else []
        if message["role"] == "tool":
            action = self.actions[message["tool_call_id"]]
            observation = MCPToolObservation(content=text, tool_name=action.tool_name)
            event = ObservationEvent(observation=observation, action_id=action.id, tool_name=action.tool_name, tool_call_id=action.tool_call_id)
            self.events.append(event)
        elif not message.get("tool_calls"):
            source = "user" if message["role"] == "user" else "agent"
            self.events.append(MessageEvent(source=source, llm_message=Message(role=message["role"], content=text)))
        else:
            self.answers += 1
            for number, call in enumerate(message["tool_calls"]):
                name = call["function"]["name"]
                event = ActionEvent(
                    thought=[] if number else text, action=MCPToolAction(data=arguments_of(call)), tool_name=name, tool_call_id=call["id"],
                    tool_call=MessageToolCall(id=call["id"], name=name, arguments=call["function"]["arguments"], origin="completion"),
                    llm_response_id=f"answer-{self.answers}",
                )
                self.actions[call["id"]] = event
                self.events.append(event)

    @staticmethod
    def chat(event):
        message = event.to_llm_message()
        text = "\n".join(part.text for part in message.content if isinstance(part, TextContent))
        if message.role == "tool":
            yield {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
        else:
            calls = [chat_call(c.id, c.name, c.arguments) for c in message.tool_calls or []]
            yield {"role": message.role, "content": text or None, **({"tool_calls": calls} if calls else {})}


if __name__ == "__main__":
    serve(Session)
