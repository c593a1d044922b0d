"""The condenser for OpenHands' agents, under the published SDK."""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

# Read when the SDK is imported: where it keeps files of its own, and that it fetches no prices.
os.environ["OH_PERSISTENCE_DIR"] = tempfile.mkdtemp(prefix="openhands-")
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
pytest.importorskip("openhands.sdk", reason="needs the package openhands-sdk")

from openhands.sdk import LLM, Agent, Conversation, LocalConversation
from openhands.sdk.context.condenser import CondenserBase, NoCondensationAvailableException
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, Condensation, LLMConvertibleEvent, MessageEvent, ObservationEvent
from openhands.sdk.llm import ImageContent, LLMResponse, Message, MessageToolCall, TextContent, ThinkingBlock
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import Action, Observation, Tool, ToolDefinition, ToolExecutor, register_tool
from pydantic import PrivateAttr

from contextd import Contextd
from contextd._openhands_messages import condensation, pieces_of, restore, shown_events
from contextd.openhands import ContextdCondenser
from contextd.types import CreateSession, SettingsPatch
from tests.adapters.meters import SETTINGS, SUMMARY, TURNS, reading, shows, tells

CREATION: CreateSession = {"settings": SETTINGS}


class MeterAction(Action):
    room: str


class MeterObservation(Observation):
    pass


def observed(text: str) -> MeterObservation:
    return MeterObservation(content=[TextContent(text=text)])


class MeterExecutor(ToolExecutor[MeterAction, MeterObservation]):
    def __call__(self, action: MeterAction, conversation: object = None) -> MeterObservation:
        return observed(shows(action.room))


class MeterReadingTool(ToolDefinition[MeterAction, MeterObservation]):
    @classmethod
    def create(cls, *_: Any, **__: Any) -> Sequence[MeterReadingTool]:
        tool = cls(
            description="Reads a room's meter.",
            action_type=MeterAction,
            observation_type=MeterObservation,
            executor=MeterExecutor(),
        )
        return [tool]


register_tool("MeterReadingTool", MeterReadingTool)


class PlayedLLM(TestLLM):
    """Reads the meter that it is asked about, then tells what it shows."""

    _seen: list[list[Message]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[Message]]:
        return self._seen

    def completion(self, messages: list[Message], *_: Any, **__: Any) -> LLMResponse:
        self._seen.append(messages)
        self._scripted_responses.append(self.answer(messages[-1]))
        return super().completion(messages)

    def answer(self, last: Message) -> Message:
        text = text_of(last)
        if last.role == "tool":
            told = tells(text)
            return Message(role="assistant", content=[TextContent(text=told)])
        room = re.findall(r"room-\d+", text)[-1]
        call = MessageToolCall(
            id=f"call_{room}", name="meter_reading", arguments=f'{{"room":"{room}"}}', origin="completion"
        )
        return Message(role="assistant", tool_calls=[call])


def text_of(message: Message) -> str:
    return "\n".join(its.text for its in message.content if isinstance(its, TextContent))


def conversation_of(llm: LLM, condenser: CondenserBase, folder: Path, **more: Any) -> LocalConversation:
    tools = [Tool(name="MeterReadingTool")]
    agent = Agent(llm=llm, tools=tools, include_default_tools=[], system_prompt="Read meters.", condenser=condenser)
    return Conversation(agent, workspace=str(folder), visualizer=None, **more)


# The methods' types are lost in the SDK's decorators.
def converse(conversation: Any, rooms: Sequence[str]) -> None:
    for room in rooms:
        conversation.send_message(f"What does the meter in {room} show?")
        conversation.run()
        last = [event for event in conversation.state.events if isinstance(event, MessageEvent)][-1]
        assert f"That is {reading(room)}." in text_of(last.llm_message)


def rooms(*numbers: int) -> list[str]:
    return [f"room-{n}" for n in range(*numbers)]


def condensations(conversation: LocalConversation) -> list[Condensation]:
    return [event for event in conversation.state.events if isinstance(event, Condensation)]


