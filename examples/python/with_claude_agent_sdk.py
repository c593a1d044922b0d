#!/usr/bin/env python3
"""A session of the Claude Agent SDK that lives in contextd alone. The program `claude` is played, by this file."""

import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any
from uuid import uuid4


def play(session_id: str) -> None:
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", re.sub("[^a-zA-Z0-9]", "-", os.path.realpath(".")))
    transcript = folder / f"{session_id}.jsonl"
    for line in map(json.loads, sys.stdin):
        if line["type"] == "control_request":
            response = {"subtype": "success", "request_id": line["request_id"], "response": {}}
            print(json.dumps({"type": "control_response", "response": response}), flush=True)
            continue
        [room] = re.findall(r"room-\d+", line["message"]["content"])
        known = re.findall(rf"{room} shows \d+ kWh", transcript.read_text() if transcript.exists() else "")
        told = f"As I said, {known[0]}." if known else f"The meter in {room} shows {7919 * int(room[5:])} kWh."
        answer = {"role": "assistant", "content": [{"type": "text", "text": told + " It is in order." * 40}]}
        said = [{"type": "user", "message": line["message"]}, {"type": "assistant", "message": answer}]
        entries = [its | {"uuid": str(uuid4()), "sessionId": session_id} for its in said]
        print(json.dumps({"type": "transcript_mirror", "filePath": str(transcript), "entries": entries}))
        done = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "is_error": False, "session_id": session_id}
        print(json.dumps({"type": "result", "subtype": "success", "result": told, **done}), flush=True)


async def main() -> None:
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, project_key_for_directory, query

    from contextd import AsyncContextd
    from contextd.claude_agent_sdk import ContextdSessionStore

    async with AsyncContextd() as client:
        store, session_id = ContextdSessionStore(client, settings={"context_window": 3000}), str(uuid4())
        which: Any = {"session_id": session_id}
        for room in [*range(20), 0]:
            with tempfile.TemporaryDirectory() as config:  # as on another machine each time
                which |= {"cli_path": __file__, "env": {"CLAUDE_CONFIG_DIR": config}, "session_store": store}
                asked = query(prompt=f"What does the meter in room-{room} show?", options=ClaudeAgentOptions(**which))
                async for message in asked:
                    print(message.result if isinstance(message, ResultMessage) else "")
            which = {"resume": session_id}
        its_id = await store.contextd_id({"project_key": project_key_for_directory(), "session_id": session_id})
        done = [its async for its in client.compactions.list(its_id) if its["status"] == "succeeded"]
        print(f"After {len(done)} compactions contextd still has all entries.")


named = [its.partition("=")[2] for its in sys.argv if its.startswith(("--session-id=", "--resume="))]
play(named[0]) if named else asyncio.run(main())
