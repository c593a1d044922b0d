"""An agent of OpenHands with a small window, whose events contextd keeps. The model is played."""

import re
import tempfile
from typing import Any

from openhands.sdk import Agent, Conversation
from openhands.sdk.llm import LLMResponse, Message, MessageToolCall
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import Action, Observation, Tool, ToolDefinition, ToolExecutor, register_tool

from contextd import Contextd
from contextd.openhands import ContextdCondenser


class Room(Action):
    room: str


class Reading(Observation): ...


class Meter(ToolExecutor[Room, Reading]):
    def __call__(self, action: Room, conversation: object = None) -> Any:
        text = f"The meter in {action.room} shows {7919 * int(action.room[5:])} kWh." + " It is in order." * 40
        return Reading.from_text(text)


class MeterReadingTool(ToolDefinition[Room, Reading]):
    @classmethod
    def create(cls, *_: Any, **__: Any) -> Any:
        return [cls(description="Reads a meter.", action_type=Room, observation_type=Reading, executor=Meter())]


class PlayedLLM(TestLLM):
    def completion(self, messages: list[Message], *_: Any, **__: Any) -> LLMResponse:
        text = str(messages[-1].content)
        room, shown = re.findall(r"room-\d+", text)[-1], re.findall(r"shows \d+ kWh", text)
        call = MessageToolCall(id=room, name="meter_reading", arguments=f'{{"room": "{room}"}}', origin="completion")
        said: Any = {"content": f"It {shown[0]}."} if messages[-1].role == "tool" else {"tool_calls": [call]}
        print(said.get("content", room))
        self._scripted_responses.append(Message(role="assistant", **said))
        return super().completion(messages)


register_tool("MeterReadingTool", MeterReadingTool)
with Contextd() as client, tempfile.TemporaryDirectory() as folder:
    small: Any = {"settings": {"context_window": 3000}}
    condenser = ContextdCondenser(client=client, session_id="openhands", creation=small)
    tools: Any = {"tools": [Tool(name="MeterReadingTool")], "include_default_tools": []}
    agent = Agent(llm=PlayedLLM(model="played"), condenser=condenser, system_prompt="Read meters.", **tools)
    conversation: Any = Conversation(agent, workspace=folder, visualizer=None)
    for n in range(20):
        conversation.send_message(f"What does the meter in room-{n} show?")
        conversation.run()
    session_id = client.sessions.get_or_create("openhands")["id"]
    done = [its for its in client.compactions.list(session_id) if its["status"] == "succeeded"]
    first = client.tool_calls.get(session_id, "room-0")
    print(f"After {len(done)} compactions contextd still has it whole: {first.get('result_text')}")