def test_thirty_turns_in_a_small_window(client: Contextd, tmp_path: Path) -> None:
    llm = PlayedLLM(model="played")
    conversation_id = uuid.uuid4()
    for part in (rooms(TURNS // 2), rooms(TURNS // 2, TURNS)):
        # Another process goes on with the same conversation.
        condenser = ContextdCondenser(client=client, session_id="openhands-30", creation=CREATION)
        conversation = conversation_of(
            llm, condenser, tmp_path, persistence_dir=tmp_path / "kept", conversation_id=conversation_id
        )
        converse(conversation, part)
        conversation.close()
    session_id = client.sessions.get_or_create("openhands-30")["id"]
    assert len([its for its in client.compactions.list(session_id) if its["status"] == "succeeded"]) >= 3
    assert len(condensations(conversation)) >= 3
    for sent in llm.seen:
        assert_is_paired(sent)
        items = llm.format_messages_for_llm(sent)
        assert client.count(format="openai_chat", items=items)["tokens"] <= 3000
    assert any(SUMMARY in text_of(message) for message in llm.seen[-1])
    assert_nothing_is_lost(client, session_id)


def assert_is_paired(messages: list[Message]) -> None:
    calls = [call.id for message in messages for call in message.tool_calls or ()]
    assert calls == [message.tool_call_id for message in messages if message.role == "tool"]


def assert_nothing_is_lost(client: Contextd, session_id: str) -> None:
    kept = [entry["item"] for entry in client.entries.list(session_id) if entry["type"] == "message"]
    # The last answer is stored when the conversation goes on.
    assert [item["role"] for item in kept] == (["user", "assistant", "tool", "assistant"] * TURNS)[:-1]
    assert [item["content"] for item in kept[::4]] == [f"What does the meter in room-{n} show?" for n in range(TURNS)]
    for n in range(TURNS):
        call = client.tool_calls.get(session_id, f"call_room-{n}")
        assert f"shows {reading(f'room-{n}')} kWh" in (call.get("result_text") or "")


def said(*texts: str) -> list[LLMConvertibleEvent]:
    return [
        MessageEvent(source="user", llm_message=Message(role="user", content=[TextContent(text=its)])) for its in texts
    ]


def test_a_view_that_fits_stays_as_it_is(client: Contextd) -> None:
    image = Message(
        role="user", content=[TextContent(text="See."), ImageContent(image_urls=["https://a.example/b.png"])]
    )
    view = View(events=[*said("Hello."), MessageEvent(source="user", llm_message=image)])
    assert ContextdCondenser(client=client, session_id="openhands-same").condense(view) is view


def test_a_request_compacts_at_once(client: Contextd, tmp_path: Path) -> None:
    condenser = ContextdCondenser(client=client, session_id="openhands-request", creation=CREATION)
    conversation = conversation_of(PlayedLLM(model="played"), condenser, tmp_path)
    converse(conversation, rooms(5))
    assert condensations(conversation) == []
    conversation.condense()
    assert len(condensations(conversation)) == 1
    converse(conversation, rooms(5, 7))
    assert len(condensations(conversation)) == 1


@pytest.mark.anyio
async def test_a_request_for_nothing_is_refused(client: Contextd) -> None:
    condenser = ContextdCondenser(client=client, session_id="openhands-nothing")
    with pytest.raises(NoCondensationAvailableException):
        await condenser.acondense(View(events=said("Hello."), unhandled_condensation_request=True))


def test_shortened_results_are_shown_in_a_view(client: Contextd, tmp_path: Path) -> None:
    settings: SettingsPatch = {**SETTINGS, "strategy": "mask"}
    condenser = ContextdCondenser(client=client, session_id="openhands-mask", creation={"settings": settings})
    llm = PlayedLLM(model="played")
    conversation = conversation_of(llm, condenser, tmp_path)
    converse(conversation, rooms(12))
    assert condensations(conversation) == []
    sent = llm.seen[-1]
    assert_is_paired(sent)
    assert [message.role for message in sent] == ["system", *["user", "assistant", "tool", "assistant"] * 12][:-1]
    shown = [len(text_of(message)) for message in sent if message.role == "tool"]
    assert max(shown[:3]) < 500 < min(shown[-3:])
    assert {message.name for message in sent if message.role == "tool"} == {"meter_reading"}


def read(room: str, *thinking: ThinkingBlock) -> list[LLMConvertibleEvent]:
    call = MessageToolCall(id=room, name="meter_reading", arguments=f'{{"room":"{room}"}}', origin="completion")
    action = ActionEvent(
        thought=[],
        thinking_blocks=list(thinking),
        action=MeterAction(room=room),
        tool_name=call.name,
        tool_call_id=room,
        tool_call=call,
        llm_response_id=f"resp_{room}",
    )
    shown = observed(f"{reading(room)} kWh")
    return [action, ObservationEvent(tool_name=call.name, tool_call_id=room, observation=shown, action_id=action.id)]


@pytest.mark.parametrize("thinking", [[], [ThinkingBlock(thinking="Both, then.", signature="abc")]])
def test_a_tool_loop_that_openhands_keeps_together_is_parted_in_a_view_alone(thinking: list[ThinkingBlock]) -> None:
    view = View(events=[*said("Read two."), *read("room-1", *thinking), *read("room-2"), *said("And?")])
    pieces = list(pieces_of(view.events))
    summary = {"role": "user", "content": "The first is read."}
    shown = restore([summary, *(piece.item for piece in pieces[3:])], pieces)
    forgetting = condensation(view, shown, pieces, "summary-1")
    assert (forgetting is None) == bool(thinking)
    after = forgetting.apply(view.events) if forgetting else shown_events(view.events, shown)
    assert [message.role for message in LLMConvertibleEvent.events_to_messages(after)] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert text_of(after[0].to_llm_message()) == "The first is read."
    assert after[1:] == view.events[3:]


def test_the_window_is_as_full_as_the_provider_says(client: Contextd) -> None:
    llm = PlayedLLM(model="played")
    llm.metrics.add_token_usage(1500, 50, 0, 0, 3000, "resp_room-1")
    llm.metrics.add_token_usage(99, 1, 0, 0, 3000, "of-another-conversation")
    condenser = ContextdCondenser(client=client, session_id="openhands-usage", creation=CREATION)
    condenser.condense(View(events=[*said("Read it."), *read("room-1")]), llm)
    snapshot = client.sessions.get_or_create("openhands-usage")["snapshot"]
    assert snapshot["source"] == "usage"
    assert snapshot["tokens"] >= 1550


def test_a_stored_condenser_has_no_secrets(service_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTD_URL", service_url)
    condenser = ContextdCondenser(
        client=Contextd(service_url, "secret"), session_id="openhands-kept", creation=CREATION
    )
    text = condenser.model_dump_json()
    assert "secret" not in text + repr(condenser)
    again = CondenserBase.model_validate_json(text)
    assert isinstance(again, ContextdCondenser)
    assert (again.session_id, again.creation) == ("openhands-kept", CREATION)
    view = View(events=said("Hello."))
    assert again.condense(view) is view
