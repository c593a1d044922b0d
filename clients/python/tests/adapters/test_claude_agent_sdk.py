"""The session store of the Claude Agent SDK, under the published SDK and a played `claude`."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="needs the package claude-agent-sdk")

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SessionKey,
    delete_session_via_store,
    fork_session_via_store,
    get_session_messages_from_store,
    list_sessions_from_store,
    project_key_for_directory,
    rename_session_via_store,
)
from claude_agent_sdk.testing import run_session_store_conformance

from contextd import AsyncContextd
from contextd.claude_agent_sdk import ContextdSessionStore
from tests.adapters.meters import SETTINGS, TURNS, at_rest, reading

pytestmark = pytest.mark.anyio

PLAYED = Path(__file__).with_name("played_claude.py")


@pytest.fixture
async def client(service_url: str) -> AsyncIterator[AsyncContextd]:
    async with AsyncContextd(service_url) as client:
        yield client


@pytest.fixture
def options(tmp_path: Path) -> ClaudeAgentOptions:
    """Options for a session whose program is played and knows nothing of this machine's own."""
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PLAYED}" "$@"\n')
    program.chmod(0o755)
    for name in ("here", "config"):
        (tmp_path / name).mkdir()
    return ClaudeAgentOptions(
        cli_path=program,
        cwd=tmp_path / "here",
        env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")},
        session_id=str(uuid.uuid4()),
    )


async def converse(options: ClaudeAgentOptions, rooms: list[str]) -> None:
    async with ClaudeSDKClient(options) as claude:
        for room in rooms:
            await claude.query(f"What does the meter in {room} show?")
            said = [message async for message in claude.receive_response()]
            assert isinstance(said[-1], ResultMessage)
            assert said[-1].result == f"That is {reading(room)}."


def key_of(options: ClaudeAgentOptions) -> SessionKey:
    assert options.session_id
    return {"project_key": project_key_for_directory(options.cwd), "session_id": options.session_id}


async def test_thirty_turns_in_a_small_window(client: AsyncContextd, options: ClaudeAgentOptions) -> None:
    store = ContextdSessionStore(client, settings=SETTINGS)
    key = key_of(options)
    rooms = [f"room-{n}" for n in range(TURNS)]
    await converse(replace(options, session_store=store), rooms[: TURNS // 2])
    written = next(Path(options.env["CLAUDE_CONFIG_DIR"]).glob("projects/*/*.jsonl")).read_text()
    assert await store.load(key) == [json.loads(line) for line in written.splitlines()]
    await at_rest(client, await store.contextd_id(key))

    # Another process goes on with the same session, of which it has nothing but the store, and is asked of old rooms.
    resumed = replace(options, session_id=None, resume=key["session_id"], session_store=ContextdSessionStore(client))
    await converse(resumed, [*rooms[TURNS // 2 :], "room-1", "room-2"])
    entries = await store.load(key)
    assert entries
    assert [json.dumps(entry, sort_keys=True) for entry in entries[: len(written.splitlines())]] == [
        json.dumps(json.loads(line), sort_keys=True) for line in written.splitlines()
    ]
    await assert_the_sdk_reads_it(store, options, len(rooms) + 2)
    await assert_the_context_fits(client, await store.contextd_id(key))


async def assert_the_sdk_reads_it(store: ContextdSessionStore, options: ClaudeAgentOptions, turns: int) -> None:
    session_id = key_of(options)["session_id"]
    messages = await get_session_messages_from_store(store, session_id, str(options.cwd))
    # A question about an old room needs no tool: two messages in place of five.
    assert len(messages) == 5 * turns - 2 * 3
    [info] = await list_sessions_from_store(store, str(options.cwd))
    assert (info.session_id, info.first_prompt) == (session_id, "What does the meter in room-0 show?")


async def assert_the_context_fits(client: AsyncContextd, session_id: str) -> None:
    await at_rest(client, session_id)
    compactions = [its async for its in client.compactions.list(session_id) if its["status"] == "succeeded"]
    assert len(compactions) >= 3
    context = await client.sessions.context(session_id, format="anthropic")
    assert {name for message in context["messages"] for name in message} == {"role", "content"}
    assert (await client.count(format="anthropic", items=context["messages"]))["tokens"] <= 3000
    for n in range(TURNS):
        call = await client.tool_calls.get(session_id, f"toolu_room-{n}")
        assert f"shows {reading(f'room-{n}')} kWh" in (call.get("result_text") or "")


async def test_is_what_the_sdk_takes_for_a_store(client: AsyncContextd) -> None:
    async def fresh() -> ContextdSessionStore:
        for project in ("proj", "other", "other-proj", "A", "B"):
            for session_id in [its["id"] async for its in client.sessions.list(external_id=project)]:
                await client.sessions.delete(session_id)
        return ContextdSessionStore(client)

    await run_session_store_conformance(fresh, skip_optional=frozenset({"list_session_summaries"}))


EVERYTHING: list[Any] = [
    {"type": "user", "uuid": "1", "message": {"role": "user", "content": "See \ud83d \u0000 \u2028 ünïcode"}},
    {"type": "user", "message": {"role": "user", "content": []}, "n": [1.5, 10**20, None, True, {"": {}}]},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "new", "x": 1}], "usage": {"a": {}}}},
    {"type": "assistant", "message": {"role": "robot", "content": 5}},
    {"type": "assistant", "message": {"role": "user", "content": [{"type": "thinking", "thinking": "?"}]}},
    {"type": "user", "message": "?"},
    {"type": "user", "message": {"claude_agent_sdk": 1, "role": "user", "content": "?"}},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"trackedFileBackups": {}}},
    {"type": "summary", "claude_agent_sdk": "?", "customType": "?"},
    {"type": "deep", "value": json.loads("[" * 90 + "]" * 90)},
    {"type": "user", "message": {"role": "user", "content": "Deep."}, "value": json.loads("[" * 90 + "]" * 90)},
    {"type": "mode", "mode": "plan"},
    {"type": "mode", "mode": "plan"},
]


