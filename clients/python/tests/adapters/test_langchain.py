"""The middleware for LangChain's agents, under the published `create_agent`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("langchain", reason="needs the package langchain")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from pydantic import PrivateAttr, TypeAdapter

from contextd import Contextd
from contextd.langchain import ContextdMiddleware, from_native, restore, to_native
from tests.adapters.meters import SETTINGS, SUMMARY, TURNS, reading, shows, tells

MESSAGES: TypeAdapter[list[AnyMessage]] = TypeAdapter(list[AnyMessage])


def meter_reading(room: str) -> str:
    """Reads a room's meter."""
    return shows(room)


class PlayedModel(BaseChatModel):
    """Reads the meter that it is asked about, then tells what it shows."""

    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "played"

    @property
    def seen(self) -> list[list[BaseMessage]]:
        return self._seen

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self._seen.append(messages)
        last = messages[-1]
        if isinstance(last, ToolMessage):
            told = tells(last.text)
            answer = AIMessage([{"type": "reasoning", "reasoning": "Just tell."}, {"type": "text", "text": told}])
        else:
            [room] = re.findall(r"room-\d+", last.text)
            call = {"name": "meter_reading", "args": {"room": room}, "id": f"call_{room}", "type": "tool_call"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def converse(client: Contextd, model: PlayedModel, thread_id: str, **creation: Any) -> None:
    middleware = ContextdMiddleware(client, **creation)
    agent = create_agent(
        model, [meter_reading], system_prompt="Read meters.", middleware=[middleware], checkpointer=InMemorySaver()
    )
    for n in range(TURNS):
        said = HumanMessage(f"What does the meter in room-{n} show?")
        result = agent.invoke({"messages": [said]}, {"configurable": {"thread_id": thread_id}})
        assert f"That is {reading(f'room-{n}')}." in result["messages"][-1].text


def test_thirty_turns_in_a_small_window(client: Contextd) -> None:
    model = PlayedModel()
    converse(client, model, "langchain-30", settings=SETTINGS)
    session_id = client.sessions.get_or_create("langchain-30")["id"]
    assert len([its for its in client.compactions.list(session_id) if its["status"] == "succeeded"]) >= 3
    for sent in model.seen:
        MESSAGES.validate_python(sent)
        assert_is_paired(sent)
        assert client.count(format="native", items=[to_native(message) for message in sent])["tokens"] <= 3000
    assert any(SUMMARY in message.text for message in model.seen[-1])
    assert len(model.seen[-1]) < 2 * TURNS
    assert_nothing_is_lost(client, session_id)


def assert_is_paired(messages: list[BaseMessage]) -> None:
    calls = [call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    assert calls == [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]


def assert_nothing_is_lost(client: Contextd, session_id: str) -> None:
    kept = [entry["item"] for entry in client.entries.list(session_id) if entry["type"] == "message"]
    assert [item["role"] for item in kept] == ["user", "assistant", "tool", "assistant"] * TURNS
    assert [item["content"][0]["text"] for item in kept[::4]] == [
        f"What does the meter in room-{n} show?" for n in range(TURNS)
    ]
    for n in range(TURNS):
        call = client.tool_calls.get(session_id, f"call_room-{n}")
        assert f"shows {reading(f'room-{n}')} kWh" in (call.get("result_text") or "")


@pytest.mark.anyio
async def test_asynchronously_and_without_threads(client: Contextd) -> None:
    middleware = ContextdMiddleware(client, session_id="langchain-async", settings=SETTINGS)
    agent: Any = create_agent(PlayedModel(), [meter_reading], middleware=[middleware])
    messages: list[Any] = []
    for n in range(8):
        messages.append(HumanMessage(f"What does the meter in room-{n} show?"))
        messages = (await agent.ainvoke({"messages": messages}))["messages"]
    session_id = client.sessions.get_or_create("langchain-async")["id"]
    assert len(list(client.tool_calls.list(session_id))) == 8
    assert len(messages) < 4 * 8


def test_the_window_is_as_full_as_the_provider_says(client: Contextd) -> None:
    told: list[int] = []

    class CountingModel(PlayedModel):
        def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
            result = super()._generate(messages)
            # What is never posted, and what is sent: a provider's figure grows with it.
            sent = 1250 + sum(len(str(message.content)) for message in messages) // 3
            told.append(sent + 50)
            usage = {"input_tokens": sent, "output_tokens": 50, "total_tokens": sent + 50}
            [generation] = result.generations
            counted = generation.message.model_copy(update={"usage_metadata": usage})
            return ChatResult(generations=[ChatGeneration(message=counted)])

    middleware = ContextdMiddleware(client, session_id="langchain-usage", settings=SETTINGS)
    agent: Any = create_agent(CountingModel(), [meter_reading], middleware=[middleware])
    agent.invoke({"messages": [HumanMessage("What does the meter in room-1 show?")]})
    snapshot = client.sessions.get_or_create("langchain-usage")["snapshot"]
    assert (snapshot["source"], snapshot["tokens"]) == ("usage", told[-1])


def test_a_thread_is_needed(client: Contextd) -> None:
    agent: Any = create_agent(PlayedModel(), [meter_reading], middleware=[ContextdMiddleware(client)])
    with pytest.raises(ValueError, match="thread_id"):
        agent.invoke({"messages": [HumanMessage("What does the meter in room-1 show?")]})


BLOCKS: list[Any] = [
    {"type": "text", "text": "See here:"},
    {"type": "image", "url": "https://example.com/a.png"},
    {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
    {"type": "image", "file_id": "file-1"},
    {"type": "audio", "base64": "aGk=", "mime_type": "audio/wav"},
    {"type": "file", "base64": "aGk=", "mime_type": "application/pdf"},
]
CALL: Any = {"name": "look", "args": {"at": [1, 2.5, None]}, "id": "call_1", "type": "tool_call"}
EVERYTHING: list[AnyMessage] = [
    SystemMessage("Be brief."),
    HumanMessage(BLOCKS, name="Ada"),
    AIMessage([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "I look."}], tool_calls=[CALL]),
    ToolMessage([{"type": "text", "text": "A cat"}, {"type": "text", "text": "and a dog"}], tool_call_id="call_1"),
    AIMessage("", tool_calls=[{**CALL, "id": "call_2"}]),
    ToolMessage("It broke.", tool_call_id="call_2", status="error"),
    AIMessage([{"type": "thinking", "thinking": "So.", "signature": "abc"}, {"type": "text", "text": "A cat."}]),
    HumanMessage("Thanks. ünïcode \u2028"),
]


def test_messages_come_back_as_they_were(client: Contextd) -> None:
    session_id = client.sessions.create()["id"]
    items = [to_native(message) for message in EVERYTHING]
    answer = client.sessions.put_transcript(session_id, format="native", items=items, return_context="native")
    assert answer["context"]
    kept = restore(answer["context"]["messages"], EVERYTHING, items)
    assert all(after is before for after, before in zip(kept, EVERYTHING, strict=True))


def test_an_untidy_history_is_made_valid(client: Contextd) -> None:
    def calling(*ids: str) -> AIMessage:
        return AIMessage("I look.", tool_calls=[{**CALL, "id": its} for its in ids])

    untidy: list[AnyMessage] = [
        HumanMessage("Look around.", id="1"),
        calling("a"),
        calling("b", "c", "d"),
        ToolMessage("A dog.", tool_call_id="a"),
        ToolMessage("A cat.", tool_call_id="b"),
        HumanMessage("And?", id="2"),
    ]
    middleware = ContextdMiddleware(client, session_id="langchain-untidy")
    runtime: Any = Runtime()
    update = middleware.before_model({"messages": untidy}, runtime)
    assert update
    kept = update["messages"][1:]
    assert_is_paired(kept)
    assert sorted(message.tool_call_id for message in kept if isinstance(message, ToolMessage)) == ["a", "b", "c", "d"]
    assert kept[-1] is untidy[-1]
    assert middleware.before_model({"messages": kept}, runtime) is None


def test_messages_can_be_made_anew() -> None:
    items = [to_native(message) for message in EVERYTHING]
    made = [from_native(item, {}) for item in items]
    assert [to_native(message) for message in made if message.type != "tool"] == [
        item for item in items if item["role"] != "tool"
    ]
    assert [message.text for message in made if message.type == "tool"] == ["A cat\nand a dog", "It broke."]
    assert [message.status for message in made if isinstance(message, ToolMessage)] == ["success", "error"]


def test_a_shortened_result_keeps_what_it_had() -> None:
    before = ToolMessage("long " * 100, tool_call_id="c", name="look", id="m1", artifact={"rows": 3})
    item = to_native(before)
    item["content"][0]["content"] = "[elided]"
    [after] = restore([item], [before], [to_native(before)])
    assert isinstance(after, ToolMessage)
    assert (after.text, after.id, after.name, after.artifact) == ("[elided]", "m1", "look", {"rows": 3})


def test_of_equal_messages_the_newest_are_left() -> None:
    messages: list[AnyMessage] = [HumanMessage("Yes.", id="1"), AIMessage("And?", id="2"), HumanMessage("Yes.", id="3")]
    items = [to_native(message) for message in messages]
    assert [message.id for message in restore(items[2:], messages, items)] == ["3"]
