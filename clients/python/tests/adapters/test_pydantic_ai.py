"""The capability for Pydantic AI, under the published agent."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the package pydantic-ai-slim")

from pydantic_ai import (
    Agent,
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RequestUsage,
    RunContext,
    RunUsage,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from contextd import AsyncContextd
from contextd._pydantic_ai_messages import assemble, pieces_of, restore
from contextd.pydantic_ai import ContextdHistory
from tests.adapters.meters import SETTINGS, SUMMARY, TURNS, reading, shows, tells

pytestmark = pytest.mark.anyio


def meter_reading(room: str) -> str:
    """Reads a room's meter."""
    return shows(room)


class PlayedModel:
    """Reads the meter that it is asked about, then tells what it shows."""

    def __init__(self) -> None:
        self.seen: list[list[ModelMessage]] = []
        self.counted: list[int] = []

    def __call__(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        self.seen.append(list(messages))
        # A provider whose tokens have four letters.
        self.counted.append(sum(len(str(piece.item)) for piece in pieces_of(messages)) // 4)
        usage = RequestUsage(input_tokens=self.counted[-1], output_tokens=50)
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            told = tells(str(last.content))
            return ModelResponse([ThinkingPart("Just tell."), TextPart(told)], usage=usage)
        assert isinstance(last, UserPromptPart)
        [room] = re.findall(r"room-\d+", str(last.content))
        call = ToolCallPart("meter_reading", {"room": room}, tool_call_id=f"call_{room}")
        return ModelResponse([call], usage=usage)


@pytest.fixture
async def client(service_url: str) -> AsyncIterator[AsyncContextd]:
    async with AsyncContextd(service_url) as client:
        yield client


async def test_thirty_turns_in_a_small_window(client: AsyncContextd) -> None:
    model = PlayedModel()
    history = ContextdHistory(client, settings=SETTINGS)
    agent = Agent(FunctionModel(model), system_prompt="Read meters.", tools=[meter_reading], capabilities=[history])
    messages: list[ModelMessage] = []
    for n in range(TURNS):
        question = f"What does the meter in room-{n} show?"
        result = await agent.run(question, message_history=messages, conversation_id="pydantic-ai-30")
        assert f"That is {reading(f'room-{n}')}." in result.output
        assert [message.kind for message in result.new_messages()] == ["request", "response"] * 2
        # As an application keeps it between two runs.
        messages = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())

    session_id = (await client.sessions.get_or_create("pydantic-ai-30"))["id"]
    assert len([its async for its in client.compactions.list(session_id) if its["status"] == "succeeded"]) >= 3
    for sent in model.seen:
        assert_is_paired(sent)
        assert [part for message in sent for part in message.parts if isinstance(part, SystemPromptPart)]
    assert max(model.counted) <= 3000
    assert SUMMARY in str(model.seen[-1])
    assert len(model.seen[-1]) < 2 * TURNS
    await assert_nothing_is_lost(client, session_id)


def assert_is_paired(messages: Sequence[ModelMessage]) -> None:
    parts = [part for message in messages for part in message.parts]
    calls = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    assert calls == [part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)]


async def assert_nothing_is_lost(client: AsyncContextd, session_id: str) -> None:
    kept = [its["item"] async for its in client.entries.list(session_id) if its["type"] == "message"]
    assert [item["role"] for item in kept] == ["user", "assistant", "tool", "assistant"] * TURNS
    assert [item["content"][0]["text"] for item in kept[::4]] == [
        f"What does the meter in room-{n} show?" for n in range(TURNS)
    ]
    for n in range(TURNS):
        call = await client.tool_calls.get(session_id, f"call_room-{n}")
        assert f"shows {reading(f'room-{n}')} kWh" in (call.get("result_text") or "")


def call(call_id: str) -> ToolCallPart:
    return ToolCallPart("look", {"at": [1, None]}, tool_call_id=call_id)


EVERYTHING: list[ModelMessage] = [
    ModelRequest(
        [
            SystemPromptPart("Be brief."),
            UserPromptPart(
                ["See:", ImageUrl("https://example.com/a.png"), BinaryContent(b"hi", media_type="application/pdf")]
            ),
        ]
    ),
    ModelResponse([ThinkingPart("Hm.", signature="abc"), TextPart("I look."), call("a"), call("b")]),
    ModelRequest(
        [ToolReturnPart("look", {"cat": 1.5}, "a"), ToolReturnPart("look", "It broke.", "b", outcome="failed")]
    ),
    ModelResponse([call("c")]),
    ModelRequest([ToolReturnPart("look", "Look closer.", "c", outcome="retried"), UserPromptPart("And quick!")]),
    ModelResponse([TextPart("A cat.")]),
    ModelRequest([UserPromptPart("Thanks. ünïcode \u2028")]),
]


