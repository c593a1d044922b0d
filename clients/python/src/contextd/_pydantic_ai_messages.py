"""Pydantic AI's messages, as contextd takes and gives them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import CachePoint, RetryFeedbackPart

from ._native import Native, apart, text_of, unchanged

# A call as it is made or answered: the role and the id.
Call = tuple[str, str]

OPAQUE = "pydantic_ai"
ANY: TypeAdapter[Any] = TypeAdapter(Any)
RESPONSE_PART: TypeAdapter[ModelResponsePart] = TypeAdapter(ModelResponsePart)


@dataclass
class Piece:
    """A response, or a part of a request that belongs to the conversation, with what contextd is shown of it."""

    message: ModelMessage
    part: ModelRequestPart | None
    item: Native


def pieces_of(messages: Sequence[ModelMessage]) -> Iterator[Piece]:
    """The pieces of a history, in order. Prompts and notes of the framework are none: it looks after them itself."""
    for message in messages:
        if isinstance(message, ModelResponse):
            blocks = [_response_block(part) for part in message.parts]
            yield Piece(message, None, {"role": "assistant", "content": blocks})
        else:
            items = ((part, _request_item(part)) for part in message.parts)
            yield from (Piece(message, part, item) for part, item in items if item)


def restore(context: Sequence[Native], pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of a context: those that are in it unchanged, and new ones for the rest."""
    of_calls = {call: piece for piece in pieces for call in _calls(piece.item)}
    context = apart(context)
    names = {its["id"]: its["name"] for item in context for its in _blocks(item) if its["type"] == "tool_call"}
    places = unchanged(context, [piece.item for piece in pieces])
    return [
        _changed(item, of_calls, names) if place is None else pieces[place]
        for item, place in zip(context, places, strict=True)
    ]


