"""The compaction strategy for Inspect's agents, under the published `eval`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the package inspect-ai")

from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.event import CompactionEvent
from inspect_ai.log import EvalSample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentAudio,
    ContentImage,
    ContentReasoning,
    ContentText,
    ModelAPI,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.model._model import collapse_consecutive_user_messages
from inspect_ai.tool import Tool, ToolCall, ToolCallError, tool
from pydantic import TypeAdapter

from contextd import Contextd
from contextd._inspect_ai_messages import pieces_of, restore, session_of, to_native
from contextd._native import text_of
from contextd.inspect_ai import ContextdCompaction
from tests.adapters.meters import SUMMARY, TURNS, reading, shows, tells

THRESHOLD = 3000
LONG = "It is a long one. " * 40
MESSAGES: TypeAdapter[list[ChatMessage]] = TypeAdapter(list[ChatMessage])


@pytest.fixture(autouse=True)
def _nothing_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect keeps traces of its own there."""
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@tool
def meter_reading() -> Tool:
    async def execute(room: str) -> str:
        """Reads a room's meter.

        Args:
            room: The room.
        """
        return shows(room)

    return execute


class PlayedModel(ModelAPI):
    """Reads one meter after another, tells what each shows, and then submits."""

    def __init__(self, model_name: str, **_: Any) -> None:
        super().__init__(model_name)
        self.seen: list[list[ChatMessage]] = []

    async def generate(self, input: list[ChatMessage], *_: Any, **__: Any) -> ModelOutput:
        self.seen.append(list(input))
        if len(self.seen) > TURNS:
            return ModelOutput.for_tool_call("played", "submit", {"answer": "All are read."})
        room = f"room-{len(self.seen) - 1}"
        told = tells(input[-1].text) if isinstance(input[-1], ChatMessageTool) else "I begin."
        return ModelOutput.for_tool_call("played", "meter_reading", {"room": room}, content=told)

    async def count_text_tokens(self, text: str) -> int:
        return len(text) // 4


@modelapi(name="played")
def played() -> type[ModelAPI]:
    return PlayedModel


def evaluate(compaction: ContextdCompaction, log_dir: Path) -> tuple[EvalSample, list[list[ChatMessage]]]:
    """What became of the sample, and what the model was sent."""
    agent = react(prompt="Read meters.", tools=[meter_reading()], compaction=compaction)
    task = Task([Sample("What do the meters in rooms 0 to 29 show?")], solver=agent)
    model = get_model("played/meters", memoize=False)
    [log] = eval(task, model=model, log_dir=str(log_dir), display="none")
    assert log.status == "success", log.error
    [sample] = log.samples or []
    assert isinstance(model.api, PlayedModel)
    return sample, model.api.seen


def test_thirty_turns_in_a_small_window(client: Contextd, tmp_path: Path) -> None:
    sample, seen = evaluate(ContextdCompaction(client, threshold=THRESHOLD), tmp_path)
    assert len([event for event in sample.events if isinstance(event, CompactionEvent)]) >= 3
    session_id = session_of(seen[-1])
    assert session_id
    assert len([its for its in client.compactions.list(session_id) if its["status"] == "succeeded"]) >= 3
    for sent in seen:
        MESSAGES.validate_python([message.model_dump() for message in sent])
        assert_is_paired(sent)
        items = [to_native(message) for message in sent]
        assert client.count(format="native", items=items)["tokens"] <= THRESHOLD
    assert any(SUMMARY in message.text for message in seen[-1])
    assert_nothing_is_lost(client, session_id, seen[-1])


def assert_is_paired(messages: list[ChatMessage]) -> None:
    asked = [message for message in messages if isinstance(message, ChatMessageAssistant)]
    calls = [call.id for message in asked for call in message.tool_calls or ()]
    assert calls == [message.tool_call_id for message in messages if isinstance(message, ChatMessageTool)]