async def test_messages_come_back_as_they_were(client: AsyncContextd) -> None:
    session_id = (await client.sessions.create())["id"]
    pieces = list(pieces_of(EVERYTHING))
    items = [piece.item for piece in pieces]
    answer = await client.sessions.put_transcript(session_id, format="native", items=items, return_context="native")
    assert answer["context"]
    kept = assemble(restore(answer["context"]["messages"], pieces), EVERYTHING)
    assert all(after is before for after, before in zip(kept, EVERYTHING, strict=True))


def compacted(change: Any) -> list[ModelMessage]:
    """The history that comes of a context which is not as the pieces are."""
    pieces = list(pieces_of(EVERYTHING))
    context = [{**piece.item} for piece in pieces]
    return assemble(restore(change(context), pieces), EVERYTHING)


def test_a_shortened_result_keeps_what_it_had() -> None:
    def shorten(context: list[Any]) -> list[Any]:
        result = {"type": "tool_result", "tool_call_id": "a", "content": "[elided]", "is_error": False}
        return [*context[:2], {"role": "tool", "content": [result]}, *context[3:]]

    kept = compacted(shorten)
    part, other = kept[2].parts
    assert isinstance(part, ToolReturnPart)
    assert (part.tool_name, part.content, part.tool_call_id) == ("look", "[elided]", "a")
    assert other is EVERYTHING[2].parts[1]
    assert kept[:2] == EVERYTHING[:2] and kept[3:] == EVERYTHING[3:]


def test_shortened_arguments_stand_in_their_response() -> None:
    def shorten(context: list[Any]) -> list[Any]:
        block = {"type": "tool_call", "id": "c", "name": "look", "arguments": {"at": "…"}}
        return [{**its, "content": [block]} if its["content"][0].get("id") == "c" else its for its in context]

    [part] = compacted(shorten)[3].parts
    assert isinstance(part, ToolCallPart)
    assert part.args == {"at": "…"}


async def test_an_untidy_history_is_made_valid(client: AsyncContextd) -> None:
    untidy: list[ModelMessage] = [
        ModelRequest([UserPromptPart("Look around.")]),
        ModelResponse([TextPart("First here."), call("a")]),
        ModelResponse([ThinkingPart("And there."), call("b"), call("c"), call("d")]),
        ModelRequest([ToolReturnPart("look", "A dog.", "a"), ToolReturnPart("look", "A cat.", "b")]),
        ModelRequest([UserPromptPart("And?")]),
    ]
    history = ContextdHistory(client, session_id="pydantic-ai-untidy")
    ctx: Any = RunContext(deps=None, model=FunctionModel(PlayedModel()), usage=RunUsage())
    kept = await history.process(ctx, untidy)
    assert_is_paired(kept)
    parts = [part for message in kept for part in message.parts]
    returns = [part for part in parts if isinstance(part, ToolReturnPart)]
    assert sorted(part.tool_call_id for part in returns) == ["a", "b", "c", "d"]
    assert {part.tool_name for part in returns} == {"look"}
    assert kept[-1] is untidy[-1]
    assert await history.process(ctx, kept) == kept
    ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(kept))


def test_what_the_history_no_longer_has_comes_back() -> None:
    items = [piece.item for piece in pieces_of(EVERYTHING)]
    made = assemble(restore(items, []), [])
    assert_is_paired(made)
    again = [piece.item for piece in pieces_of(made)]
    assert [its for its in again if its["role"] == "assistant"] == [its for its in items if its["role"] == "assistant"]
    assert [its for its in again if its["role"] == "tool"] == [its for its in items if its["role"] == "tool"]


def test_a_prompt_outlives_its_message() -> None:
    summary = {"role": "compaction_summary", "content": [{"type": "text", "text": "What was."}]}
    kept = compacted(lambda context: [summary, context[-1]])
    assert [type(part) for part in kept[0].parts] == [SystemPromptPart, UserPromptPart]
    assert kept[1:] == EVERYTHING[-1:]
    assert compacted(lambda _: [])[0].parts == [EVERYTHING[0].parts[0]]
