"""Exceptions, and what of an answer they are made from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

# A conflict that is over by itself.
_PASSING_CONFLICTS = frozenset({"idempotency_in_progress", "in_progress"})
_SHOWN_CHARS = 200


class ContextdError(Exception):
    """Any failure of a call."""

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed a little later."""
        return False


class APIConnectionError(ContextdError):
    """No answer came, or not all of it."""

    @property
    def is_transient(self) -> bool:
        return True


class APITimeoutError(APIConnectionError):
    """No answer came in time."""


class InvalidResponseError(ContextdError):
    """A successful answer that contextd does not give: somebody else answered."""


class APIStatusError(ContextdError):
    """An answer with an error status: the members of its `application/problem+json` body."""

    def __init__(self, response: httpx.Response) -> None:
        body = _problem(response)
        self.status: int = response.status_code
        self.code: str | None = body.get("code")
        self.title: str = body.get("title") or response.reason_phrase
        self.detail: str = body.get("detail") or response.text[:_SHOWN_CHARS]
        self.errors: list[dict[str, str]] = body.get("errors") or []
        self.request_id: str | None = body.get("request_id") or response.headers.get("x-request-id")
        self.retry_after: float | None = _seconds(response.headers.get("retry-after"))
        #: The whole body: some codes add figures.
        self.problem: Mapping[str, Any] = body
        super().__init__(self._text())

    @property
    def pointer(self) -> str | None:
        """JSON pointer to the first fault of the request."""
        return self.errors[0]["pointer"] if self.errors else None

    @property
    def is_transient(self) -> bool:
        return self.status in (408, 429) or self.status >= 500 or self.code in _PASSING_CONFLICTS

    def _text(self) -> str:
        faults = "; ".join(f"{fault['pointer']}: {fault['detail']}" for fault in self.errors)
        text = f"{self.status} {self.code or self.title}: {self.detail}"
        return f"{text} ({faults})" if faults else text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class InvalidRequestError(APIStatusError):
    """The request is not valid (400, 405, 413, 415, 422): see `errors`."""


class AuthenticationError(APIStatusError):
    """No key, or one that does not allow this (401, 403)."""


class NotFoundError(APIStatusError):
    """There is no such thing, or it belongs to somebody else (404)."""


class ConflictError(APIStatusError):
    """The state is not what the call needs (409)."""


class RateLimitError(APIStatusError):
    """Too much at once (429): see `retry_after`."""


class ServerError(APIStatusError):
    """A fault of the service (5xx)."""


class UnavailableError(ServerError):
    """The service can't answer right now (503): see `retry_after`."""


_CLASSES: Mapping[int, type[APIStatusError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFoundError,
    405: InvalidRequestError,
    409: ConflictError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    422: InvalidRequestError,
    429: RateLimitError,
    503: UnavailableError,
}


def status_error(response: httpx.Response) -> APIStatusError:
    """The exception for an answer whose body has been read."""
    fallback = ServerError if response.status_code >= 500 else APIStatusError
    return _CLASSES.get(response.status_code, fallback)(response)


def connection_error(error: httpx.RequestError) -> APIConnectionError:
    """The exception for a request that got no whole answer."""
    kind = APITimeoutError if isinstance(error, httpx.TimeoutException) else APIConnectionError
    return kind(f"{type(error).__name__}: {error}")


def _problem(response: httpx.Response) -> dict[str, Any]:
    if response.headers.get("content-type", "").partition(";")[0] != "application/problem+json":
        return {}
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _seconds(retry_after: str | None) -> float | None:
    """Seconds that `Retry-After` asks for, as a number or as a date."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())


def _restored(kind: type[APIStatusError], args: tuple[Any, ...], state: dict[str, Any]) -> APIStatusError:
    """An exception that comes out of a pickle, as from another process."""
    error = kind.__new__(kind)
    error.args, error.__dict__ = args, state
    return error
