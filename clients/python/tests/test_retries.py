"""Calls are tried again where that may help, act once, and end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import contextd
from contextd import Contextd
from contextd._sync import transport

Answer = httpx.Response | httpx.TransportError

OK = httpx.Response(200, json={"status": "ok"})
LOST = httpx.ReadTimeout("no answer")


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    body = {"type": f"urn:contextd:{code}", "title": code, "status": status, "detail": "why", "code": code}
    kind = {"content-type": "application/problem+json"}
    return httpx.Response(
        status, json=body, headers={**kind, **{its.replace("_", "-"): headers[its] for its in headers}}
    )


class Service:
    """A played service: gives its answers one after the other, then 503 for good."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.sent: list[httpx.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        answer = self.answers.pop(0) if self.answers else problem(503, "unavailable")
        if isinstance(answer, httpx.TransportError):
            raise answer
        return answer

    def keys(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.sent]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    service = Service()
    monkeypatch.setattr(transport, "sleep", service.pauses.append)
    return service


@pytest.fixture
def client(service: Service) -> Iterator[Contextd]:
    with httpx.Client(transport=httpx.MockTransport(service)) as http:
        yield Contextd("http://service", http_client=http)


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.RemoteProtocolError("cut off"),
        LOST,
        problem(408, "body_timeout"),
        problem(409, "idempotency_in_progress", retry_after="1"),
        problem(429, "queue_full", retry_after="1"),
        problem(500, "internal_error"),
        httpx.Response(502, text="<html>"),
        problem(503, "outcome_unknown"),
    ],
    ids=str,
)
def test_passing_failures_are_tried_again(service: Service, client: Contextd, failure: Answer) -> None:
    service.answers = [failure, failure, OK]
    assert client.health() == {"status": "ok"}
    assert len(service.sent) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_others_are_not(service: Service, client: Contextd, status: int) -> None:
    service.answers = [problem(status, "leaf_moved")]
    with pytest.raises(contextd.APIStatusError):
        client.health()
    assert len(service.sent) == 1


def test_a_write_is_sent_again_as_it_was(service: Service, client: Contextd) -> None:
    service.answers = [LOST, problem(503, "unavailable"), httpx.Response(201, json={})]
    client.sessions.append("s", format="openai_chat", items=[{"role": "user", "content": "Ünïcode"}])
    [key] = set(service.keys())
    assert key
    assert {request.content for request in service.sent} == {
        '{"format":"openai_chat","items":[{"role":"user","content":"Ünïcode"}]}'.encode()
    }


def test_every_write_has_a_key_of_its_own(service: Service, client: Contextd) -> None:
    writes: list[Callable[[], Any]] = [
        lambda: client.sessions.create(),
        lambda: client.sessions.create(),
        lambda: client.sessions.put_transcript("s", format="native", items=[]),
        lambda: client.sessions.get("s"),
        lambda: client.sessions.update("s", title=None),
        lambda: client.sessions.delete("s"),
    ]
    service.answers = [httpx.Response(200, json={}) for _ in writes]
    for write in writes:
        write()
    keys = service.keys()
    assert len(set(keys[:3])) == 3 and None not in keys[:3]
    assert keys[3:] == [None, None, None]


def test_a_key_may_be_given(service: Service, client: Contextd) -> None:
    service.answers = [httpx.Response(201, json={}), httpx.Response(201, json={})]
    client.with_options(idempotency_key="turn-7").sessions.create()
    client.sessions.create()
    assert service.keys()[0] == "turn-7" != service.keys()[1]


def test_tries_end(service: Service, client: Contextd) -> None:
    with pytest.raises(contextd.UnavailableError):
        client.health()
    assert len(service.sent) == 6
    assert all(0 < pause <= 8 for pause in service.pauses)
    with pytest.raises(contextd.UnavailableError):
        client.with_options(max_retries=0).health()
    assert len(service.sent) == 7


def test_pauses_grow_and_have_an_end(service: Service, client: Contextd) -> None:
    with pytest.raises(contextd.UnavailableError):
        client.with_options(max_retries=12).health()
    floors = [min(8.0, 0.25 * 2**n) / 2 for n in range(12)]
    assert all(floor <= pause <= 2 * floor for floor, pause in zip(floors, service.pauses, strict=True))


def test_the_service_says_when(service: Service, client: Contextd) -> None:
    service.answers = [problem(503, "unavailable", retry_after="17"), OK]
    client.health()
    assert service.pauses == [17]


def test_nobody_waits_for_long(service: Service, client: Contextd) -> None:
    service.answers = [problem(429, "queue_full", retry_after="3600"), OK]
    with pytest.raises(contextd.RateLimitError) as raised:
        client.health()
    assert raised.value.retry_after == 3600
    assert service.pauses == []


def test_what_an_earlier_try_deleted_is_deleted(service: Service, client: Contextd) -> None:
    service.answers = [LOST, problem(404, "not_found")]
    client.sessions.delete("s")
    service.answers = [problem(404, "not_found")]
    with pytest.raises(contextd.NotFoundError):
        client.sessions.delete("s")


def test_a_message_of_mcp_goes_once(service: Service, client: Contextd) -> None:
    with pytest.raises(contextd.UnavailableError):
        client.mcp({"jsonrpc": "2.0", "method": "ping", "id": 1})
    assert len(service.sent) == 1


def test_a_call_that_waits_may_take_longer(service: Service, client: Contextd) -> None:
    service.answers = [httpx.Response(200, json={}), httpx.Response(200, json={})]
    patient = client.with_options(timeout=10)
    patient.sessions.compact("s", wait=100)
    patient.sessions.compact("s")
    assert [request.extensions["timeout"]["read"] for request in service.sent] == [110, 10]


def test_an_export_starts_again_only_from_its_beginning(service: Service, client: Contextd) -> None:
    class CutOff(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b'{"n":1}\n{"n"'
            raise httpx.ReadError("cut off")

    kind = {"content-type": "application/x-ndjson"}
    service.answers = [LOST, httpx.Response(200, content=b'{"n":1}\n{"n":2}\n', headers=kind)]
    assert list(client.sessions.export("s", format="pi")) == [{"n": 1}, {"n": 2}]
    service.answers = [httpx.Response(200, stream=CutOff(), headers=kind)]
    with pytest.raises(contextd.APIConnectionError):
        list(client.sessions.export("s", format="pi"))
    assert len(service.sent) == 3


def test_all_clients_create_an_external_id_with_one_key(service: Service, client: Contextd) -> None:
    service.answers = [httpx.Response(200, json={"items": []}), OK]
    client.sessions.get_or_create("Ünïcode/1")
    # The TypeScript client's tests have the same key.
    assert service.keys() == [None, "external-id-80cff09f2ef7bbadae63c91add11111330c171dba505a1565ff922c0bcc9782e"]
