"""Errors say what the service said, and no secret."""

from __future__ import annotations

import logging
import pickle
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import httpx
import pytest

import contextd
from contextd import Contextd
from contextd._errors import status_error

PROBLEM = {
    "type": "urn:contextd:problem:validation_failed",
    "title": "Validation failed",
    "status": 422,
    "detail": "the request is not valid",
    "code": "validation_failed",
    "errors": [{"pointer": "/items/0/role", "detail": "is missing"}, {"pointer": "/format", "detail": "is unknown"}],
    "request_id": "r-1",
    "limit": 7,
}


def answer(status: int, body: object, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={"content-type": "application/problem+json", **headers})


def test_members_of_the_problem() -> None:
    error = status_error(answer(422, PROBLEM))
    assert isinstance(error, contextd.InvalidRequestError)
    assert (error.status, error.code, error.title) == (422, "validation_failed", "Validation failed")
    assert error.pointer == "/items/0/role"
    assert error.request_id == "r-1"
    assert error.problem["limit"] == 7
    assert str(error) == (
        "422 validation_failed: the request is not valid (/items/0/role: is missing; /format: is unknown)"
    )


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, contextd.InvalidRequestError),
        (401, contextd.AuthenticationError),
        (404, contextd.NotFoundError),
        (409, contextd.ConflictError),
        (429, contextd.RateLimitError),
        (500, contextd.ServerError),
        (503, contextd.UnavailableError),
        (418, contextd.APIStatusError),
        (302, contextd.APIStatusError),
    ],
)
def test_class_of_a_status(status: int, kind: type[Exception]) -> None:
    assert type(status_error(answer(status, PROBLEM))) is kind


@pytest.mark.parametrize("content", [b"<html>" + b"x" * 10_000, b"", b"[]", b"{", b"\xff"])
@pytest.mark.parametrize(
    "media_type", ["text/html", "application/problem+json", "application/problem+json; charset=utf-8"]
)
def test_an_answer_of_somebody_else(content: bytes, media_type: str) -> None:
    error = status_error(httpx.Response(502, content=content, headers={"content-type": media_type}))
    assert isinstance(error, contextd.ServerError)
    assert error.code is None and error.pointer is None
    assert len(str(error)) < 300


def test_somebody_elses_success() -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(200, html="<p>log in"))
    with httpx.Client(transport=page) as http, pytest.raises(contextd.InvalidResponseError):
        Contextd("http://service", http_client=http).health()


def test_retry_after() -> None:
    def seconds(text: str) -> float | None:
        return status_error(answer(503, PROBLEM, **{"retry-after": text})).retry_after

    assert seconds("2") == 2
    assert seconds("soon") is None
    assert seconds("-1") is None
    assert 50 < (seconds(format_datetime(datetime.now(timezone.utc) + timedelta(minutes=1), usegmt=True)) or 0) <= 60
    assert seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_errors_go_to_other_processes() -> None:
    error = pickle.loads(pickle.dumps(status_error(answer(422, PROBLEM))))
    assert isinstance(error, contextd.InvalidRequestError)
    assert error.pointer == "/items/0/role"
    assert str(error).startswith("422")


SECRET = "ctx_very-secret"


def test_no_secret_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == f"Bearer {SECRET}"
        raise httpx.ConnectError("refused")

    caplog.set_level(logging.DEBUG)
    with httpx.Client(transport=httpx.MockTransport(refuse)) as http:
        client = Contextd("http://service/base/", SECRET, http_client=http, max_retries=1)
        with pytest.raises(contextd.APIConnectionError) as raised:
            client.health()
    shown = [repr(client), repr(vars(client._transport)), repr(raised.value), str(raised.value), caplog.text]
    assert "trying again" in caplog.text
    assert not any(SECRET in text for text in shown)
    assert repr(client) == "Contextd(base_url='http://service/base')"


@pytest.mark.parametrize("key", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}é", f"{SECRET}\x00"])
def test_a_key_that_no_header_holds_is_refused_unseen(key: str) -> None:
    with pytest.raises(ValueError) as raised:
        Contextd("http://service", key)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("url", ["service:8080", "ftp://service", "http://", f"http://me:{SECRET}@service"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError) as raised:
        Contextd(url)
    assert SECRET not in str(raised.value)


def test_the_environment_says_where_and_who(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[httpx.Request] = []

    def keep(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={})

    monkeypatch.setenv("CONTEXTD_URL", "http://there:1/base/")
    monkeypatch.setenv("CONTEXTD_API_KEY", "theirs")
    with httpx.Client(transport=httpx.MockTransport(keep)) as http:
        Contextd(http_client=http).health()
        Contextd("http://here", "mine", http_client=http).health()
        monkeypatch.setenv("CONTEXTD_API_KEY", "")
        monkeypatch.delenv("CONTEXTD_URL")
        Contextd(http_client=http).health()
    said = [(str(request.url), request.headers.get("authorization")) for request in sent]
    assert said == [
        ("http://there:1/base/healthz", "Bearer theirs"),
        ("http://here/healthz", "Bearer mine"),
        ("http://127.0.0.1:8080/healthz", None),
    ]


@pytest.mark.parametrize("given", ["../hooks", "a/b", "a?x=1", "a#b", "é", "%2e"])
def test_an_id_is_one_segment(given: str) -> None:
    sent: list[httpx.Request] = []

    def keep(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={})

    with httpx.Client(transport=httpx.MockTransport(keep)) as http:
        Contextd("http://service", http_client=http).sessions.get(given)
    assert sent[0].url.raw_path.count(b"/") == 3
    assert not sent[0].url.query


@pytest.mark.parametrize("given", ["", ".", ".."])
def test_what_would_name_something_else_is_refused(given: str) -> None:
    with pytest.raises(ValueError):
        Contextd("http://service").sessions.delete(given)
