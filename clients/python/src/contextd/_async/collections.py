"""What sessions hold, by kind."""

from __future__ import annotations

from asyncio import sleep
from datetime import datetime
from time import monotonic

from .._call import JSON, Call, path
from .._compat import Unpack
from ..types import (
    ChapterList,
    ChaptersWritten,
    ChapterTaskView,
    Compaction,
    CompactionDiff,
    CompactionPage,
    EntryView,
    EntryViewPage,
    PurgeCompactions,
    Purged,
    Reason,
    RefusedText,
    Status,
    Strategy,
    SummaryEvidence,
    ToolCallDetail,
    ToolCallRow,
    ToolCallRowPage,
    Trigger,
    UserMessageDetail,
    VfsFolder,
    WriteChapters,
)
from .transport import AsyncPager, AsyncResource

POLL_SECONDS = 0.1
SLOWEST_POLL_SECONDS = 2.0


class AsyncEntries(AsyncResource):
    """Entries of a session: each whole, however often it was compacted away."""

    def list(
        self,
        session_id: str,
        *,
        leaf_id: str | None = None,
        all: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> AsyncPager[EntryView, EntryViewPage]:
        """Lists entries from the root to a leaf, or with `all` those of every branch."""
        query = {"leaf_id": leaf_id, "all": all, "limit": limit, "after": after}
        return AsyncPager(self._transport, Call("GET", path("/v1/sessions/{}/entries", session_id), query=query))

    async def get(self, session_id: str, entry_id: str) -> EntryView:
        """Gives an entry."""
        return await self._send(Call("GET", path("/v1/sessions/{}/entries/{}", session_id, entry_id)))

    async def set_label(self, session_id: str, entry_id: str, label: str | None) -> EntryView:
        """Names an entry; None takes the name away."""
        target = path("/v1/sessions/{}/entries/{}/label", session_id, entry_id)
        return await self._send(Call("PUT", target, {"label": label}))


class AsyncCompactions(AsyncResource):
    """Compactions of sessions; `sessions.compact` asks for one."""

    def list(
        self,
        session_id: str,
        *,
        status: Status | None = None,
        trigger: Trigger | None = None,
        strategy: Strategy | None = None,
        skip_reason: Reason | None = None,
        upstream: str | None = None,
        since: str | datetime | None = None,
        prepared: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> AsyncPager[Compaction, CompactionPage]:
        """Lists a session's compactions, newest first."""
        query = {
            "status": status,
            "trigger": trigger,
            "strategy": strategy,
            "skip_reason": skip_reason,
            "upstream": upstream,
            "since": since,
            "prepared": prepared,
            "limit": limit,
            "after": after,
        }
        return AsyncPager(self._transport, Call("GET", path("/v1/sessions/{}/compactions", session_id), query=query))

    def list_all(
        self,
        *,
        session_id: str | None = None,
        status: Status | None = None,
        trigger: Trigger | None = None,
        strategy: Strategy | None = None,
        skip_reason: Reason | None = None,
        upstream: str | None = None,
        since: str | datetime | None = None,
        prepared: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> AsyncPager[Compaction, CompactionPage]:
        """Lists the compactions of all sessions, newest first."""
        query = {
            "session_id": session_id,
            "status": status,
            "trigger": trigger,
            "strategy": strategy,
            "skip_reason": skip_reason,
            "upstream": upstream,
            "since": since,
            "prepared": prepared,
            "limit": limit,
            "after": after,
        }
        return AsyncPager(self._transport, Call("GET", "/v1/compactions", query=query))

    async def get(self, compaction_id: str) -> Compaction:
        """Gives a compaction."""
        return await self._send(Call("GET", path("/v1/compactions/{}", compaction_id)))

    async def wait(self, compaction_id: str, *, timeout: float = 120.0) -> Compaction:
        """Gives a compaction once it has ended, however it did; `TimeoutError` where that takes too long."""
        deadline = monotonic() + timeout
        pause = POLL_SECONDS
        while (compaction := await self.get(compaction_id))["status"] in ("queued", "running"):
            left = deadline - monotonic()
            if left <= 0:
                raise TimeoutError(f"compaction {compaction_id} is still {compaction['status']}")
            await sleep(min(pause, left))
            pause = min(pause * 1.5, SLOWEST_POLL_SECONDS)
        return compaction

    async def evidence(self, compaction_id: str) -> SummaryEvidence:
        """Gives each statement of its notes, with the calls and messages that it cites."""
        return await self._send(Call("GET", path("/v1/compactions/{}/evidence", compaction_id)))

    async def refused(self, compaction_id: str) -> RefusedText:
        """Gives the newest text of a model that was refused as its summary; kept for seven days."""
        return await self._send(Call("GET", path("/v1/compactions/{}/refused", compaction_id)))

    async def diff(self, compaction_id: str, *, limit: int | None = None, after: str | None = None) -> CompactionDiff:
        """Gives the context before a compaction and after it, `limit` messages at a time."""
        query = {"limit": limit, "after": after}
        return await self._send(Call("GET", path("/v1/compactions/{}/diff", compaction_id), query=query))

    async def retry(self, compaction_id: str) -> Compaction:
        """Does a failed compaction again; see `wait`."""
        return await self._send(Call("POST", path("/v1/compactions/{}/retry", compaction_id)))

    async def purge(self, **body: Unpack[PurgeCompactions]) -> Purged:
        """Forgets failed compactions, 1,000 at most."""
        return await self._send(Call("POST", "/v1/compactions/purge", body))

    async def cancel(self, compaction_id: str) -> Compaction:
        """Stops a compaction that has not ended."""
        return await self._send(Call("POST", path("/v1/compactions/{}/cancel", compaction_id)))

    async def revert(self, compaction_id: str) -> Compaction:
        """Makes the context what it was before the compaction."""
        return await self._send(Call("POST", path("/v1/compactions/{}/revert", compaction_id)))


class AsyncToolCalls(AsyncResource):
    """The ledger of tool calls; compaction takes nothing from it."""

    def list(
        self, session_id: str, *, limit: int | None = None, after: str | None = None
    ) -> AsyncPager[ToolCallRow, ToolCallRowPage]:
        """Lists the calls on the path, in order."""
        query = {"limit": limit, "after": after}
        return AsyncPager(self._transport, Call("GET", path("/v1/sessions/{}/tool-calls", session_id), query=query))

    async def get(self, session_id: str, tool_call_id: str) -> ToolCallDetail:
        """Gives a call with its whole original result, by its id or by its number in the record (`#47`)."""
        return await self._send(Call("GET", path("/v1/sessions/{}/tool-calls/{}", session_id, tool_call_id)))

    async def user_message(self, session_id: str, number: int) -> UserMessageDetail:
        """Gives a message of the user's own, by its number in the record: 12 for `u12`."""
        return await self._send(Call("GET", path("/v1/sessions/{}/tool-calls/{}", session_id, f"u{number}")))


class AsyncChapters(AsyncResource):
    """Chapters: finished tasks, told in a message and kept as files."""

    async def list(self, session_id: str) -> ChapterList:
        """Gives all chapters, nested ones under their parent."""
        return await self._send(Call("GET", path("/v1/sessions/{}/chapters", session_id)))

    async def write(self, session_id: str, **body: Unpack[WriteChapters]) -> ChaptersWritten:
        """Closes ranges of tasks as chapters."""
        return await self._send(Call("POST", path("/v1/sessions/{}/chapters", session_id), body))

    async def task(self, session_id: str) -> ChapterTaskView:
        """Gives what to hand the agent when it is asked to close chapters."""
        return await self._send(Call("GET", path("/v1/sessions/{}/chapter-task", session_id)))

    async def folder(self, session_id: str) -> VfsFolder:
        """Gives the root of the chapters' folders."""
        return await self._send(Call("GET", path("/v1/sessions/{}/vfs/", session_id)))

    async def read(self, session_id: str, file_path: str) -> VfsFolder | str:
        """Gives a folder of the chapters, or a file as Markdown."""
        segments = [path("{}", segment) for segment in file_path.split("/") if segment]
        target = path("/v1/sessions/{}/vfs/", session_id) + "/".join(segments)
        return await self._send(Call[VfsFolder | str]("GET", target, accept=f"{JSON}, text/markdown"))
