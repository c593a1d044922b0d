"""Inspect's messages, as contextd takes and gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentReasoning,
    ContentText,
)
from inspect_ai.tool import ToolCall
from pydantic import TypeAdapter

from ._native import Native, apart, text_of, unchanged

# Names what is contextd's in a message's metadata, and what is Inspect's in an item.
OWN = "contextd"
OPAQUE = "inspect_ai"
SUMMARY = "compaction_summary"
CONTENT: TypeAdapter[Content] = TypeAdapter(Content)

# A message, with what contextd is shown of it.
Piece = tuple[ChatMessage, Native]
# A call as it is made or answered: the role and the id.
Call = tuple[str, str]


def session_of(messages: Sequence[ChatMessage]) -> str | None:
    """The session that the newest summary among the messages is of."""
    marks = (mark for message in reversed(messages) if (mark := (message.metadata or {}).get(OWN)))
    return next((str(mark["session_id"]) for mark in marks), None)


def pieces_of(messages: Sequence[ChatMessage]) -> Iterator[Piece]:
    """The messages in order, each with what contextd is shown of it.

    Where Inspect made one message of a summary and others, as some providers want it, they are parted again.
    """
    for message in messages:
        item = to_native(message)
        mark = (message.metadata or {}).get(OWN)
        if mark is None:
            yield message, item
        elif item["content"] == [{"type": "text", "text": mark["summary"]}]:
            yield message, {**item, "role": SUMMARY}
        else:
            yield from _parted(item["content"], mark)


def to_native(message: ChatMessage) -> Native:
    """The message in contextd's own format."""
    content = [ContentText(text=message.content)] if isinstance(message.content, str) else message.content
    blocks = [_to_block(its) for its in content]
    if isinstance(message, ChatMessageTool):
        if message.error:
            blocks = [{"type": "text", "text": message.error.message}]
        result = {"type": "tool_result", "tool_call_id": message.tool_call_id or "", "content": blocks}
        return {"role": "tool", "content": [{**result, "is_error": message.error is not None}]}
    if isinstance(message, ChatMessageAssistant):
        calls = [{"id": its.id, "name": its.function, "arguments": its.arguments} for its in message.tool_calls or ()]
        return {"role": "assistant", "content": blocks + [{"type": "tool_call", **call} for call in calls]}
    return {"role": message.role, "content": blocks}


def restore(context: Sequence[Native], pieces: Sequence[Piece], session_id: str) -> list[ChatMessage]:
    """The messages of a context: those that are in it unchanged, and new ones for the rest."""
    of_calls = {call: message for message, _ in pieces for call in _calls(message)}
    context = apart(context)
    kept: list[ChatMessage] = []
    for item, place in zip(context, unchanged(context, [item for _, item in pieces]), strict=True):
        if place is not None:
            kept.append(pieces[place][0])
        elif item["role"] == SUMMARY:
            mark = {"session_id": session_id, "summary": text_of(item["content"])}
            kept.append(_summary({**mark, "follows": kept[-1].id if kept else None}))
        else:
            kept.append(_made(item, of_calls))
    return kept


def _summary(mark: Native) -> ChatMessageUser:
    return ChatMessageUser(content=mark["summary"], metadata={"summary": True, OWN: mark})


def _parted(blocks: list[Native], mark: Native) -> Iterator[Piece]:
    """A summary, and what stands before and behind it."""
    summary = mark["summary"]
    place = next((n for n, its in enumerate(blocks) if its["type"] == "text" and summary in its["text"]), None)
    if place is None:
        yield _user_piece(blocks)
        return
    before, _, behind = (_text_blocks(its) for its in blocks[place]["text"].partition(summary))
    if before := blocks[:place] + before:
        yield _user_piece(before, id=mark["follows"])
    yield _summary(mark), {"role": SUMMARY, "content": [{"type": "text", "text": summary}]}
    if behind := behind + blocks[place + 1 :]:
        yield _user_piece(behind)


