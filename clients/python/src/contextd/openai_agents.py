"""A session for the OpenAI Agents SDK: `Runner.run(agent, text, session=ContextdSession("chat-1", client))`."""

from __future__ import annotations

from agents import SessionSettings, TResponseInputItem
from agents.memory import OpenAIResponsesCompactionArgs

from ._async.client import AsyncContextd
from ._compat import Unpack
from .types import CreateSession, EntryView, Format

FORMAT: Format = "openai_responses"
MAX_ITEMS = 1000
COMPACTION_SECONDS = 120.0


class ContextdSession:
    """The history of one conversation, kept by contextd.

    A run is given the context that fits the model's window; what was compacted away stays stored. `session_id` is the
    conversation's id in the application, an external id to contextd. Further arguments are those of
    `sessions.create`, for a conversation that is new: `model` or `settings` say how large the window is.
    """

    def __init__(self, session_id: str, client: AsyncContextd, **creation: Unpack[CreateSession]) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = None
        self.client = client
        self._creation = creation
        self._id: str | None = None

    async def contextd_id(self) -> str:
        """The id of the session in contextd, which is created when it is first asked for."""
        if self._id is None:
            self._id = (await self.client.sessions.get_or_create(self.session_id, **self._creation))["id"]
        return self._id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The context; with a limit, the newest items as they were added."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None:
            return [entry["item"] for entry in reversed(await self._newest_entries(limit))]
        # The SDK knows its items by their ids, also by those that no provider takes.
        context = await self.client.sessions.context(await self.contextd_id(), format=FORMAT, item_ids="given")
        return context["messages"]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items."""
        session_id = await self.contextd_id()
        for at in range(0, len(items), MAX_ITEMS):
            await self.client.sessions.append(session_id, format=FORMAT, items=items[at : at + MAX_ITEMS])

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the newest item off the conversation. It stays stored, on a branch that is left."""
        newest = await self._newest_entries(1)
        if not newest:
            return None
        await self._leave(newest[0])
        item: TResponseInputItem = newest[0]["item"]
        return item

    async def clear_session(self) -> None:
        """Erases the conversation."""
        await self.client.sessions.delete(await self.contextd_id())
        self._id = None

    async def run_compaction(self, args: OpenAIResponsesCompactionArgs | None = None) -> None:
        """Compacts now, with `force`. Without, there is nothing to do: contextd compacts by itself when it is due."""
        if args and args.get("force"):
            await self.client.sessions.compact(await self.contextd_id(), wait=COMPACTION_SECONDS)

    async def _leave(self, entry: EntryView) -> None:
        """Moves the leaf onto the entry's parent."""
        session_id, parent_id = await self.contextd_id(), entry.get("parent_id")
        parent = await self.client.entries.get(session_id, parent_id) if parent_id else None
        if parent is None or parent.get("role") != "user":
            await self.client.sessions.navigate(session_id, target_id=parent_id)
        # Navigating onto what the user said goes before it, to say it anew. So it is said anew.
        elif before := parent.get("parent_id"):
            await self.client.sessions.append(session_id, format=FORMAT, items=[parent["item"]], parent_id=before)
        else:
            await self.client.sessions.put_transcript(session_id, format=FORMAT, items=[parent["item"]])

    async def _newest_entries(self, limit: int) -> list[EntryView]:
        """What was added last, newest first, compacted or not."""
        session_id = await self.contextd_id()
        entry_id = (await self.client.sessions.get(session_id)).get("leaf_id")
        found: list[EntryView] = []
        while entry_id is not None and len(found) < limit:
            entry = await self.client.entries.get(session_id, entry_id)
            if entry["type"] == "message":
                found.append(entry)
            entry_id = entry.get("parent_id")
        return found
