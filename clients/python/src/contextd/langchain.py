"""A middleware for LangChain's agents, deepagents among them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from ._compat import Unpack
from ._native import Native, apart, canonical, unchanged
from ._sync.client import Contextd
from .types import CreateSession, Format, PutAnswer

ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
# Fields of an image here and there.
SOURCE = {"media_type": "mime_type", "data": "base64", "url": "url", "file_id": "file_id"}


class ContextdMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Keeps an agent's messages in contextd, and the context that fits the model's window in the agent's state.

    Before each call of the model, contextd is shown the state's messages and stores what is new. Where it has
    compacted, its context takes the messages' place; a message that it leaves as it was stays the same object.
    A thread is a session, with the thread's id as its external id, or with `session_id` where there are no threads.
    Further arguments are those of `sessions.create`, for a thread that is new: `model` or `settings` say how large the
    window is.
    """

    def __init__(self, client: Contextd, *, session_id: str | None = None, **creation: Unpack[CreateSession]) -> None:
        super().__init__()
        self.client = client
        self.session_id = session_id
        self._creation = creation

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Replaces the messages where contextd has compacted them."""
        messages = state["messages"]
        items = [to_native(message) for message in messages]
        context = self._show(runtime, messages, items, return_context="native").get("context")
        kept = messages if context is None else restore(context["messages"], messages, items)
        return None if kept == messages else {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Stores the last answer."""
        self._show(runtime, state["messages"], [to_native(message) for message in state["messages"]])

    def _show(
        self,
        runtime: Runtime[Any],
        messages: Sequence[AnyMessage],
        items: list[Native],
        return_context: Format | None = None,
    ) -> PutAnswer:
        session = self.client.sessions.get_or_create(self.session_id or _thread_id(runtime), **self._creation)
        usage = _usage(messages)
        return self.client.sessions.put_transcript(
            session["id"], format="native", items=items, usage=usage, return_context=return_context
        )


def to_native(message: BaseMessage) -> Native:
    """The message in contextd's own format."""
    blocks = [_to_block(block) for block in message.content_blocks]
    if isinstance(message, ToolMessage):
        result = {"type": "tool_result", "tool_call_id": message.tool_call_id, "content": blocks}
        blocks = [{**result, "is_error": message.status == "error"}]
    named = {"name": message.name} if message.name else {}
    return {"role": ROLES.get(message.type, "user"), "content": blocks, **named}


def restore(context: Sequence[Native], messages: Sequence[AnyMessage], items: Sequence[Native]) -> list[AnyMessage]:
    """The messages of a context: those that were sent as `items` and are in it unchanged, and new ones for the rest."""
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    context = apart(context)
    places = unchanged(context, items)
    return [
        from_native(item, results) if place is None else messages[place]
        for item, place in zip(context, places, strict=True)
    ]


def from_native(item: Native, results: Mapping[str, ToolMessage]) -> AnyMessage:
    """A message that the agent's state does not have: a summary, or one that was shortened."""
    blocks = item["content"] if isinstance(item["content"], list) else [{"type": "text", "text": item["content"]}]
    content = _content([_from_block(block) for block in blocks if block["type"] not in ("tool_call", "tool_result")])
    # The same text is the same message at every turn.
    named = {"id": "contextd-" + hashlib.sha256(canonical(item).encode()).hexdigest()[:32], "name": item.get("name")}
    if item["role"] == "tool":
        return _tool_message(blocks[0], results, named)
    if item["role"] == "assistant":
        calls = [_tool_call(block) for block in blocks if block["type"] == "tool_call"]
        return AIMessage(content, tool_calls=calls, **named)
    return SystemMessage(content, **named) if item["role"] == "system" else HumanMessage(content, **named)


def _to_block(block: Mapping[str, Any]) -> Native:
    if block["type"] == "tool_call":
        return {"type": "tool_call", "id": block["id"], "name": block["name"], "arguments": block["args"]}
    if block["type"] == "image":
        return {"type": "image", "source": {ours: block[theirs] for ours, theirs in SOURCE.items() if theirs in block}}
    return dict(block)


def _from_block(block: Native) -> Native:
    if block["type"] != "image":
        return block
    source = block["source"]
    return {"type": "image", **{theirs: source[ours] for ours, theirs in SOURCE.items() if ours in source}}


def _content(blocks: list[Native]) -> Any:
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def _tool_call(block: Native) -> Any:
    arguments = block["arguments"]
    args = arguments if isinstance(arguments, dict) else {"input": arguments}
    return {"type": "tool_call", "id": block["id"], "name": block["name"], "args": args}


def _tool_message(result: Native, results: Mapping[str, ToolMessage], named: Native) -> ToolMessage:
    content = result["content"]
    content = content if isinstance(content, str) else _content([_from_block(block) for block in content])
    if known := results.get(result["tool_call_id"]):
        return known.model_copy(update={"content": content})
    status = "error" if result.get("is_error") else "success"
    return ToolMessage(content, tool_call_id=result["tool_call_id"], status=status, **named)


def _usage(messages: Sequence[AnyMessage]) -> dict[str, Any] | None:
    """What the provider counted at the newest answer."""
    answers = (message for message in reversed(messages) if isinstance(message, AIMessage))
    usage = answer.usage_metadata if (answer := next(answers, None)) else None
    return {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]} if usage else None


def _thread_id(runtime: Runtime[Any]) -> str:
    thread_id = runtime.execution_info.thread_id if runtime.execution_info else None
    if not thread_id:
        raise ValueError("no thread: give the agent a checkpointer and a thread_id, or the middleware a session_id")
    return thread_id