def _user_piece(blocks: list[Native], **named: Any) -> Piece:
    message = ChatMessageUser(content=_plain([_from_block(block) for block in blocks]), **named)
    return message, {"role": "user", "content": blocks}


def _text_blocks(text: str) -> list[Native]:
    return [{"type": "text", "text": stripped}] if (stripped := text.strip("\n")) else []


def _made(item: Native, of_calls: Mapping[Call, ChatMessage]) -> ChatMessage:
    """A message that the conversation does not have: one that was shortened, merged or made up."""
    blocks = item["content"] if isinstance(item["content"], list) else [{"type": "text", "text": item["content"]}]
    if item["role"] == "tool":
        return _tool_message(blocks[0], of_calls)
    content = [_from_block(block) for block in blocks if block["type"] != "tool_call"]
    if item["role"] == "assistant":
        return _assistant_message(content, [block for block in blocks if block["type"] == "tool_call"], of_calls)
    return ChatMessageUser(content=_plain(content))


def _tool_message(result: Native, of_calls: Mapping[Call, ChatMessage]) -> ChatMessage:
    call_id, text = result["tool_call_id"], text_of(result["content"])
    if known := of_calls.get(("tool", call_id)):
        return known.model_copy(update={"content": text})
    asked = of_calls.get(("assistant", call_id))
    calls = asked.tool_calls or [] if isinstance(asked, ChatMessageAssistant) else []
    function = next((call.function for call in calls if call.id == call_id), None)
    return ChatMessageTool(content=text, tool_call_id=call_id, function=function)


def _assistant_message(
    content: list[Content], calls: list[Native], of_calls: Mapping[Call, ChatMessage]
) -> ChatMessage:
    given = {call["id"]: call["arguments"] for call in calls}
    known = next((of_calls[call] for its in given if (call := ("assistant", its)) in of_calls), None)
    if isinstance(known, ChatMessageAssistant) and given.keys() == {its.id for its in known.tool_calls or ()}:
        shortened = [replace(its, arguments=given[its.id]) for its in known.tool_calls or ()]
        return known.model_copy(update={"tool_calls": shortened})
    made = [ToolCall(id=its["id"], function=its["name"], arguments=its["arguments"]) for its in calls]
    return ChatMessageAssistant(content=_plain(content), tool_calls=made or None)


def _calls(message: ChatMessage) -> list[Call]:
    """The calls that a message makes or answers, with its role."""
    if isinstance(message, ChatMessageTool):
        return [("tool", message.tool_call_id)] if message.tool_call_id else []
    calls = message.tool_calls or () if isinstance(message, ChatMessageAssistant) else ()
    return [("assistant", call.id) for call in calls]


def _plain(content: list[Content]) -> str | list[Content]:
    texts = [its.text for its in content if isinstance(its, ContentText)]
    return "\n".join(texts) if len(texts) == len(content) else content


def _to_block(content: Content) -> Native:
    if isinstance(content, ContentText):
        return {"type": "text", "text": content.text}
    if isinstance(content, ContentReasoning) and not content.redacted:
        signature = {"signature": content.signature} if content.signature else {}
        return {"type": "thinking", "text": content.reasoning, **signature}
    if isinstance(content, ContentImage) and (source := _source(content.image)):
        return {"type": "image", "source": source}
    return {"type": OPAQUE, "value": content.model_dump(mode="json")}


def _source(image: str) -> dict[str, str] | None:
    """Where an image is; None where only Inspect knows."""
    head, found, data = image.partition(";base64,")
    if head.startswith("data:") and found:
        return {"media_type": head.removeprefix("data:"), "data": data}
    return {"url": image} if image.startswith(("http://", "https://")) else None


def _from_block(block: Native) -> Any:
    if block["type"] == "image":
        source = block["source"]
        image = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
        return ContentImage(image=image)
    if block["type"] == "thinking":
        return ContentReasoning(reasoning=block["text"], signature=block.get("signature"))
    if block["type"] == OPAQUE:
        return CONTENT.validate_python(block["value"])
    return ContentText(text=block["text"])
