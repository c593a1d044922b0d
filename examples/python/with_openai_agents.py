"""An agent of the OpenAI Agents SDK with a small window, whose history contextd keeps. The model is played."""

import asyncio
import re
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from contextd import AsyncContextd
from contextd.openai_agents import ContextdSession


@function_tool
def meter_reading(room: str) -> str:
    """Reads a room's meter."""
    return f"The meter in {room} shows {7919 * int(room[5:])} kWh. " + "It was checked and found in order. " * 20


class PlayedModel(Model):
    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> ModelResponse:
        last = input[-1]
        if last.get("type") == "function_call_output":
            [shown] = re.findall(r"shows \d+ kWh", last["output"])
            text = ResponseOutputText(type="output_text", text=f"It {shown}.", annotations=[])
            said: Any = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            [room] = re.findall(r"room-\d+", last["content"])
            said = ResponseFunctionToolCall(
                type="function_call", call_id=f"call_{room}", name="meter_reading", arguments=f'{{"room": "{room}"}}'
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    agent = Agent(name="Janitor", instructions="Read meters.", model=PlayedModel(), tools=[meter_reading])
    async with AsyncContextd() as client:
        session = ContextdSession("meters-openai-agents", client, settings={"context_window": 3000})
        for n in range(20):
            asked, config = f"What does the meter in room-{n} show?", RunConfig(tracing_disabled=True)
            print((await Runner.run(agent, asked, session=session, run_config=config)).final_output)
        session_id = await session.contextd_id()
        done = [its async for its in client.compactions.list(session_id) if its["status"] == "succeeded"]
        first = await client.tool_calls.get(session_id, "call_room-0")
        print(f"After {len(done)} compactions contextd still has it whole: {first.get('result_text')}")


asyncio.run(main())
