"""Streams are read at any border of chunks, and taken up again where they broke."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import httpx
import pytest

import contextd
from contextd import Contextd, ServerSentEvent
from contextd._lines import EventDecoder, LineDecoder
from contextd._sync import transport

STREAM = (
    ': a comment\n\nretry: 1000\nevent: snapshot\nid: 7\ndata: {"text": "a\u2028b\x85c"}\n\n'
    "event: ready\ndata: {}\n\nevent: cut-off\nid: 8\ndata: {"
).encode()
EVENTS = [ServerSentEvent("snapshot", {"text": "a\u2028b\x85c"}, 7), ServerSentEvent("ready", {}, None)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_events_come_whole(size: int, end: bytes) -> None:
    decoder, stream = EventDecoder(), STREAM.replace(b"\n", end)
    chunks = (stream[at : at + size] for at in range(0, len(stream), size))
    assert [event for chunk in chunks for event in decoder.feed(chunk)] == EVENTS


def test_lines_end_at_line_feeds_alone() -> None:
    decoder = LineDecoder()
    assert list(decoder.feed('{"a":"\u2029\x0b'.encode())) == []
    assert list(decoder.feed('é"}\n\n{'.encode())) == ['{"a":"\u2029\x0bé"}', ""]
    assert list(decoder.feed(b"}\n")) == ["{}"]


class Breaking(httpx.SyncByteStream):
    """A stream that breaks behind its chunks, or just ends."""

    def __init__(self, *chunks: bytes, breaks: bool = True) -> None:
        self.chunks = chunks
        self.breaks = breaks
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.chunks
        if self.breaks:
            raise httpx.ReadError("cut off")

    def close(self) -> None:
        self.closed = True


def event(position: int) -> bytes:
    return b'event: snapshot\nid: %d\ndata: {"n":%d}\n\n' % (position, position)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr(transport, "sleep", pauses.append)
    return pauses


def played(serve: Callable[[httpx.Request], httpx.Response]) -> Contextd:
    return Contextd("http://service", http_client=httpx.Client(transport=httpx.MockTransport(serve)))


def test_a_broken_stream_is_taken_up_behind_the_last_event(pauses: list[float]) -> None:
    answers = iter(
        [
            httpx.Response(200, stream=Breaking(event(1), event(2)[:-1])),
            httpx.Response(503),
            httpx.Response(200, stream=Breaking(event(2), b"event: snapshot\ndata: {}\n\n", breaks=False)),
            httpx.Response(200, stream=Breaking(event(3))),
        ]
    )
    asked: list[str | None] = []

    def serve(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("last-event-id"))
        return next(answers)

    stream = played(serve).sessions.events("s")
    assert [next(stream).id for _ in range(4)] == [1, 2, None, 3]
    assert asked == [None, "1", "1", "2"]
    assert len(pauses) == 3


def test_a_stream_begins_where_it_is_told(pauses: list[float]) -> None:
    asked: list[tuple[str | None, str]] = []

    def serve(request: httpx.Request) -> httpx.Response:
        asked.append((request.headers.get("last-event-id"), request.url.query.decode()))
        return httpx.Response(200, stream=Breaking(event(42)))

    assert next(played(serve).events(last_event_id=0)).id == 42
    assert next(played(serve).sessions.events("s", names="acp")).id == 42
    assert asked == [("0", ""), (None, "names=acp")]


def test_a_stream_that_gives_nothing_is_given_up(pauses: list[float]) -> None:
    def serve(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Breaking(breaks=False))

    with pytest.raises(contextd.APIConnectionError, match="the stream has ended"):
        next(played(serve).events())
    assert len(pauses) == 5


def test_a_quiet_stream_that_lives_is_followed_for_ever(pauses: list[float]) -> None:
    tries = 0

    def serve(_: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        return httpx.Response(200, stream=Breaking(event(1) if tries == 20 else b": alive\n\n"))

    assert next(played(serve).events()).id == 1


def test_a_session_that_is_gone_ends_it(pauses: list[float]) -> None:
    answers = iter([httpx.Response(200, stream=Breaking(event(1), breaks=False)), httpx.Response(404)])
    stream = played(lambda _: next(answers)).sessions.events("s")
    assert next(stream).id == 1
    with pytest.raises(contextd.NotFoundError):
        next(stream)


def test_who_stops_reading_closes_the_connection() -> None:
    body = Breaking(event(1), event(2))
    with closing(played(lambda _: httpx.Response(200, stream=body)).events()) as stream:
        next(stream)
        assert not body.closed
    assert body.closed
