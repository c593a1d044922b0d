"""OpenHands' events, as contextd takes and gives them: messages of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, Condensation, LLMConvertibleEvent, MessageEvent
from openhands.sdk.llm import ImageContent, Message, TextContent

from ._native import Native, text_of, unchanged


@dataclass(eq=False)
class Piece:
    """The events of one message, with what contextd is shown of them."""

    events: list[LLMConvertibleEvent]
    message: Message
    item: Native


# An item of a context, and the piece that it is or was made of.
Shown = tuple[Native, Piece | None]


def pieces_of(events: Sequence[LLMConvertibleEvent]) -> Iterator[Piece]:
    """The pieces of a view, in order. The system prompt is none."""
    for _, its in groupby(events, lambda event: event.llm_response_id if isinstance(event, ActionEvent) else event.id):
        group = list(its)
        [message] = LLMConvertibleEvent.events_to_messages(group)
        if message.role != "system":
            yield Piece(group, message, _item(message))


def restore(context: Sequence[Native], pieces: Sequence[Piece]) -> list[Shown]:
    """The items of a context, each with its piece. None: the view does not have it, as a new summary."""
    of_calls = {call: piece for piece in pieces for call in _calls(piece.item)}
    places = unchanged(context, [piece.item for piece in pieces])
    return [
        (item, next((of_calls[call] for call in _calls(item) if call in of_calls), None))
        if place is None
        else (item, pieces[place])
        for item, place in zip(context, places, strict=True)
    ]


def condensation(
    view: View, shown: Sequence[Shown], pieces: Sequence[Piece], summary_id: str | None
) -> Condensation | None:
    """What to forget, and the summary that takes its place; None where one condensation can't say it."""
    kept = [piece for _, piece in shown]
    forgotten = {event.id for piece in pieces if piece not in kept for event in piece.events}
    if not forgotten or summary_id is None or kept.count(None) != 1:
        return None
    place = kept.index(None)
    following = [event.id for piece in kept[place + 1 :] if piece for event in piece.events]
    border = [event.id for event in view.events].index(following[0]) if following else len(view.events)
    if not _borders(view, forgotten) | {border} <= view.manipulation_indices:
        return None
    return Condensation(
        forgotten_event_ids=forgotten,
        summary=text_of(shown[place][0]["content"]),
        summary_offset=sum(event.id not in forgotten for event in view.events[:border]),
        llm_response_id=summary_id,
    )


def shown_events(events: Sequence[LLMConvertibleEvent], shown: Sequence[Shown]) -> list[LLMConvertibleEvent]:
    """The events of a context, with those before it that are no pieces: the system prompt."""
    prompt = [event for event in events if event.to_llm_message().role == "system"]
    names = {call["id"]: call["function"]["name"] for item, _ in shown for call in item.get("tool_calls") or ()}
    told = [piece.events if piece and piece.item == item else [_event(item, piece, names)] for item, piece in shown]
    return [*prompt, *(event for its in told for event in its)]


def _borders(view: View, forgotten: set[str]) -> set[int]:
    """The places between what is forgotten and what is not."""
    flags = [False, *(event.id in forgotten for event in view.events), False]
    return {place for place in range(len(flags) - 1) if flags[place] != flags[place + 1]}


def _item(message: Message) -> Native:
    item = message.to_chat_dict(
        cache_enabled=False,
        vision_enabled=True,
        function_calling_enabled=True,
        force_string_serializer=False,
        send_reasoning_content=True,
    )
    # A single text is a string, as in a summary that contextd has written.
    match item.get("content"):
        case [{"type": "text", "text": text}]:
            return {**item, "content": text}
    return item


def _event(item: Native, piece: Piece | None, names: Mapping[str, str]) -> LLMConvertibleEvent:
    """An event that the view does not have: a message that was shortened, merged or made up."""
    changed: dict[str, Any] = {"content": list(_contents(item.get("content")))}
    if piece is None:
        call_id = item.get("tool_call_id")
        made = Message(role=item["role"], tool_call_id=call_id, name=names.get(call_id) if call_id else None)
        return MessageEvent(source="environment", llm_message=made.model_copy(update=changed))
    arguments: dict[str, str] = {call["id"]: call["function"]["arguments"] for call in item.get("tool_calls") or ()}
    if calls := piece.message.tool_calls:
        changed["tool_calls"] = [call.model_copy(update={"arguments": arguments[call.id]}) for call in calls]
    return MessageEvent(source="environment", llm_message=piece.message.model_copy(update=changed))


def _contents(content: Any) -> Iterator[TextContent | ImageContent]:
    parts: list[Native] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for part in parts:
        if part["type"] == "text":
            yield TextContent(text=part["text"])
        elif part["type"] == "image_url":
            yield ImageContent(image_urls=[part["image_url"]["url"]])


def _calls(item: Native) -> list[tuple[str, str]]:
    """The calls that an item makes or answers, with its role."""
    ids = [call["id"] for call in item.get("tool_calls") or ()] or [item.get("tool_call_id")]
    return [(item["role"], call_id) for call_id in ids if call_id]
