"""An agent of Inspect's with a small window, whose conversation contextd compacts and keeps. The model is played."""

import re
import tempfile
from itertools import count
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.tool import Tool, tool

from contextd import Contextd
from contextd.inspect_ai import ContextdCompaction

turns = count()


@tool
def meter_reading() -> Tool:
    async def execute(room: str) -> str:
        """Reads a room's meter.

        Args:
            room: The room.
        """
        return f"The meter in {room} shows {7919 * int(room[5:])} kWh. " + "It was checked and found in order. " * 20

    return execute


class PlayedModel(ModelAPI):
    async def generate(self, input: list[ChatMessage], *_: Any, **__: Any) -> ModelOutput:
        print(*re.findall(r"It shows \d+ kWh|shows \d+ kWh.", input[-1].text)[:1])
        if (n := next(turns)) == 20:
            return ModelOutput.for_tool_call("played", "submit", {"answer": "All are read."})
        return ModelOutput.for_tool_call(
            "played", "meter_reading", {"room": f"room-{n}"}, tool_call_id=f"call_room-{n}"
        )

    async def count_text_tokens(self, text: str) -> int:
        return len(text) // 4


@modelapi(name="played")
def played() -> type[ModelAPI]:
    return PlayedModel


with Contextd() as client, tempfile.TemporaryDirectory() as logs:
    compaction = ContextdCompaction(client, threshold=3000, external_id="meters-inspect-ai")
    task = Task([Sample("What do the meters show?")], solver=react(tools=[meter_reading()], compaction=compaction))
    eval(task, model=get_model("played/meters"), log_dir=logs, display="none")
    session_id = client.sessions.get_or_create("meters-inspect-ai")["id"]
    done = [its for its in client.compactions.list(session_id) if its["status"] == "succeeded"]
    first = client.tool_calls.get(session_id, "call_room-0")
    print(f"After {len(done)} compactions contextd still has it whole: {first.get('result_text')}")