async def test_entries_come_back_as_they_were(client: AsyncContextd) -> None:
    store = ContextdSessionStore(client)
    key: SessionKey = {"project_key": "everything", "session_id": "s"}
    for part in (EVERYTHING, *([entry] for entry in EVERYTHING)):
        await store.append(key, part)
    # The one with a uuid is there once.
    assert await store.load(key) == EVERYTHING + EVERYTHING[1:]


async def test_an_append_again_acts_once(client: AsyncContextd) -> None:
    key: SessionKey = {"project_key": "again", "session_id": "s"}
    entries: list[Any] = [{"type": "tag", "tag": "a"}, *EVERYTHING[:1], {"type": "tag", "tag": "b", "uuid": "2"}]
    stores = [ContextdSessionStore(client), ContextdSessionStore(client)]
    for store in stores:
        await store.append(key, entries[1:])
    assert await stores[0].load(key) == entries[1:]
    session = await client.sessions.get(await stores[1].contextd_id(key))
    assert session["entry_count"] == 2


async def test_more_than_one_call_takes(client: AsyncContextd) -> None:
    key: SessionKey = {"project_key": "many", "session_id": "s"}
    said: list[Any] = [{"type": "user", "message": {"role": "user", "content": f"{n}"}} for n in range(1001)]
    store = ContextdSessionStore(client)
    await store.append(key, said)
    assert await store.load(key) == said


async def test_a_transcript_that_somebody_else_erased_begins_anew(client: AsyncContextd) -> None:
    key: SessionKey = {"project_key": "erased", "session_id": "s"}
    store = ContextdSessionStore(client, metadata={"team": "a"})
    await store.append(key, EVERYTHING[:1])
    assert (await client.sessions.get(await store.contextd_id(key)))["metadata"]["team"] == "a"
    await ContextdSessionStore(client).delete(key)
    await store.append(key, EVERYTHING[-1:])
    assert await store.load(key) == EVERYTHING[-1:]


async def test_what_the_sdk_does_to_sessions(client: AsyncContextd, options: ClaudeAgentOptions) -> None:
    store = ContextdSessionStore(client)
    await converse(replace(options, session_store=store), ["room-1"])
    session_id, here = key_of(options)["session_id"], str(options.cwd)
    await rename_session_via_store(store, session_id, "Meters", here)
    fork = await fork_session_via_store(store, session_id, here)
    titles = {its.session_id: its.custom_title for its in await list_sessions_from_store(store, here)}
    assert titles == {session_id: "Meters", fork.session_id: "Meters (fork)"}
    assert len(await get_session_messages_from_store(store, fork.session_id, here)) == 5
    await delete_session_via_store(store, session_id, here)
    assert [its.session_id for its in await list_sessions_from_store(store, here)] == [fork.session_id]
