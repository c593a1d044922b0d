"""A condenser for OpenHands' agents: `Agent(llm=llm, condenser=ContextdCondenser(session_id="chat-1"))`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from openhands.sdk.context.condenser import CondenserBase, NoCondensationAvailableException
from openhands.sdk.context.view import View
from openhands.sdk.event import Condensation, LLMConvertibleEvent, SystemPromptEvent
from openhands.sdk.llm import LLM
from pydantic import ConfigDict, Field, SkipValidation

from ._native import Native
from ._openhands_messages import Piece, condensation, pieces_of, restore, shown_events
from ._sync.client import Contextd
from .types import CreateSession, Format

FORMAT: Format = "openai_chat"
COMPACTION_SECONDS = 120.0


class ContextdCondenser(CondenserBase):
    """Keeps a conversation's events in contextd, and the context that fits the model's window in the agent's view.

    Before each step contextd is shown the view and stores what is new. What it has compacted away is forgotten by a
    `Condensation` with its summary; where OpenHands can't forget just that, and where results are shortened, the agent
    is given contextd's context as a view. `creation` has the arguments of `sessions.create`, for a conversation that is
    new: `model` or `settings` say how large the window is. A stored agent has all but the client, which is made anew
    from the environment.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    session_id: str = Field(description="The conversation's id in the application, an external id to contextd.")
    creation: CreateSession = Field(default_factory=lambda: CreateSession())
    client: SkipValidation[Contextd] = Field(default_factory=Contextd, exclude=True, repr=False)

    def condense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """The view, or what to forget of it."""
        pieces = list(pieces_of(view.events))
        context = self._context(view, pieces, agent_llm)
        shown = restore(context["messages"], pieces)
        if [piece for _, piece in shown] == pieces and all(item == piece.item for item, piece in shown if piece):
            if view.unhandled_condensation_request:
                raise NoCondensationAvailableException("contextd finds nothing to compact")
            return view
        forgetting = condensation(view, shown, pieces, context.get("summary_entry_id"))
        return forgetting or View(events=shown_events(view.events, shown))

    async def acondense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """As `condense`, in a thread."""
        return await asyncio.to_thread(self.condense, view, agent_llm)

    def handles_condensation_requests(self) -> bool:
        """A request compacts at once."""
        return True

    def _context(self, view: View, pieces: Sequence[Piece], llm: LLM | None) -> Any:
        session = self.client.sessions.get_or_create(self.session_id, **self.creation)
        items = [piece.item for piece in pieces]
        known: Any = {**_prompt(view.events), "usage": _usage(view.events, llm)}
        answer = self.client.sessions.put_transcript(
            session["id"], format=FORMAT, items=items, return_context=FORMAT, **known
        )
        if not view.unhandled_condensation_request:
            return answer["context"]
        self.client.sessions.compact(session["id"], wait=COMPACTION_SECONDS)
        return self.client.sessions.context(session["id"], format=FORMAT)


def _prompt(events: Sequence[LLMConvertibleEvent]) -> Native:
    """The system prompt and the tools, where there are any."""
    prompt = next((event for event in events if isinstance(event, SystemPromptEvent)), None)
    if prompt is None:
        return {}
    text = [its.text for its in (prompt.system_prompt, prompt.dynamic_context) if its]
    return {"system": "\n\n".join(text), "tools": [tool.to_openai_tool() for tool in prompt.tools]}


def _usage(events: Sequence[LLMConvertibleEvent], llm: LLM | None) -> Native | None:
    """What the provider counted at the newest answer."""
    answers = (getattr(event, "llm_response_id", None) for event in reversed(events))
    newest = next((answer for answer in answers if answer), None)
    counted = llm.metrics.token_usages if llm and newest else []
    usage = next((its for its in reversed(counted) if its.response_id == newest and its.prompt_tokens), None)
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens} if usage else None
