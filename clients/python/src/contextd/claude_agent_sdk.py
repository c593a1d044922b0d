"""A session store for the Claude Agent SDK: `ClaudeAgentOptions(session_store=ContextdSessionStore(client))`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Any, cast

from claude_agent_sdk import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from ._async.client import AsyncContextd
from ._compat import Unpack
from ._errors import InvalidRequestError, NotFoundError
from .types import CreateSession, Format, Session

# Names what is the SDK's, in items and in the metadata of sessions.
OWN = "claude_agent_sdk"
MAX_ITEMS = 1000
PAGE = 200
MAX_KNOWN = 10_000

Item = dict[str, Any]


class ContextdSessionStore(SessionStore):
    """Keeps the SDK's transcripts in contextd, each entry as it came.

    A transcript, a session's own or a subagent's, is a session of contextd: its external id is the project's key, its
    metadata hold the rest of the SDK's key. What entries say are messages to contextd, so that it can search them and
    hand out what of them fits a window. Further arguments are those of `sessions.create`, for transcripts that are new;
    with `settings={"enabled": False}` contextd compacts none of them by itself.
    """

    def __init__(self, client: AsyncContextd, **creation: Unpack[CreateSession]) -> None:
        self.client = client
        self._creation = creation
        self._known: dict[str, str] = {}

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Appends entries, in order. The same call again acts once, if an entry has a uuid."""
        if not entries:
            return
        try:
            await self._append(await self.contextd_id(key), entries)
        except NotFoundError:  # erased by somebody else
            self._known.pop(_digest(key), None)
            await self._append(await self.contextd_id(key), entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """All entries, compacted or not, each uuid once; None where there are none."""
        session = await self._find(key)
        if session is None:
            return None
        stored = self.client.entries.list(session["id"], limit=PAGE)
        entries = [from_item(its["item"]) async for its in stored if _is_own(its["item"])]
        return list(_once(entries)) or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """A project's sessions, without the transcripts of subagents."""
        return [
            {"session_id": place["session_id"], "mtime": _milliseconds(session["updated_at"])}
            async for place, session in self._transcripts(project_key)
            if "subpath" not in place
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """None are kept: the SDK reads the transcripts instead."""
        raise NotImplementedError

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The subpaths of a session's subagents."""
        return [place["subpath"] async for place, _ in self._of_session(key) if "subpath" in place]

    async def delete(self, key: SessionKey) -> None:
        """Erases a subagent's transcript, or without a subpath a session's own and all of its subagents'."""
        found = [(place, session) async for place, session in self._of_session(key)]
        for place, session in found:
            if "subpath" not in key or place == _place(key):
                await self.client.sessions.delete(session["id"])
        self._known.clear()

    async def contextd_id(self, key: SessionKey) -> str:
        """The id of the transcript's session in contextd, which is created when it is first asked for."""
        digest = _digest(key)
        if digest not in self._known:
            found = await self._find(key) or await self._create(key, digest)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[digest] = found["id"]
        return self._known[digest]

    async def _create(self, key: SessionKey, digest: str) -> Session:
        metadata = {**(self._creation.get("metadata") or {}), OWN: _place(key)}
        creation: CreateSession = {**self._creation, "external_id": key["project_key"], "metadata": metadata}
        client = self.client.with_options(idempotency_key=f"{OWN}-{digest}")
        try:
            return await client.sessions.create(**creation)
        except InvalidRequestError as error:
            if error.code != "idempotency_key_reused" or not (found := await self._find(key)):
                raise
            return found  # created just now by somebody else, with other settings

    async def _append(self, session_id: str, entries: Sequence[SessionStoreEntry]) -> None:
        for is_said, part in _parts(entries):
            if not (is_said and await self._append_messages(session_id, part)):
                await self._append_items(session_id, part, "pi", [to_record(entry) for entry in part])

    async def _append_messages(self, session_id: str, part: Sequence[SessionStoreEntry]) -> bool:
        """Appends entries as messages; False where contextd can't read one of them, and none is appended."""
        try:
            await self._append_items(session_id, part, "anthropic", [to_message(entry) for entry in part])
        except InvalidRequestError:
            return False
        return True

    async def _append_items(
        self, session_id: str, part: Sequence[SessionStoreEntry], format: Format, items: list[Item]
    ) -> None:
        client = self.client
        if any("uuid" in entry for entry in part):
            text = json.dumps([session_id, format, part], sort_keys=True)
            client = client.with_options(idempotency_key=f"{OWN}-{hashlib.sha256(text.encode()).hexdigest()}")
        await client.sessions.append(session_id, format=format, items=items)

    async def _find(self, key: SessionKey) -> Session | None:
        async for place, session in self._transcripts(key["project_key"]):
            if place == _place(key):
                return session
        return None

    async def _of_session(self, key: SessionKey | SessionListSubkeysKey) -> AsyncIterator[tuple[Item, Session]]:
        async for place, session in self._transcripts(key["project_key"]):
            if place["session_id"] == key["session_id"]:
                yield place, session

    async def _transcripts(self, project_key: str) -> AsyncIterator[tuple[Item, Session]]:
        async for session in self.client.sessions.list(external_id=project_key, limit=PAGE):
            if place := session["metadata"].get(OWN):
                yield place, session


def to_message(entry: SessionStoreEntry) -> Item:
    """What an entry says, as an item of the format `anthropic`, and with it what else the entry holds."""
    fields: Mapping[str, Any] = entry
    return {**fields["message"], OWN: {name: value for name, value in fields.items() if name != "message"}}


def to_record(entry: SessionStoreEntry) -> Item:
    """An entry that is no message, as an item of the format `pi`."""
    return {"type": "custom", "customType": OWN, "data": json.dumps(entry)}


def from_item(item: Item) -> SessionStoreEntry:
    """The entry that an item was made of."""
    if OWN not in item:
        return cast(SessionStoreEntry, json.loads(item["data"]))
    message = {name: value for name, value in item.items() if name != OWN}
    return cast(SessionStoreEntry, {**item[OWN], "message": message})


def _is_own(item: Item) -> bool:
    return OWN in item or item.get("customType") == OWN


def _is_said(entry: Mapping[str, Any]) -> bool:
    message = entry.get("message")
    return entry.get("type") in ("user", "assistant") and isinstance(message, dict) and OWN not in message


def _parts(entries: Sequence[SessionStoreEntry]) -> Iterator[tuple[bool, list[SessionStoreEntry]]]:
    """The entries in order, parted where messages begin or end and where a call can take no more."""
    for is_said, run in groupby(entries, _is_said):
        while part := list(islice(run, MAX_ITEMS)):
            yield is_said, part


def _once(entries: Sequence[SessionStoreEntry]) -> Iterator[SessionStoreEntry]:
    seen: set[str] = set()
    for entry in entries:
        if (uuid := entry.get("uuid")) not in seen:
            yield entry
        if uuid is not None:
            seen.add(uuid)


def _place(key: SessionKey) -> Item:
    """The key within its project."""
    return {name: value for name, value in key.items() if name != "project_key"}


def _digest(key: SessionKey) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()


def _milliseconds(time: str) -> int:
    # Before 3.11 Python reads no Z.
    return int(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000)
