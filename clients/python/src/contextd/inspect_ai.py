"""A compaction strategy for Inspect's agents: `react(compaction=ContextdCompaction(client))`."""

from __future__ import annotations

from collections.abc import Sequence

from anyio.to_thread import run_sync
from inspect_ai.model import ChatMessage, ChatMessageUser, CompactionStrategy, Model
from inspect_ai.tool import ToolInfo

from ._compat import Unpack
from ._inspect_ai_messages import pieces_of, restore, session_of
from ._sync.client import Contextd
from .types import CreateSession, Format, SettingsPatch

FORMAT: Format = "native"
COMPACTION_SECONDS = 120.0


class ContextdCompaction(CompactionStrategy):
    """Has contextd compact a conversation when it has grown beyond a threshold, and keeps its messages there, whole.

    A conversation is a session, created when it is first compacted; the summary's metadata name it. The window is that
    of the model, or a `threshold` in tokens. Further arguments are those of `sessions.create`, for each such session.
    """

    def __init__(
        self, client: Contextd, *, threshold: int | float = 0.9, memory: bool = True, **creation: Unpack[CreateSession]
    ) -> None:
        super().__init__(type="summary", threshold=threshold, memory=memory)
        self.client = client
        # Inspect says when to compact.
        settings: SettingsPatch = {"enabled": False}
        if isinstance(threshold, int) or threshold > 1:
            settings["context_window"] = int(threshold)
        self._creation: CreateSession = {**creation, "settings": {**settings, **(creation.get("settings") or {})}}

    async def compact(
        self, model: Model, messages: list[ChatMessage], tools: list[ToolInfo]
    ) -> tuple[list[ChatMessage], ChatMessageUser | None]:
        """The messages that the model is sent next, and the summary among them if it is new."""
        return await run_sync(self._compact, model.name, messages)

    def _compact(self, model: str, messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], ChatMessageUser | None]:
        prompts = [message for message in messages if message.role == "system"]
        said = [message for message in messages if message.role != "system"]
        creation: CreateSession = {"model": model, **self._creation}
        session_id = session_of(said) or self.client.sessions.create(**creation)["id"]
        pieces = list(pieces_of(said))
        items = [item for _, item in pieces]
        system = "\n\n".join(prompt.text for prompt in prompts) or None
        self.client.sessions.put_transcript(session_id, format=FORMAT, items=items, system=system)
        self.client.sessions.compact(session_id, force=True, wait=COMPACTION_SECONDS)
        context = self.client.sessions.context(session_id, format=FORMAT)
        kept = restore(context["messages"], pieces, session_id)
        new = [message for message in kept if isinstance(message, ChatMessageUser) and session_of([message])]
        return [*prompts, *kept], next((message for message in new if message not in said), None)
