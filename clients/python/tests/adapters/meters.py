"""What the adapters' tests talk about: turn by turn a meter is read, in a window that is soon too small."""

from __future__ import annotations

import re

import anyio

from contextd import AsyncContextd
from contextd.types import SettingsPatch

TURNS = 30
# How the service marks a summary, in whatever words it stands.
SUMMARY = "<context-summary>"
SETTINGS: SettingsPatch = {"context_window": 3000, "reserve_tokens": 500, "keep_recent_tokens": 300}


def reading(room: str) -> int:
    return 7919 * int(room.removeprefix("room-"))


def shows(room: str) -> str:
    """What the tool gives."""
    return f"The meter in {room} shows {reading(room)} kWh. " + "It was checked and found in order. " * 20


def tells(result: str) -> str:
    """What a model makes of it."""
    return f"That is {re.findall(r'shows ([0-9]+)', result)[0]}. " + "Nothing else to report. " * 10


async def at_rest(client: AsyncContextd, session_id: str) -> None:
    """Waits until no compaction is being made: a real model takes longer than one, a played one no time at all."""
    for _ in range(600):
        made = [its async for its in client.compactions.list(session_id)]
        if all(its["status"] not in ("queued", "running") or its.get("prepared") for its in made):
            return
        await anyio.sleep(0.05)
    raise AssertionError("a compaction never ends")
