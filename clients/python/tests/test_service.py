"""The clients against the service."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import threading
from contextlib import aclosing, closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import contextd
from contextd import AsyncContextd, Contextd
from tests.conftest import binary, serving

SETTINGS: contextd.types.SettingsPatch = {"context_window": 4000, "keep_recent_tokens": 300}


def turn(n: int) -> list[dict[str, Any]]:
    """A question, a call, its result and the answer."""
    call = {
        "id": f"call_{n}",
        "type": "function",
        "function": {"name": "read_file", "arguments": '{"file_path":"a.py"}'},
    }
    return [
        {"role": "user", "content": f"What does step {n} print?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{n}", "content": f"print('step {n}')\n" * 20},
        {"role": "assistant", "content": f"Step {n} prints its own name twenty times."},
    ]


@pytest.fixture
def session_id(client: Contextd) -> str:
    return client.sessions.create(model="gpt-4o", settings=SETTINGS)["id"]


def test_a_turn_is_one_call(client: Contextd, session_id: str) -> None:
    items = turn(1)
    answer = client.sessions.append(session_id, format="openai_chat", items=items, return_context="openai_chat")
    assert [entry["role"] for entry in answer["entries"]] == ["user", "assistant", "tool", "assistant"]
    context = answer["context"]
    assert context and context["messages"] == items
    again = client.sessions.put_transcript(session_id, format="openai_chat", items=[*items, *turn(2)])
    assert (again["matched"], again["appended"]) == (4, 4)
    assert client.sessions.context(session_id, format="openai_chat")["messages"] == [*items, *turn(2)]
    assert client.sessions.rebuild(session_id, format="anthropic")["messages"][0]["role"] == "user"


def test_a_compaction_and_back(client: Contextd, session_id: str) -> None:
    for n in range(12):
        client.sessions.append(session_id, format="openai_chat", items=turn(n))
    assert client.sessions.prepare(session_id)["possible"]
    begun = client.sessions.compact(session_id, strategy="summarize", wait=0)
    done = client.compactions.wait(begun["id"])
    assert done["status"] == "succeeded"
    assert [compaction["id"] for compaction in client.compactions.list(session_id)] == [begun["id"]]
    assert client.tool_calls.get(session_id, "call_0")["result_text"] == turn(0)[2]["content"]
    assert client.tool_calls.get(session_id, "#1")["tool_call_id"] == "call_0"
    assert client.tool_calls.user_message(session_id, 1)["text"] == turn(0)[0]["content"]
    assert len(list(client.tool_calls.list(session_id, limit=5))) == 12
    assert client.sessions.files(session_id).get("read_files") == ["a.py"]
    assert client.compactions.revert(begun["id"])["reverted_at"]
    with pytest.raises(contextd.ConflictError) as raised:
        client.compactions.revert(begun["id"])
    assert raised.value.code == "already_reverted"


def test_lists_are_read_to_their_end(client: Contextd, session_id: str) -> None:
    for n in range(3):
        client.sessions.append(session_id, format="openai_chat", items=turn(n))
    entries = client.entries.list(session_id, limit=5)
    whole = [entry["seq"] for entry in entries]
    assert whole == sorted(whole) and len(whole) == 12
    assert [len(page["items"]) for page in entries.pages()] == [5, 5, 2]
    assert [entry["seq"] for entry in entries] == whole, "it can be read twice"
    assert len(list(client.sessions.search(session_id, "twenty times", limit=1))) == 3
    assert len(client.sessions.tree(session_id)["nodes"]) == 12
    assert list(client.sessions.export(session_id, format="openai_chat")) == [
        item for n in range(3) for item in turn(n)
    ]


def test_sessions_come_and_go(client: Contextd) -> None:
    session = client.sessions.create(external_id="chat/ü", title="A title", metadata={"team": "red"})
    assert client.sessions.update(session["id"], title=None)["title"] is None
    since = datetime.now(timezone.utc) - timedelta(hours=1)
    found = client.sessions.list(external_id="chat/ü", updated_after=since, state="green", limit=1)
    assert [its["id"] for its in found] == [session["id"]]
    client.sessions.delete(session["id"])
    with pytest.raises(contextd.NotFoundError) as raised:
        client.sessions.get(session["id"])
    assert raised.value.code == "not_found"


def test_branches_and_labels(client: Contextd, session_id: str) -> None:
    first, *_, last = client.sessions.append(session_id, format="openai_chat", items=turn(1))["entries"]
    client.entries.set_label(session_id, last["id"], "here")
    assert client.entries.get(session_id, last["id"]).get("label") == "here"
    client.entries.set_label(session_id, last["id"], None)
    assert client.entries.get(session_id, last["id"]).get("label") is None
    moved = client.sessions.navigate(session_id, target_id=last["id"])
    assert moved.get("leaf_id") == last["id"]
    fork = client.sessions.fork(session_id, entry_id=first["id"])
    assert fork["entry_count"] == 1
    with pytest.raises(contextd.ConflictError) as raised:
        client.sessions.append(session_id, format="openai_chat", items=turn(2), expected_leaf_id=first["id"])
    assert raised.value.code == "leaf_moved"
    assert raised.value.problem["leaf_id"] == last["id"]


def test_chapters_are_read_as_files(client: Contextd, session_id: str) -> None:
    for n in range(3):
        client.sessions.append(session_id, format="openai_chat", items=turn(n))
    assert len(client.sessions.tasks(session_id)) == 3
    chapter: contextd.types.ChapterInput = {"start": 1, "end": 2, "name": "Two steps", "message": "Both print names."}
    [written] = client.chapters.write(session_id, chapters=[chapter])["chapters"]
    assert [its["id"] for its in client.chapters.list(session_id)["items"]] == [written["id"]]
    assert client.chapters.folder(session_id)["entries"]
    folder = client.chapters.read(session_id, written["path"])
    assert not isinstance(folder, str)
    files = [its["name"] for its in folder["entries"] if its["kind"] == "file"]
    assert isinstance(client.chapters.read(session_id, f"{written['path']}/{files[0]}"), str)
    assert client.chapters.task(session_id)["pending"] is False


def test_hooks(client: Contextd) -> None:
    hook = client.hooks.create(url="https://example.com/hook", events=["after_compact"])
    assert client.hooks.update(hook["id"], enabled=False)["enabled"] is False
    assert hook["id"] in [its["id"] for its in client.hooks.list()]
    assert list(client.hooks.deliveries(hook["id"])) == []
    client.hooks.delete(hook["id"])
    with pytest.raises(contextd.NotFoundError):
        client.hooks.get(hook["id"])


def test_keys(client: Contextd) -> None:
    key = client.keys.create(name="dashboard", scopes=["read"], limits={"requests_per_minute": 600})
    assert key["key"]
    assert "key" not in client.keys.get(key["id"])
    assert key["id"] in [its["id"] for its in client.keys.list()]
    other = client.keys.rotate(key["id"], grace_seconds=60)
    assert client.keys.get(key["id"])["replaced_by"] == other["id"]
    client.keys.revoke(other["id"])
    assert client.keys.get(other["id"])["status"] == "revoked"


def test_what_can_be_set(client: Contextd) -> None:
    assert "context_window" in client.settings_schema()["properties"]
    assert "default" in [its["name"] for its in client.upstreams()]
    assert all(its["context_window"] > 0 for its in client.models())


def test_without_a_session(client: Contextd) -> None:
    items = [item for n in range(12) for item in turn(n)]
    assert client.count(format="openai_chat", items=items)["tokens"] > 1000
    assert client.lint(format="openai_chat", items=items)["valid"]
    assert client.lint(format="openai_chat", items=items[1:3][::-1])["valid"] is False
    compacted = client.compact(format="openai_chat", items=items, settings=SETTINGS)
    assert len(compacted["messages"]) < len(items)
    assert client.health()["status"] and client.ready()["status"]
    assert "# TYPE" in client.metrics()
    answer = client.mcp({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer and answer.get("result")


def test_what_is_wrong_is_pointed_at(client: Contextd, session_id: str) -> None:
    with pytest.raises(contextd.InvalidRequestError) as raised:
        client.sessions.update(session_id, settings={"red_at": 7})
    assert (raised.value.status, raised.value.code) == (422, "validation_failed")
    assert raised.value.pointer == "/settings/red_at"
    with pytest.raises(contextd.InvalidRequestError) as raised:
        client.sessions.append(session_id, format="openai_chat", items=[{"role": "nobody"}])
    assert (raised.value.pointer or "").startswith("/items/0")


def test_a_key_acts_once(client: Contextd, session_id: str) -> None:
    once = client.with_options(idempotency_key=f"turn-1-of-{session_id}")
    first = once.sessions.append(session_id, format="openai_chat", items=turn(1))
    assert once.sessions.append(session_id, format="openai_chat", items=turn(1))["entries"] == first["entries"]
    assert client.sessions.get(session_id)["entry_count"] == 4
    with pytest.raises(contextd.InvalidRequestError) as raised:
        once.sessions.append(session_id, format="openai_chat", items=turn(2))
    assert raised.value.code == "idempotency_key_reused"


def test_a_key_opens_the_service(tmp_path: Path) -> None:
    command = [binary(), "keys", "create", "--tenant", "python", "--data-dir", str(tmp_path)]
    key = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.strip()
    with serving(tmp_path) as url:
        with Contextd(url, key) as client:
            assert list(client.sessions.list()) == []
        with Contextd(url, "another") as client, pytest.raises(contextd.AuthenticationError) as raised:
            client.sessions.create()
    assert raised.value.code == "unauthorized"


def test_events_outlive_the_service(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    with Contextd(f"http://{listen}", max_retries=60) as client:
        with serving(tmp_path, "--dev", listen=listen):
            session_id = client.sessions.create(settings=SETTINGS)["id"]
            stream = client.sessions.events(session_id)
            assert next(stream).event == "snapshot"
            seen = threading.Event()
            kinds: list[str] = []

            def follow() -> None:
                with closing(stream):
                    for event in stream:
                        kinds.append(event.event)
                        if event.event == "compaction.succeeded":
                            return seen.set()

            reader = threading.Thread(target=follow, daemon=True)
            reader.start()
        with serving(tmp_path, "--dev", listen=listen):
            for n in range(12):
                client.sessions.append(session_id, format="openai_chat", items=turn(n))
            client.sessions.compact(session_id, strategy="summarize", wait=60)
            assert seen.wait(120), kinds
    assert "compaction.queued" in kinds
    assert kinds.count("compaction.succeeded") == 1


@pytest.mark.anyio
async def test_asynchronously(service_url: str) -> None:
    async with AsyncContextd(service_url) as client:
        session = await client.sessions.create(settings=SETTINGS)
        session_id = session["id"]
        for n in range(12):
            answer = await client.sessions.append(
                session_id, format="openai_chat", items=turn(n), return_context="openai_chat"
            )
        assert answer["context"]
        begun = await client.sessions.compact(session_id, strategy="summarize", wait=0)
        assert (await client.compactions.wait(begun["id"]))["status"] == "succeeded"
        entries = [entry async for entry in client.entries.list(session_id, limit=10)]
        assert len(entries) == 49
        assert len([item async for item in client.sessions.export(session_id, format="openai_chat")]) >= 48
        async with aclosing(client.events(last_event_id=0)) as events:
            kinds = [event.event async for event in first(events, "compaction.succeeded")]
        assert "compaction.queued" in kinds
        with pytest.raises(contextd.NotFoundError):
            await client.sessions.get("no-such-session")


async def first(events: Any, last: str) -> Any:
    """The events up to one of a kind."""
    async for event in events:
        yield event
        if event.event == last:
            return


def test_a_wait_ends(client: Contextd, session_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.compactions, "get", lambda _: {"status": "running"})
    with pytest.raises(TimeoutError):
        client.compactions.wait("any", timeout=0.05)


def test_connections_are_closed(service_url: str) -> None:
    with Contextd(service_url) as client:
        client.health()
    with pytest.raises(RuntimeError):
        client.health()


@pytest.mark.anyio
async def test_an_external_id_is_created_once(service_url: str) -> None:
    async with AsyncContextd(service_url) as client:
        asked = [client.sessions.get_or_create("once", title=f"Title {n % 2}") for n in range(8)]
        found = await asyncio.gather(*asked)
        assert len({session["id"] for session in found}) == 1
        await client.sessions.delete(found[0]["id"])
        again = await client.sessions.get_or_create("once", title="Title 0")
        assert again["id"] != found[0]["id"]
        assert (await client.sessions.get(again["id"])).get("title") == "Title 0"
