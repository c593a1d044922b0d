"""An agent of Pydantic AI's with a small window, whose history contextd keeps. The model is played."""

import asyncio
import re

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from contextd import AsyncContextd
from contextd.pydantic_ai import ContextdHistory


def meter_reading(room: str) -> str:
    """Reads a room's meter."""
    return f"The meter in {room} shows {7919 * int(room[5:])} kWh. " + "It was checked and found in order. " * 20


def played(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        [shown] = re.findall(r"shows \d+ kWh", str(last.content))
        return ModelResponse([TextPart(f"It {shown}.")])
    assert isinstance(last, UserPromptPart)
    [room] = re.findall(r"room-\d+", str(last.content))
    return ModelResponse([ToolCallPart("meter_reading", {"room": room}, f"call_{room}")])


async def main() -> None:
    async with AsyncContextd() as client:
        history = ContextdHistory(client, settings={"context_window": 3000})
        agent = Agent(FunctionModel(played), tools=[meter_reading], capabilities=[history])
        messages: list[ModelMessage] = []
        for n in range(20):
            asked = f"What does the meter in room-{n} show?"
            result = await agent.run(asked, message_history=messages, conversation_id="meters-pydantic-ai")
            messages = result.all_messages()
            print(result.output)
        session_id = (await client.sessions.get_or_create("meters-pydantic-ai"))["id"]
        done = [its async for its in client.compactions.list(session_id) if its["status"] == "succeeded"]
        first = await client.tool_calls.get(session_id, "call_room-0")
        print(f"After {len(done)} compactions contextd still has it whole: {first.get('result_text')}")


asyncio.run(main())
