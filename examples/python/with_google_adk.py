"""An agent of Google's ADK, whose compacted events contextd summarizes and keeps. The model is played."""

import asyncio
import re
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, FunctionCall, Part

from contextd import Contextd
from contextd.google_adk import ContextdSummarizer


def meter_reading(room: str) -> str:
    """Reads a room's meter."""
    return f"The meter in {room} shows {7919 * int(room[5:])} kWh. " + "It was checked and found in order. " * 20


class PlayedModel(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = (llm_request.contents[-1].parts or [Part()])[-1]
        if last.function_response:
            part = Part(text=f"It {re.findall(r'shows [0-9]+ kWh', str(last.function_response.response))[0]}.")
        else:
            [room] = re.findall(r"room-\d+", last.text or "")
            part = Part(function_call=FunctionCall(id=f"call_{room}", name="meter_reading", args={"room": room}))
        yield LlmResponse(content=Content(role="model", parts=[part]))


async def main() -> None:
    with Contextd() as client:
        summarizer = ContextdSummarizer(client)
        config = EventsCompactionConfig(summarizer=summarizer, token_threshold=1500, event_retention_size=2)
        agent = LlmAgent(name="janitor", model=PlayedModel(model="played"), tools=[meter_reading])
        app = App(name="meters", root_agent=agent, plugins=[summarizer], events_compaction_config=config)
        runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
        for n in range(20):
            asked = Content(role="user", parts=[Part(text=f"What does the meter in room-{n} show?")])
            async for event in runner.run_async(user_id="ada", session_id="1", new_message=asked):
                print("".join(part.text or "" for part in (event.content and event.content.parts) or ()), end="")
            print()
        session_id = client.sessions.get_or_create("meters/ada/1")["id"]
        done = [its for its in client.compactions.list(session_id) if its["status"] == "succeeded"]
        first = client.tool_calls.get(session_id, "call_room-0")
        print(f"After {len(done)} compactions contextd still has it whole: {first.get('result_text')}")


asyncio.run(main())
