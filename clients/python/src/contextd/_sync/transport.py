# Written by generate.py from _async/transport.py.
"""Sending: tries, streams and pages."""

from __future__ import annotations

import json
import logging
from time import sleep
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar, cast

import httpx

from .._call import Call, Config, read
from .._errors import APIConnectionError, ContextdError, NotFoundError, connection_error, status_error
from .._lines import EventDecoder, LineDecoder, ServerSentEvent
from .._retry import Tries

T = TypeVar("T")
PageT = TypeVar("PageT", bound=Mapping[str, Any])

logger = logging.getLogger("contextd")


class Transport:
    """What sends calls."""

    def __init__(self, config: Config, http: httpx.Client) -> None:
        self.config = config
        self.http = http

    def send(self, call: Call[T]) -> T:
        """The answer of a call, which is tried again where that may help."""
        request = self.http.build_request(call.method, self.config.url(call), **self.config.request_options(call))
        tries = self._tries(call)
        while True:
            try:
                return read(call, self._answer(request))
            except NotFoundError:
                if call.method == "DELETE" and tries.failed:
                    return cast(T, None)  # An earlier try has done it.
                raise
            except ContextdError as failure:
                self._pause(call, tries, failure)

    def lines(self, call: Call[Iterator[T]]) -> Generator[T, None, None]:
        """The JSON lines of an answer. It is not taken up again once a line has come."""
        tries = self._tries(call)
        while True:
            decoder = LineDecoder()
            try:
                with self._stream(call) as response:
                    for chunk in response.iter_bytes():
                        for line in decoder.feed(chunk):
                            tries = Tries(0)
                            yield json.loads(line)
                return
            except ContextdError as failure:
                self._pause(call, tries, failure)

    def events(self, call: Call[Iterator[ServerSentEvent]]) -> Generator[ServerSentEvent, None, None]:
        """The events of a stream, which is taken up again behind the last one whenever it breaks."""
        tries = self._tries(call)
        while True:
            decoder = EventDecoder()
            try:
                with self._stream(call) as response:
                    for chunk in response.iter_bytes():
                        tries.succeeded()
                        for event in decoder.feed(chunk):
                            if event.id is not None:
                                call = replace(call, last_event_id=event.id)
                            yield event
                failure: ContextdError = APIConnectionError("the stream has ended")
            except ContextdError as error:
                failure = error
            self._pause(call, tries, failure)

    def _tries(self, call: Call[Any]) -> Tries:
        return Tries(self.config.max_retries if call.is_repeatable else 0)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        try:
            response = self.http.send(request)
        except httpx.RequestError as error:
            raise connection_error(error) from error
        if not response.is_success:
            raise status_error(response)
        return response

    @contextmanager
    def _stream(self, call: Call[Any]) -> Iterator[httpx.Response]:
        url, options = self.config.url(call), self.config.request_options(call)
        try:
            with self.http.stream(call.method, url, **options) as response:
                if not response.is_success:
                    response.read()
                    raise status_error(response)
                yield response
        except httpx.RequestError as error:
            raise connection_error(error) from error

    def _pause(self, call: Call[Any], tries: Tries, failure: ContextdError) -> None:
        pause = tries.pause(failure)
        logger.info("%s %s: %s; trying again in %.2f s", call.method, call.path, failure, pause)
        sleep(pause)


class Pager(Generic[T, PageT]):
    """A list, asked for page by page as it is iterated over."""

    def __init__(self, transport: Transport, call: Call[PageT]) -> None:
        self._transport = transport
        self._call = call

    def __iter__(self) -> Generator[T, None, None]:
        for page in self.pages():
            for item in page["items"]:
                yield item

    def pages(self) -> Generator[PageT, None, None]:
        """The pages as they came, with `next_cursor`."""
        call = self._call
        while True:
            page = self._transport.send(call)
            yield page
            if (cursor := page.get("next_cursor")) is None:
                return
            call = replace(call, query={**call.query, "after": cursor})


class Resource:
    """A group of calls."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._send = transport.send
