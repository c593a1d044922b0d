"""The session of the OpenAI Agents SDK, under the published runner."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("agents", reason="needs the package openai-agents")

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    SessionSettings,
    TResponseInputItem,
    Usage,
    function_tool,
)
from agents.memory import Session, is_openai_responses_compaction_aware_session
from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic import TypeAdapter

from contextd import AsyncContextd
from contextd.openai_agents import ContextdSession
from tests.adapters.meters import SETTINGS, SUMMARY, TURNS, at_rest, reading, shows, tells

pytestmark = pytest.mark.anyio

ITEMS: TypeAdapter[list[TResponseInputItem]] = TypeAdapter(list[TResponseInputItem])


@function_tool
def meter_reading(room: str) -> str:
    """Reads a room's meter."""
    return shows(room)


class PlayedModel(Model):
    """Reads the meter that it is asked about, then tells what it shows."""

    def __init__(self, own_id: str | None = None) -> None:
        self.seen: list[list[Any]] = []
        self.own_id = own_id

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> ModelResponse:
        self.seen.append(input)
        call = len(self.seen)
        last = input[-1]
        if last.get("type") == "function_call_output":
            text = tells(last["output"])
            content = ResponseOutputText(type="output_text", text=text, annotations=[])
            message = ResponseOutputMessage(
                id=self.own_id or f"msg_{call}", type="message", role="assistant", status="completed", content=[content]
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=f"resp_{call}")
        [room] = re.findall(r"room-\d+", last["content"])
        asked = ResponseFunctionToolCall(
            id=self.own_id or f"fc_{call}",
            type="function_call",
            call_id=f"call_{room}",
            name="meter_reading",
            arguments=f'{{"room":"{room}"}}',
            status="completed",
        )
        return ModelResponse(output=[asked], usage=Usage(), response_id=f"resp_{call}")

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


@pytest.fixture
async def client(service_url: str) -> AsyncIterator[AsyncContextd]:
    async with AsyncContextd(service_url) as client:
        yield client


async def converse(session: ContextdSession, model: Model, turns: range) -> None:
    agent = Agent(name="Janitor", instructions="Read meters.", model=model, tools=[meter_reading])
    for n in turns:
        result = await Runner.run(
            agent,
            f"What does the meter in room-{n} show?",
            session=session,
            run_config=RunConfig(tracing_disabled=True),
        )
        assert f"That is {reading(f'room-{n}')}." in result.final_output


async def test_the_one_id_of_a_chat_model_comes_back_on_all_its_items(client: AsyncContextd) -> None:
    session = ContextdSession("agents-chat-model", client)
    await converse(session, PlayedModel(FAKE_RESPONSES_ID), range(3))
    made = [item.get("id") for item in await session.get_items() if "output" not in item and item.get("role") != "user"]
    assert made == [FAKE_RESPONSES_ID] * 6
    sent = await client.sessions.context(await session.contextd_id(), format="openai_responses")
    assert FAKE_RESPONSES_ID not in str(sent["messages"])


async def test_thirty_turns_in_a_small_window(client: AsyncContextd) -> None:
    model = PlayedModel()
    session = ContextdSession("agents-30", client, settings=SETTINGS)
    session_id = await session.contextd_id()
    for n in range(TURNS):
        # Another process goes on with the same conversation.
        half = session if n < TURNS // 2 else ContextdSession("agents-30", client)
        await converse(half, model, range(n, n + 1))
        # A model takes longer than a compaction in the background; the played one takes no time at all.
        await at_rest(client, session_id)

    compactions = [its async for its in client.compactions.list(session_id) if its["status"] == "succeeded"]
    assert len(compactions) >= 3
    for sent in model.seen:
        ITEMS.validate_python(sent)
        assert_is_paired(sent)
        counted = await client.count(format="openai_responses", items=sent)
        assert counted["tokens"] <= 3000
    assert any(SUMMARY in str(sent[:2]) for sent in model.seen)
    await assert_nothing_is_lost(client, session_id)


def assert_is_paired(items: list[Any]) -> None:
    calls = [its["call_id"] for its in items if its.get("type") == "function_call"]
    results = [its["call_id"] for its in items if its.get("type") == "function_call_output"]
    assert calls == results


async def assert_nothing_is_lost(client: AsyncContextd, session_id: str) -> None:
    kept = [its["item"] async for its in client.entries.list(session_id) if its["type"] == "message"]
    assert len(kept) == 4 * TURNS
    assert [its["content"] for its in kept[::4]] == [f"What does the meter in room-{n} show?" for n in range(TURNS)]
    for n in range(TURNS):
        call = await client.tool_calls.get(session_id, f"call_room-{n}")
        assert f"shows {reading(f'room-{n}')} kWh" in (call.get("result_text") or "")


async def test_is_what_the_sdk_takes_for_a_session(client: AsyncContextd) -> None:
    session = ContextdSession("agents-protocol", client)
    assert isinstance(session, Session)
    assert is_openai_responses_compaction_aware_session(session)


def said(text: str) -> TResponseInputItem:
    return {"role": "user", "content": text}


async def test_newest_items_come_as_they_were_added(client: AsyncContextd) -> None:
    session = ContextdSession("agents-limit", client, settings=SETTINGS)
    items = [said(f"Remark {n}. " + "It is a long one. " * 40) for n in range(20)]
    await session.add_items(items)
    await session.run_compaction({"force": True})
    assert len(await session.get_items()) < 20
    assert await session.get_items(limit=15) == items[-15:]
    assert await session.get_items(limit=99) == items
    assert await session.get_items(limit=0) == []
    session.session_settings = SessionSettings(limit=2)
    assert await session.get_items() == items[-2:]


def answered(text: str) -> TResponseInputItem:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize(
    "items",
    [
        [said("One."), said("Two."), said("Three.")],
        [said("One."), answered("Two."), said("Three."), answered("Four.")],
        [answered("One."), answered("Two."), said("Three.")],
        [
            said("One."),
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "Three."},
            answered("Four."),
        ],
    ],
    ids=["user", "dialogue", "assistant", "tool"],
)
async def test_items_are_taken_back(
    client: AsyncContextd, items: list[TResponseInputItem], request: pytest.FixtureRequest
) -> None:
    session = ContextdSession(request.node.name, client)
    await session.add_items(items)
    for left in range(len(items) - 1, -1, -1):
        assert await session.pop_item() == items[left]
        assert await session.get_items(limit=99) == items[:left]
    assert await session.pop_item() is None
    await session.add_items(items)
    assert await session.get_items() == items


async def test_an_item_behind_a_compaction_is_taken_back(client: AsyncContextd) -> None:
    session = ContextdSession("agents-pop-compacted", client, settings=SETTINGS)
    items = [said(f"Remark {n}. " + "It is a long one. " * 40) for n in range(20)]
    await session.add_items(items)
    await session.run_compaction({"force": True})
    assert await session.pop_item() == items[-1]
    assert await session.get_items(limit=99) == items[:-1]


async def test_a_cleared_conversation_begins_anew(client: AsyncContextd) -> None:
    session = ContextdSession("agents-clear", client)
    await session.add_items([said("One.")])
    await session.clear_session()
    assert await session.get_items() == []
    await session.add_items([said("Two.")])
    assert await session.get_items() == [said("Two.")]


async def test_more_than_one_call_takes(client: AsyncContextd) -> None:
    session = ContextdSession("agents-many", client)
    await session.add_items([])
    await session.add_items([said(f"{n}") for n in range(1001)])
    assert (await client.sessions.get(await session.contextd_id()))["entry_count"] == 1001
