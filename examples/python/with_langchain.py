"""An agent of LangChain's with a small window, whose messages contextd keeps. The model is played."""

import re
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from contextd import Contextd
from contextd.langchain import ContextdMiddleware


def meter_reading(room: str) -> str:
    """Reads a room's meter."""
    return f"The meter in {room} shows {7919 * int(room[5:])} kWh. " + "It was checked and found in order. " * 20


class PlayedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "played"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            [shown] = re.findall(r"shows \d+ kWh", last.text)
            answer = AIMessage(f"It {shown}.")
        else:
            [room] = re.findall(r"room-\d+", last.text)
            answer = AIMessage("", tool_calls=[{"name": "meter_reading", "args": {"room": room}, "id": f"call_{room}"}])
        return ChatResult(generations=[ChatGeneration(message=answer)])


with Contextd() as client:
    middleware = ContextdMiddleware(client, settings={"context_window": 3000})
    agent = create_agent(PlayedModel(), [meter_reading], middleware=[middleware], checkpointer=InMemorySaver())
    for n in range(20):
        asked = HumanMessage(f"What does the meter in room-{n} show?")
        answer = agent.invoke({"messages": [asked]}, {"configurable": {"thread_id": "meters-langchain"}})
        print(answer["messages"][-1].text)
    session_id = client.sessions.get_or_create("meters-langchain")["id"]
    done = [its for its in client.compactions.list(session_id) if its["status"] == "succeeded"]
    first = client.tool_calls.get(session_id, "call_room-0")
    print(f"After {len(done)} compactions contextd still has it whole: {first.get('result_text')}")