def assemble(pieces: Sequence[Piece], messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages that hold these pieces. What is no piece stays, with its request or at the beginning."""
    groups = [list(its) for _, its in groupby(pieces, lambda piece: id(piece.message))]
    left = {id(its[0].message) for its in groups}
    homeless = [part for message in messages if id(message) not in left for part in _notes(message)]
    result = [_with_pieces(its[0].message, its) for its in groups]
    if not homeless:
        return result
    if result and isinstance(first := result[0], ModelRequest):
        return [replace(first, parts=[*homeless, *first.parts]), *result[1:]]
    return [ModelRequest(homeless), *result]


def _with_pieces(message: ModelMessage, pieces: Sequence[Piece]) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return message
    kept = [piece.part for piece in pieces if piece.part is not None]
    parts = [*_notes(message), *kept]
    is_whole = len(parts) == len(message.parts) and all(any(part is its for its in message.parts) for part in parts)
    return message if is_whole else replace(message, parts=parts)


def _notes(message: ModelMessage) -> list[ModelRequestPart]:
    """What of a request is no piece."""
    return [part for part in message.parts if not _request_item(part)] if isinstance(message, ModelRequest) else []


def _request_item(part: ModelRequestPart) -> Native | None:
    if isinstance(part, UserPromptPart):
        content = [part.content] if isinstance(part.content, str) else part.content
        return {"role": "user", "content": [_user_block(its) for its in content if not isinstance(its, CachePoint)]}
    if isinstance(part, ToolReturnPart):
        text = {"type": "text", "text": part.model_response_str(wrap_if_error=False)}
        return _result(part.tool_call_id, [text, *map(_user_block, part.files)], part.outcome != "success")
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return _result(part.tool_call_id, [{"type": "text", "text": part.model_response()}], True)
    if isinstance(part, (RetryPromptPart, RetryFeedbackPart)):
        return {"role": "user", "content": [{"type": "text", "text": part.model_response()}]}
    return None


def _result(call_id: str, content: list[Native], is_error: bool) -> Native:
    result = {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": is_error}
    return {"role": "tool", "content": [result]}


def _user_block(content: UserContent) -> Native:
    if isinstance(content, (str, TextContent)):
        return {"type": "text", "text": content if isinstance(content, str) else content.content}
    if isinstance(content, ImageUrl):
        return {"type": "image", "source": {"url": content.url}}
    if isinstance(content, BinaryContent) and content.is_image:
        return {"type": "image", "source": {"media_type": content.media_type, "data": content.base64}}
    return _opaque(content)


def _response_block(part: Any) -> Native:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.content}
    if isinstance(part, ToolCallPart):
        arguments = part.args_as_dict()
        return {"type": "tool_call", "id": part.tool_call_id, "name": part.tool_name, "arguments": arguments}
    if isinstance(part, ThinkingPart):
        signature = {"signature": part.signature} if part.signature else {}
        return {"type": "thinking", "text": part.content, **signature}
    return _opaque(part)


def _opaque(value: Any) -> Native:
    """What contextd keeps as it is."""
    return {"type": OPAQUE, "value": ANY.dump_python(value, mode="json")}


def _changed(item: Native, of_calls: Mapping[Call, Piece], names: Mapping[str, str]) -> Piece:
    """A piece that the history does not have: a summary, or one that was shortened, merged or made up."""
    known = next((of_calls[call] for call in _calls(item) if call in of_calls), None)
    if item["role"] == "tool":
        [result] = item["content"]
        return _result_piece(result, known, names)
    if item["role"] == "assistant":
        if known is not None and _calls(known.item) == _calls(item):
            return replace(known, message=_with_arguments(known.message, item), item=item)
        parts = [part for block in item["content"] for part in _response_parts(block)]
        return Piece(ModelResponse(parts), None, item)
    part = UserPromptPart(_user_content(item["content"]))
    return Piece(ModelRequest([part]), part, item)


def _result_piece(result: Native, known: Piece | None, names: Mapping[str, str]) -> Piece:
    text = text_of(result["content"])
    if known is not None and known.part is not None:
        shortened: Any = {"content": text}
        return replace(known, part=replace(known.part, **shortened))
    outcome: Any = "failed" if result.get("is_error") else "success"
    part = ToolReturnPart(names[result["tool_call_id"]], text, result["tool_call_id"], outcome=outcome)
    return Piece(ModelRequest([part]), part, result)


def _with_arguments(response: ModelMessage, item: Native) -> ModelMessage:
    given = {block["id"]: block["arguments"] for block in item["content"] if block["type"] == "tool_call"}
    parts: Any = [
        replace(part, args=given[part.tool_call_id]) if isinstance(part, ToolCallPart) else part
        for part in response.parts
    ]
    return replace(response, parts=parts)


def _response_parts(block: Native) -> Iterator[ModelResponsePart]:
    if block["type"] == "text":
        yield TextPart(block["text"])
    elif block["type"] == "tool_call":
        yield ToolCallPart(block["name"], block["arguments"], block["id"])
    elif block["type"] == "thinking":
        yield ThinkingPart(block["text"], signature=block.get("signature"))
    elif block["type"] == OPAQUE:
        yield RESPONSE_PART.validate_python(block["value"])


def _user_content(content: str | list[Native]) -> str | list[UserContent]:
    if isinstance(content, str) or all(block["type"] == "text" for block in content):
        return text_of(content)
    return [its for block in content for its in _user_media(block)]


def _user_media(block: Native) -> Iterator[UserContent]:
    if block["type"] == "text":
        yield block["text"]
    elif block["type"] == "image" and "url" in block["source"]:
        yield ImageUrl(block["source"]["url"])
    elif block["type"] == "image":
        yield BinaryContent(base64.b64decode(block["source"]["data"]), media_type=block["source"]["media_type"])


def _calls(item: Native) -> list[Call]:
    """The calls that an item makes or answers, with its role."""
    ids = {"tool_call": "id", "tool_result": "tool_call_id"}
    return [(item["role"], block[ids[block["type"]]]) for block in _blocks(item) if block["type"] in ids]


def _blocks(item: Native) -> list[Native]:
    return item["content"] if isinstance(item["content"], list) else []
