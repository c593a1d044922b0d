"""Plays the program `claude` for its SDK: tells what meters show, and of earlier rooms what its transcript says."""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


class PlayedClaude:
    """A session, whose transcript is a file that the SDK is told of line by line."""

    def __init__(self, arguments: list[str]) -> None:
        resumed = [its.removeprefix("--resume=") for its in arguments if its.startswith("--resume=")]
        given = [its.removeprefix("--session-id=") for its in arguments if its.startswith("--session-id=")]
        [self.session_id] = resumed or given
        project = re.sub(r"[^a-zA-Z0-9]", "-", os.path.realpath("."))
        self.file = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", project, f"{self.session_id}.jsonl")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.touch()

    def take(self, said: Entry) -> None:
        """Answers a line of the SDK's."""
        if said["type"] == "control_request":
            response = {"subtype": "success", "request_id": said["request_id"], "response": {}}
            say({"type": "control_response", "response": response})
        elif said["type"] == "user":
            self.answer(said["message"]["content"])

    def answer(self, question: str) -> None:
        [room] = re.findall(r"room-\d+", question)
        earlier = re.search(rf"in {room} shows (\d+)", self.file.read_text())
        self.write({"type": "mode", "mode": "normal", "sessionId": self.session_id})
        self.message("user", question)
        shown = f"The meter in {room} shows {7919 * int(room.removeprefix('room-'))} kWh. "
        if not earlier:
            use = {"type": "tool_use", "id": f"toolu_{room}", "name": "meter_reading", "input": {"room": room}}
            self.message("assistant", [{"type": "thinking", "thinking": "I look.", "signature": "c2ln"}])
            self.message("assistant", [use])
            text = shown + "It was checked and found in order. " * 20
            result = {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": text}]}
            self.message("user", [result], toolUseResult={"stdout": text, "exact": 0.1, "none": None})
        told = earlier.group(1) if earlier else re.findall(r"shows (\d+)", shown)[0]
        self.message("assistant", [{"type": "text", "text": f"That is {told}. " + "Nothing else to report. " * 10}])
        say(RESULT | {"session_id": self.session_id, "result": f"That is {told}."})

    def message(self, role: str, content: Any, **more: Any) -> None:
        """Writes a message down and tells it."""
        message: Entry = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"msg_{uuid.uuid4()}", "model": "played", "type": "message", "stop_reason": None}
        said = {"type": role, "message": message, "uuid": str(uuid.uuid4())}
        lines = self.file.read_text().splitlines()
        parents = [its["uuid"] for its in map(json.loads, lines) if "uuid" in its]
        names = {"sessionId": self.session_id, "parentUuid": parents[-1] if parents else None, "isSidechain": False}
        self.write(said | names | {"timestamp": "2026-11-23T12:00:00.000Z", "cwd": os.getcwd()} | more)
        say(said | {"session_id": self.session_id, "parent_tool_use_id": None})

    def write(self, entry: Entry) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        say({"type": "transcript_mirror", "filePath": str(self.file), "entries": [entry]})


RESULT: Entry = {
    "type": "result",
    "subtype": "success",
    "duration_ms": 1,
    "duration_api_ms": 1,
    "is_error": False,
    "num_turns": 1,
}


def say(line: Entry) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    played = PlayedClaude(sys.argv[1:])
    for line in sys.stdin:
        played.take(json.loads(line))