def assert_nothing_is_lost(client: Contextd, session_id: str, last: list[ChatMessage]) -> None:
    kept = [its["item"] for its in client.entries.list(session_id) if its["type"] == "message"]
    assert [item["role"] for item in kept] == ["user", *["assistant", "tool"] * (len(kept) // 2)]
    told = [block["content"][0]["text"] for item in kept if item["role"] == "tool" for block in item["content"]]
    # What was not compacted is in the conversation still.
    told += [message.text for message in last if isinstance(message, ChatMessageTool) and message.text not in told]
    assert [re.findall(r"shows (\d+)", text) for text in told] == [[f"{reading(f'room-{n}')}"] for n in range(TURNS)]


CALLS = [ToolCall(id="1", function="look", arguments={"at": [1, 2.5, None]}), ToolCall("2", "look", {})]
EVERYTHING: list[ChatMessage] = [
    ChatMessageUser(
        content=[
            ContentText(text="See here: ünïcode \u2028"),
            ContentImage(image="https://example.com/a.png"),
            ContentImage(image="data:image/png;base64,aGk="),
            ContentImage(image="a.png"),
            ContentAudio(audio="data:audio/wav;base64,aGk=", format="wav"),
        ]
    ),
    ChatMessageAssistant(
        content=[
            ContentReasoning(reasoning="Hm.", signature="abc"),
            ContentReasoning(reasoning="xyz", redacted=True),
            ContentText(text="I look."),
        ],
        tool_calls=CALLS,
    ),
    ChatMessageTool(content=[ContentText(text="A cat"), ContentText(text="and a dog")], tool_call_id="1"),
    ChatMessageTool(content="", error=ToolCallError("timeout", "It took too long."), tool_call_id="2"),
    ChatMessageAssistant(content="A cat."),
    ChatMessageUser(content="Thanks."),
]


@pytest.mark.anyio
async def test_what_needs_no_compaction_stays_as_it_is(client: Contextd) -> None:
    prompt = ChatMessageSystem(content="Be brief.")
    model = get_model("played/meters", memoize=False)
    kept, summary = await ContextdCompaction(client).compact(model, [prompt, *EVERYTHING], [])
    assert all(after is before for after, before in zip(kept, [prompt, *EVERYTHING], strict=True))
    assert summary is None


def test_messages_can_be_made_anew() -> None:
    items = [to_native(message) for message in EVERYTHING]
    made = restore(items, [], "s")
    assert [to_native(message) for message in made if message.role != "tool"] == [
        item for item in items if item["role"] != "tool"
    ]
    assert [message.text for message in made if message.role == "tool"] == [
        "A cat\nand a dog",
        "It took too long.",
    ]


def test_what_is_shortened_keeps_what_it_had() -> None:
    asked, answered = EVERYTHING[1:3]
    items = [to_native(asked), to_native(answered)]
    items[0]["content"][-1] = {**items[0]["content"][-1], "arguments": {"at": "[elided]"}}
    items[1]["content"][0] = {**items[1]["content"][0], "content": "[elided]"}
    call, result = restore(items, list(pieces_of(EVERYTHING)), "s")
    assert isinstance(call, ChatMessageAssistant) and call.tool_calls
    assert [its.arguments for its in call.tool_calls] == [CALLS[0].arguments, {"at": "[elided]"}]
    assert (call.id, call.content) == (asked.id, asked.content)
    assert (result.id, result.text) == (answered.id, "[elided]")


@pytest.mark.anyio
async def test_a_summary_that_was_merged_is_known(client: Contextd) -> None:
    strategy = ContextdCompaction(client, threshold=THRESHOLD)
    model = get_model("played/meters", memoize=False)
    said: list[ChatMessage] = []
    for n in range(10):
        said += [ChatMessageUser(content=f"Remark {n}. " + LONG), ChatMessageAssistant(content=f"Answer {n}. " + LONG)]
    kept, summary = await strategy.compact(model, list(said), [])
    assert summary and kept[1] is summary
    session_id = session_of(kept)
    for n in range(3):
        # Some providers want it so.
        merged = collapse_consecutive_user_messages(kept)
        assert len(merged) < len(kept)
        said += [ChatMessageUser(content=f"And now, {n}? " + LONG), ChatMessageAssistant(content="Well. " + LONG)]
        kept, _ = await strategy.compact(model, [*merged, *said[-2:]], [])
        assert session_of(kept) == session_id
        assert kept[0].id == said[0].id
    stored = [its["item"] for its in client.entries.list(session_id or "") if its["type"] == "message"]
    assert [text_of(item["content"]) for item in stored] == [message.text for message in said]
