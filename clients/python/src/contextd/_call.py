"""Calls: what is sent and how the answer is read, without sending anything."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote

import httpx

from ._errors import InvalidResponseError
from ._version import __version__

T = TypeVar("T")

#: Whose names events have: contextd's own, or the Agent Client Protocol's.
EventNames = Literal["contextd", "acp"]

JSON = "application/json"
NDJSON = "application/x-ndjson"
EVENT_STREAM = "text/event-stream"
DEFAULT_BASE_URL = "http://127.0.0.1:8080"
# The service gives an answer within 120 s, if only to say that it gave up.
DEFAULT_TIMEOUT = httpx.Timeout(130.0, connect=5.0)
DEFAULT_MAX_RETRIES = 5
# A quiet stream has a comment every 15 s.
STREAM_TIMEOUT = 50.0


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, whose answer is a `T`."""

    method: str
    path: str
    body: Mapping[str, object] | None = None
    query: Mapping[str, object] = field(default_factory=dict)
    #: Media types that the answer may have.
    accept: str = JSON
    last_event_id: int | None = None
    #: In place of the client's, or of a new one.
    idempotency_key: str | None = None
    #: Whether it may be sent again where no answer came: it acts once.
    is_repeatable: bool = True

    @property
    def waits(self) -> float:
        """Seconds that the call waits by its own wish, besides what any call takes."""
        wait = (self.body or {}).get("wait")
        return float(wait) if isinstance(wait, (int, float)) else 0.0


@dataclass(frozen=True)
class Config:
    """What all calls of a client have in common."""

    base_url: str
    api_key: str | None = field(repr=False)
    timeout: httpx.Timeout
    max_retries: int
    idempotency_key: str | None = None

    @staticmethod
    def of(
        base_url: str | None, api_key: str | None, timeout: float | httpx.Timeout | None, max_retries: int
    ) -> Config:
        """Arguments, else the environment, else defaults."""
        base_url = base_url or os.environ.get("CONTEXTD_URL") or DEFAULT_BASE_URL
        api_key = api_key or os.environ.get("CONTEXTD_API_KEY") or None
        return Config(_checked_url(base_url), _checked_key(api_key), timeout_of(timeout), max_retries)

    def request_options(self, call: Call[Any]) -> dict[str, Any]:
        """Arguments of `build_request` besides method and URL."""
        options: dict[str, Any] = {"headers": self._headers(call), "timeout": self._timeout(call)}
        if call.query:
            options["params"] = _query(call.query)
        if call.body is not None:
            options["content"] = _json_bytes(call.body)
        return options

    def url(self, call: Call[Any]) -> str:
        return self.base_url + call.path

    def _headers(self, call: Call[Any]) -> dict[str, str]:
        headers = {"Accept": call.accept, "User-Agent": f"contextd-python/{__version__}"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        if call.body is not None:
            headers["Content-Type"] = JSON
        if call.method in ("POST", "PUT"):
            headers["Idempotency-Key"] = call.idempotency_key or self.idempotency_key or str(uuid.uuid4())
        if call.last_event_id is not None:
            headers["Last-Event-ID"] = str(call.last_event_id)
        return headers

    def _timeout(self, call: Call[Any]) -> httpx.Timeout:
        known = self.timeout.as_dict()
        read = STREAM_TIMEOUT if call.accept == EVENT_STREAM else known["read"]
        return httpx.Timeout(**{**known, "read": None if read is None else read + call.waits})


def timeout_of(timeout: float | httpx.Timeout | None) -> httpx.Timeout:
    """Limits of each part of a call; a number is one for each, None is no limit."""
    return timeout if isinstance(timeout, httpx.Timeout) else httpx.Timeout(timeout)


def path(template: str, *segments: str) -> str:
    """The template with each `{}` filled by a segment, whatever characters it has."""
    if not_an_id := {"", ".", ".."}.intersection(segments):
        raise ValueError(f"{not_an_id.pop()!r} in {template}")
    return template.format(*(quote(segment, safe="") for segment in segments))


def read(call: Call[T], response: httpx.Response) -> T:
    """The answer of a successful call."""
    if response.status_code in (202, 204) and not response.content:
        return cast(T, None)
    media_type = response.headers.get("content-type", "").partition(";")[0]
    if not media_type or media_type not in call.accept:
        raise InvalidResponseError(f"{call.method} {call.path} was answered with {media_type or 'no media type'}")
    return cast(T, _json(response.content) if media_type == JSON else response.text)


def _json_bytes(body: Mapping[str, object]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Half a surrogate pair, as cut-off texts have it, is said as JSON says it: \ud83d.
    return text.encode("utf-8", "backslashreplace")


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError as error:
        raise InvalidResponseError("an answer that is not JSON") from error


def _query(query: Mapping[str, object]) -> dict[str, str]:
    words: dict[str, str] = {}
    for name, value in query.items():
        if isinstance(value, Mapping):
            words |= {f"{name}[{key}]": _word(its) for key, its in value.items()}
        elif value is not None:
            words[name] = _word(value)
    return words


def _word(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _checked_url(base_url: str) -> str:
    url = httpx.URL(base_url)
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise ValueError("base_url must be http:// or https:// with a host and without user and password")
    return base_url.rstrip("/")


def _checked_key(api_key: str | None) -> str | None:
    # Refused here: what a header can't hold would be shown, secret and all, by the error further down.
    if api_key is not None and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ValueError("api_key must be of visible ASCII characters")
    return api_key
