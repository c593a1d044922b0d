"""A capability for Pydantic AI's agents: `Agent(model, capabilities=[ContextdHistory(client)])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import (
    AgentRunResult,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RunContext,
    SystemPromptPart,
)
from pydantic_ai.capabilities import ProcessHistory

from ._async.client import AsyncContextd
from ._compat import Unpack
from ._pydantic_ai_messages import Piece, assemble, pieces_of, restore
from .types import CreateSession, Format, PutAnswer


class ContextdHistory(ProcessHistory[Any]):
    """Keeps a conversation's messages in contextd, and the context that fits the model's window in the run.

    Before each request to the model, contextd is shown the history and stores what is new. Where it has compacted, its
    context takes the history's place; a message that it leaves as it was stays the same object. A conversation is a
    session, with the `conversation_id` of the run as its external id, or with `session_id`. Further arguments are those
    of `sessions.create`, for a conversation that is new: `model` or `settings` say how large the window is.
    """

    def __init__(
        self, client: AsyncContextd, *, session_id: str | None = None, **creation: Unpack[CreateSession]
    ) -> None:
        super().__init__(self.process)
        self.client = client
        self.session_id = session_id
        self._creation = creation

    async def process(self, ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        """The history, with contextd's context in its place where that has been compacted."""
        pieces = list(pieces_of(messages))
        context = (await self._show(ctx, messages, pieces, return_context="native")).get("context")
        if context is None or context["messages"] == [piece.item for piece in pieces]:
            return messages
        return assemble(restore(context["messages"], pieces), messages)

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Stores the last answer."""
        messages = result.all_messages()
        await self._show(ctx, messages, list(pieces_of(messages)))
        return result

    async def _show(
        self,
        ctx: RunContext[Any],
        messages: Sequence[ModelMessage],
        pieces: Sequence[Piece],
        return_context: Format | None = None,
    ) -> PutAnswer:
        external_id = self.session_id or ctx.conversation_id
        if external_id is None:
            raise ValueError("no conversation: give the run a conversation_id, or the capability a session_id")
        session = await self.client.sessions.get_or_create(external_id, **self._creation)
        items = [piece.item for piece in pieces]
        said = {"system": _system(messages), "usage": _usage(messages), "return_context": return_context}
        known: Any = {name: value for name, value in said.items() if value is not None}
        return await self.client.sessions.put_transcript(session["id"], format="native", items=items, **known)


def _system(messages: Sequence[ModelMessage]) -> str | None:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    prompts = [part.content for its in requests for part in its.parts if isinstance(part, SystemPromptPart)]
    instructions = requests[-1].instructions if requests else None
    return "\n\n".join([*prompts, instructions] if instructions else prompts) or None


def _usage(messages: Sequence[ModelMessage]) -> dict[str, int] | None:
    """What the provider counted at the newest answer."""
    usage = next((message.usage for message in reversed(messages) if isinstance(message, ModelResponse)), None)
    if usage is None or not usage.input_tokens:
        return None
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
