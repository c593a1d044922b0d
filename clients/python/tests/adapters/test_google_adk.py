"""The summarizer for Google's ADK, under the published runner."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="needs the package google-adk")

from google.adk.agents import LlmAgent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.events import Event
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import (
    Blob,
    Content,
    FunctionCall,
    FunctionResponse,
    GenerateContentResponseUsageMetadata,
    Part,
)
from pydantic import PrivateAttr

from contextd import Contextd
from contextd.google_adk import ContextdSummarizer, items_of
from tests.adapters.meters import SUMMARY, TURNS, reading, shows, tells

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*")

THRESHOLD = 2000
WINDOW = 3000


def meter_reading(room: str) -> str:
    """Reads a room's meter."""
    return shows(room)


class PlayedModel(BaseLlm):
    """Reads the meter that it is asked about, then tells what it shows."""

    model: str = "played"
    _seen: list[list[Content]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[Content]]:
        return self._seen

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._seen.append(list(llm_request.contents))
        last = (llm_request.contents[-1].parts or [Part()])[-1]
        if last.function_response:
            part = Part(text=tells(str(last.function_response.response)))
        else:
            [room] = re.findall(r"room-\d+", last.text or "")
            part = Part(function_call=FunctionCall(name="meter_reading", args={"room": room}))
        sent = sum(len(content.model_dump_json(exclude_none=True)) for content in llm_request.contents)
        usage = GenerateContentResponseUsageMetadata(prompt_token_count=sent // 4)
        yield LlmResponse(content=Content(role="model", parts=[part]), usage_metadata=usage)


def runner_of(model: BaseLlm, summarizer: ContextdSummarizer, sessions: InMemorySessionService, **more: Any) -> Runner:
    agent = LlmAgent(name="janitor", model=model, instruction="Read meters.", tools=[meter_reading])
    config = EventsCompactionConfig(summarizer=summarizer, token_threshold=THRESHOLD, event_retention_size=2)
    app = App(name="meters", root_agent=agent, events_compaction_config=config, **more)
    return Runner(app=app, session_service=sessions, auto_create_session=True)


async def converse(runner: Runner, session_id: str, turns: range) -> None:
    for n in turns:
        asked = Content(role="user", parts=[Part(text=f"What does the meter in room-{n} show?")])
        events = [its async for its in runner.run_async(user_id="ada", session_id=session_id, new_message=asked)]
        assert f"That is {reading(f'room-{n}')}." in text(events[-1].content)


def text(content: Content | None) -> str:
    return "\n".join(part.text or "" for part in (content and content.parts) or ())


@pytest.mark.anyio
async def test_thirty_turns_in_a_small_window(client: Contextd) -> None:
    model, sessions = PlayedModel(), InMemorySessionService()
    for turns in (range(TURNS // 2), range(TURNS // 2, TURNS)):
        # Another process goes on with the same session.
        summarizer = ContextdSummarizer(client)
        await converse(runner_of(model, summarizer, sessions, plugins=[summarizer]), "adk-30", turns)
    session = await sessions.get_session(app_name="meters", user_id="ada", session_id="adk-30")
    assert session
    compactions = [its for event in session.events if (its := event.actions.compaction)]
    assert len(compactions) >= 3
    # Each goes on from the one before.
    assert len({its.start_timestamp for its in compactions}) == 1
    for sent in model.seen:
        assert_fits(client, sent)
    assert any(SUMMARY in text(content) for content in model.seen[-1])
    assert_nothing_is_lost(client, session.events, compactions[-1].end_timestamp)


def assert_fits(client: Contextd, sent: list[Content]) -> None:
    items = [item for content in sent for item in items_of(Event(author="agent", content=content))]
    assert client.count(format="native", items=items)["tokens"] <= WINDOW
    parts = [part for content in sent for part in content.parts or ()]
    calls = [str((part.function_call.args or {})["room"]) for part in parts if part.function_call]
    results = [str(part.function_response.response) for part in parts if part.function_response]
    assert all(f"in {room} shows" in result for room, result in zip(calls, results, strict=True))


def assert_nothing_is_lost(client: Contextd, events: list[Event], until: float) -> None:
    told = [event for event in events if event.timestamp <= until and event.content]
    session_id = client.sessions.get_or_create("meters/ada/adk-30")["id"]
    kept = [its["item"] for its in client.entries.list(session_id) if its["type"] == "message"]
    assert kept[: len(told)] == [item for event in told for item in items_of(event)]
    calls = [its["arguments"]["room"] for its in client.tool_calls.list(session_id)]
    assert calls[:20] == [f"room-{n}" for n in range(20)]
    first = client.tool_calls.get(session_id, told[1].get_function_calls()[0].id or "")
    assert f"shows {reading('room-0')} kWh" in (first.get("result_text") or "")


@pytest.mark.anyio
async def test_windows_of_invocations_are_summarized_too(client: Contextd) -> None:
    summarizer = ContextdSummarizer(client, session_id="adk-windows")
    agent = LlmAgent(name="janitor", model=PlayedModel(), instruction="Read meters.", tools=[meter_reading])
    config = EventsCompactionConfig(summarizer=summarizer, compaction_interval=3, overlap_size=1)
    sessions = InMemorySessionService()
    app = App(name="meters", root_agent=agent, events_compaction_config=config)
    await converse(Runner(app=app, session_service=sessions, auto_create_session=True), "windows", range(9))
    session = await sessions.get_session(app_name="meters", user_id="ada", session_id="windows")
    assert session
    told = [text(its.compacted_content) for event in session.events if (its := event.actions.compaction)]
    assert len(told) >= 2
    for n in range(8):
        assert any(f"room-{n} shows {reading(f'room-{n}')}" in its for its in told)


def test_each_turn_may_have_an_event_loop_of_its_own(client: Contextd) -> None:
    summarizer = ContextdSummarizer(client)
    runner = runner_of(PlayedModel(), summarizer, InMemorySessionService(), plugins=[summarizer])
    for n in range(12):
        asked = Content(role="user", parts=[Part(text=f"What does the meter in room-{n} show?")])
        assert list(runner.run(user_id="ada", session_id="adk-loops", new_message=asked))
    session_id = client.sessions.get_or_create("meters/ada/adk-loops")["id"]
    assert len([its for its in client.compactions.list(session_id) if its["status"] == "succeeded"]) >= 2


@pytest.mark.anyio
async def test_a_session_is_needed(client: Contextd) -> None:
    event = Event(author="user", content=Content(role="user", parts=[Part(text="Hello.")]))
    with pytest.raises(ValueError, match="plugins"):
        await ContextdSummarizer(client).maybe_summarize_events(events=[event])


@pytest.mark.anyio
async def test_where_there_is_nothing_to_summarize_there_is_no_summary(client: Contextd) -> None:
    summarizer = ContextdSummarizer(client, session_id="adk-nothing")
    assert await summarizer.maybe_summarize_events(events=[]) is None
    hello = Event(author="user", content=Content(role="user", parts=[Part(text="Hello.")]))
    assert await summarizer.maybe_summarize_events(events=[hello]) is None


EVERYTHING = [
    Content(
        role="user", parts=[Part(text="See here: ünïcode"), Part(inline_data=Blob(data=b"hi", mime_type="image/png"))]
    ),
    Content(role="user", parts=[Part(inline_data=Blob(data=b"hi", mime_type="audio/wav"))]),
    Content(
        role="model",
        parts=[
            Part(text="Hm.", thought=True),
            Part(text="I look."),
            Part(function_call=FunctionCall(id="1", name="look", args={"at": [1, 2.5, None]})),
            Part(function_call=FunctionCall(id="2", name="look")),
        ],
    ),
    Content(
        role="user",
        parts=[
            Part(function_response=FunctionResponse(id="1", name="look", response={"cats": 1})),
            Part(function_response=FunctionResponse(id="2", name="look", response={"error": "It broke."})),
        ],
    ),
    Content(role="model", parts=[Part(text="A cat.")]),
    Content(role="model"),
]


def test_what_events_say_is_kept(client: Contextd) -> None:
    items = [item for content in EVERYTHING for item in items_of(Event(author="agent", content=content))]
    session_id = client.sessions.create()["id"]
    answer = client.sessions.put_transcript(session_id, format="native", items=items, return_context="native")
    assert answer["context"]
    assert [item["role"] for item in answer["context"]["messages"]] == [
        "user",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [item for item in client.sessions.export(session_id, format="native")] == items
    results = [block for block in items[3]["content"]]
    assert [block["is_error"] for block in results] == [False, True]
