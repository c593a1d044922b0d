"""A summarizer for Google's ADK: `EventsCompactionConfig(summarizer=ContextdSummarizer(client), …)`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence

from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.plugins import BasePlugin
from google.genai.types import Content, Part

from ._compat import Unpack
from ._native import Native, text_of
from ._sync.client import Contextd
from .types import Context, CreateSession, Format, SettingsPatch

FORMAT: Format = "native"
OPAQUE = "google_adk"
COMPACTION_SECONDS = 120.0
MAX_KNOWN = 10_000
# ADK says when to compact, and which events to keep.
SETTINGS: SettingsPatch = {"enabled": False, "anchor_first_user": False, "keep_recent_tokens": 0}


class ContextdSummarizer(BasePlugin, BaseEventsSummarizer):
    """Has contextd summarize the events that ADK compacts, and keeps them there, whole.

    A session of ADK is a session of contextd, with its app, user and id as the external id; as one of the app's plugins
    the summarizer learns which events are whose. Without, `session_id` names the one session that there is. Further
    arguments are those of `sessions.create`, for a session that is new.
    """

    def __init__(self, client: Contextd, *, session_id: str | None = None, **creation: Unpack[CreateSession]) -> None:
        super().__init__(name="contextd")
        self.client = client
        self.session_id = session_id
        settings: SettingsPatch = {**SETTINGS, **(creation.get("settings") or {})}
        self._creation: CreateSession = {**creation, "settings": settings}
        self._sessions: dict[str, str] = {}

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Takes down whose invocations the session's are."""
        session = invocation_context.session
        external_id = f"{session.app_name}/{session.user_id}/{session.id}"
        for invocation_id in [event.invocation_id for event in session.events] + [invocation_context.invocation_id]:
            self._sessions.pop(invocation_id, None)
            self._sessions[invocation_id] = external_id
        for oldest in list(self._sessions)[:-MAX_KNOWN]:
            del self._sessions[oldest]

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """The summary of the events but for a few at the end, which contextd leaves as they are; None: of none."""
        # ADK may run each turn in an event loop of its own; an asynchronous client would be bound to the first.
        return await asyncio.to_thread(self._summarize, events)

    def _summarize(self, events: Sequence[Event]) -> Event | None:
        said = [(event, item) for event in events for item in items_of(event)]
        if not said:
            return None
        session_id = self.client.sessions.get_or_create(self._external_id(events), **self._creation)["id"]
        items = [item for _, item in said]
        self.client.sessions.put_transcript(session_id, format=FORMAT, items=items)
        self.client.sessions.compact(session_id, force=True, wait=COMPACTION_SECONDS)
        return _compaction(events, said, self.client.sessions.context(session_id, format=FORMAT))

    def _external_id(self, events: Sequence[Event]) -> str:
        found = self.session_id or next(
            (its for event in reversed(events) if (its := self._sessions.get(event.invocation_id))), None
        )
        if found is None:
            raise ValueError("no session: add the summarizer to the app's plugins, or give it a session_id")
        return found


def items_of(event: Event) -> Iterator[Native]:
    """What an event says, in contextd's own format."""
    content = event.content or Content()
    blocks = [_block(part) for part in content.parts or ()]
    results = [block for block in blocks if block["type"] == "tool_result"]
    if results:
        yield {"role": "tool", "content": results}
    if len(results) < len(blocks):
        role = "assistant" if content.role == "model" and not _is_summary(event) else "user"
        yield {"role": role, "content": [block for block in blocks if block["type"] != "tool_result"]}


def _is_summary(event: Event) -> bool:
    """Whether ADK made the event of the last summary."""
    return event.author == "model"


def _block(part: Part) -> Native:
    if part.function_call:
        call = part.function_call
        return {"type": "tool_call", "id": call.id or "", "name": call.name or "", "arguments": call.args or {}}
    if part.function_response:
        return _result(part)
    if part.text is not None:
        return {"type": "thinking" if part.thought else "text", "text": part.text}
    value = part.model_dump(mode="json", exclude_none=True)
    if part.inline_data and (part.inline_data.mime_type or "").startswith("image/"):
        source = {"media_type": value["inline_data"]["mime_type"], "data": value["inline_data"]["data"]}
        return {"type": "image", "source": source}
    return {"type": OPAQUE, "value": value}


def _result(part: Part) -> Native:
    answer = part.model_dump(mode="json", exclude_none=True)["function_response"]
    response = answer.get("response", {})
    # ADK wraps what is no object.
    shown = response["result"] if list(response) == ["result"] else response
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    result = {"type": "tool_result", "tool_call_id": answer.get("id", ""), "name": answer.get("name", "")}
    return {**result, "content": [{"type": "text", "text": text}], "is_error": "error" in response}


def _compaction(events: Sequence[Event], said: Sequence[tuple[Event, Native]], context: Context) -> Event | None:
    """The event that puts the summary in the place of those that it tells."""
    places = [place for place, message in enumerate(context["messages"]) if message["role"] == "compaction_summary"]
    if not places:
        return None
    summary = text_of(context["messages"][places[0]]["content"])
    kept = len(context["entry_ids"]) - places[0]
    border = next((n for n, event in enumerate(events) if kept and event is said[-kept][0]), len(events))
    told = events[:border]
    if all(_is_summary(event) for event in told):
        return None
    compaction = EventCompaction(
        start_timestamp=told[0].timestamp,
        end_timestamp=told[-1].timestamp,
        compacted_content=Content(role="model", parts=[Part(text=summary)]),
    )
    return Event(author="user", invocation_id=Event.new_id(), actions=EventActions(compaction=compaction))
