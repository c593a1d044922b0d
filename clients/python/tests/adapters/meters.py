"""What the adapters' tests talk about: turn by turn a meter is read, in a window that is soon too small."""

from __future__ import annotations

import re

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
