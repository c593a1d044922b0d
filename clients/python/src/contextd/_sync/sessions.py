# Written by generate.py from _async/sessions.py.
"""Sessions, and what is done to one."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from .._call import EVENT_STREAM, NDJSON, Call, EventNames, path
from .._compat import Unpack
from .._errors import InvalidRequestError
from .._lines import ServerSentEvent
from ..types import (
    AppendAnswer,
    AppendEntries,
    Compaction,
    CompactSession,
    Composition,
    Context,
    CreateSession,
    Erased,
    EraseSessions,
    FillState,
    ForkSession,
    Format,
    ItemIds,
    Navigated,
    NavigateTo,
    PrepareCompaction,
    Prepared,
    PutAnswer,
    RebuildContext,
    SearchHit,
    SearchPage,
    Session,
    SessionFiles,
    SessionPage,
    Snapshot,
    Task,
    Timeline,
    Tree,
    UpdateSession,
    WholeTranscript,
)
from .transport import Pager, Resource


class Sessions(Resource):
    """Sessions: the transcripts of agents, and the contexts that are built from them."""

    def create(self, **body: Unpack[CreateSession]) -> Session:
        """Creates a session."""
        return self._send(Call("POST", "/v1/sessions", body))

    def get_or_create(self, external_id: str, /, **body: Unpack[CreateSession]) -> Session:
        """Gives the newest session with an external id, and creates it where there is none: one, whoever else asks."""
        for session in self.list(external_id=external_id, limit=1):
            return session
        key = "external-id-" + hashlib.sha256(external_id.encode()).hexdigest()
        creation: CreateSession = {**body, "external_id": external_id}
        try:
            return self._send(Call("POST", "/v1/sessions", creation, idempotency_key=key))
        except InvalidRequestError as error:
            if error.code != "idempotency_key_reused":
                raise
        # Somebody else has just created it, with another title or other settings.
        return self.get_or_create(external_id)

    def get(self, session_id: str) -> Session:
        """Gives a session."""
        return self._send(Call("GET", path("/v1/sessions/{}", session_id)))

    def get_by_external_id(self, external_id: str) -> Session:
        """Gives the newest session with an external id."""
        return self._send(Call("GET", path("/v1/sessions/by-external-id/{}", external_id)))

    def erase(self, **body: Unpack[EraseSessions]) -> Erased:
        """Erases many sessions by what they are. While `more` is true, the call is made again with `next_cursor`."""
        return self._send(Call("POST", "/v1/sessions/erase", body))

    def update(self, session_id: str, **body: Unpack[UpdateSession]) -> Session:
        """Changes what is given; None clears."""
        return self._send(Call("PATCH", path("/v1/sessions/{}", session_id), body))

    def delete(self, session_id: str) -> None:
        """Erases a session and all it holds."""
        self._send(Call[None]("DELETE", path("/v1/sessions/{}", session_id)))

    def list(
        self,
        *,
        external_id: str | None = None,
        state: FillState | None = None,
        updated_after: str | datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        order: Literal["created", "activity", "size"] | None = None,
        guard: Literal["tripped"] | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Pager[Session, SessionPage]:
        """Lists sessions, newest first or in another `order`. `limit` is the size of a page, which may be shorter."""
        query = {
            "external_id": external_id,
            "state": state,
            "updated_after": updated_after,
            "metadata": metadata,
            "order": order,
            "guard": guard,
            "limit": limit,
            "after": after,
        }
        return Pager(self._transport, Call("GET", "/v1/sessions", query=query))

    def fork(self, session_id: str, **body: Unpack[ForkSession]) -> Session:
        """Creates a session that shares the history up to an entry."""
        return self._send(Call("POST", path("/v1/sessions/{}/fork", session_id), body))

    def append(self, session_id: str, **body: Unpack[AppendEntries]) -> AppendAnswer:
        """Appends items: all of them, in order, or none. With `return_context`, answers the context to send next."""
        return self._send(Call("POST", path("/v1/sessions/{}/entries", session_id), body))

    def put_transcript(self, session_id: str, **body: Unpack[WholeTranscript]) -> PutAnswer:
        """Takes a whole transcript, or the last context with new messages behind it, and appends what is new."""
        return self._send(Call("PUT", path("/v1/sessions/{}/transcript", session_id), body))

    def context(
        self,
        session_id: str,
        *,
        format: Format,
        leaf_id: str | None = None,
        max_tokens: int | None = None,
        item_ids: ItemIds | None = None,
    ) -> Context:
        """Gives the context that the model is sent next; with `item_ids="given"`, the ids of its items as they came."""
        query = {"format": format, "leaf_id": leaf_id, "max_tokens": max_tokens, "item_ids": item_ids}
        return self._send(Call("GET", path("/v1/sessions/{}/context", session_id), query=query))

    def rebuild(self, session_id: str, **body: Unpack[RebuildContext]) -> Context:
        """Gives the context that the model is sent next, compacted first where it would not fit."""
        return self._send(Call("POST", path("/v1/sessions/{}/rebuild", session_id), body))

    def composition(self, session_id: str, *, largest: int | None = None) -> Composition:
        """Tells what fills the window: by category, by tool, and the `largest` entries."""
        return self._send(
            Call("GET", path("/v1/sessions/{}/composition", session_id), query={"largest": largest})
        )

    def timeline(self, session_id: str, *, points: int | None = None) -> Timeline:
        """Tells how the context grew and shrank, in at most `points` points, and what happened on the way."""
        return self._send(Call("GET", path("/v1/sessions/{}/timeline", session_id), query={"points": points}))

    def snapshot(self, session_id: str) -> Snapshot:
        """Tells how full the window is."""
        return self._send(Call("GET", path("/v1/sessions/{}/snapshot", session_id)))

    def reset_anti_thrash(self, session_id: str) -> Snapshot:
        """Lets compactions that saved little be tried again."""
        return self._send(Call("POST", path("/v1/sessions/{}/anti-thrash/reset", session_id)))

    def prepare(self, session_id: str, **body: Unpack[PrepareCompaction]) -> Prepared:
        """Tells what a compaction would do. Calls no model and changes nothing."""
        return self._send(Call("POST", path("/v1/sessions/{}/prepare", session_id), body))

    def compact(self, session_id: str, **body: Unpack[CompactSession]) -> Compaction:
        """Asks for a compaction and waits `wait` seconds (0 to 120) for its end; see `compactions.wait`."""
        return self._send(Call("POST", path("/v1/sessions/{}/compact", session_id), body))

    def tree(self, session_id: str) -> Tree:
        """Gives the tree of all entries."""
        return self._send(Call("GET", path("/v1/sessions/{}/tree", session_id)))

    def navigate(self, session_id: str, **body: Unpack[NavigateTo]) -> Navigated:
        """Moves the leaf to another entry; with `summarize`, leaves a summary of what is left there."""
        return self._send(Call("POST", path("/v1/sessions/{}/navigate", session_id), body))

    def tasks(self, session_id: str) -> Sequence[Task]:
        """Lists the numbered tasks that chapters are made of."""
        return self._send(Call("GET", path("/v1/sessions/{}/tasks", session_id)))

    def files(self, session_id: str) -> SessionFiles:
        """Lists the files that were read and modified."""
        return self._send(Call("GET", path("/v1/sessions/{}/files", session_id)))

    def search(
        self, session_id: str, q: str, *, limit: int | None = None, after: str | None = None
    ) -> Pager[SearchHit, SearchPage]:
        """Finds entries by their text, compacted or not, best first."""
        query = {"q": q, "limit": limit, "after": after}
        return Pager(self._transport, Call("GET", path("/v1/sessions/{}/search", session_id), query=query))

    def events(
        self, session_id: str, *, last_event_id: int | None = None, names: EventNames | None = None
    ) -> Generator[ServerSentEvent, None, None]:
        """Tells what happens to a session, without end. A stream that breaks is taken up again where it broke."""
        target, query = path("/v1/sessions/{}/events", session_id), {"names": names}
        call: Call[Any] = Call("GET", target, query=query, accept=EVENT_STREAM, last_event_id=last_event_id)
        return self._transport.events(call)

    def export(self, session_id: str, *, format: Format, leaf_id: str | None = None) -> Generator[Any, None, None]:
        """Gives the items of a session one by one; with the format `pi`, those of all branches."""
        query = {"format": format, "leaf_id": leaf_id}
        return self._transport.lines(
            Call("GET", path("/v1/sessions/{}/export", session_id), query=query, accept=NDJSON)
        )
