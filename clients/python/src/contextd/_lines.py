"""Streamed answers, taken apart as they come: lines, and server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ServerSentEvent:
    """An event of a stream. `data` is what `contextd.types` calls `SnapshotEvent`, `CompactionEvent`, …"""

    event: str
    data: Any
    #: Where a later stream goes on behind this event; None: where it would have before.
    id: int | None = None


class LineDecoder:
    """Lines of a stream of bytes. Ends at LF alone: JSON text may hold every other separator that Unicode has."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The lines that end in this chunk."""
        head, end, tail = chunk.rpartition(b"\n")
        if end:
            whole = bytes(self._rest) + head
            self._rest.clear()
            yield from (line.removesuffix(b"\r").decode() for line in whole.split(b"\n"))
        self._rest += tail


class EventDecoder:
    """Events of a stream of bytes. An event that was cut off is not given."""

    def __init__(self) -> None:
        self._lines = LineDecoder()
        self._fields: dict[str, list[str]] = {}

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that end in this chunk."""
        for line in self._lines.feed(chunk):
            if line:
                self._take(line)
            elif event := self._event():
                yield event

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        self._fields.setdefault(name, []).append(value.removeprefix(" "))

    def _event(self) -> ServerSentEvent | None:
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        kind = fields.get("event", ["message"])[-1]
        position = fields.get("id", [""])[-1]
        return ServerSentEvent(kind, json.loads("\n".join(fields["data"])), int(position) if position else None)
