"""The client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any

import httpx

from .._call import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, EVENT_STREAM, JSON, Call, Config, EventNames, timeout_of
from .._compat import Unpack
from .._lines import ServerSentEvent
from ..types import (
    CompactedItems,
    CompactedResponse,
    CompactItems,
    CompactResponse,
    Count,
    CountTokens,
    Health,
    KnownModel,
    KnownModelPage,
    Linted,
    LintItems,
    McpAnswer,
    SearchAllPage,
    SessionHit,
    Stats,
    UpstreamInfo,
    UpstreamInfoPage,
)
from .collections import AsyncChapters, AsyncCompactions, AsyncEntries, AsyncToolCalls
from .hooks import AsyncHooks
from .keys import AsyncKeys
from .sessions import AsyncSessions
from .transport import AsyncPager, AsyncTransport


class AsyncContextd:
    """An asynchronous client of contextd.

    Without arguments, `CONTEXTD_URL` and `CONTEXTD_API_KEY` say where the service is and who asks. A call that got no
    answer, a 408, a 429 or a 5xx is tried again up to `max_retries` times, and acts once: what it writes is sent under
    an idempotency key.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float | httpx.Timeout | None = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        config = Config.of(base_url, api_key, timeout, max_retries)
        http = http_client or httpx.AsyncClient()
        self._owned_http = None if http_client else http
        self._use(AsyncTransport(config, http))

    def _use(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._send = transport.send
        self.sessions = AsyncSessions(transport)
        self.entries = AsyncEntries(transport)
        self.compactions = AsyncCompactions(transport)
        self.tool_calls = AsyncToolCalls(transport)
        self.chapters = AsyncChapters(transport)
        self.hooks = AsyncHooks(transport)
        self.keys = AsyncKeys(transport)

    async def __aenter__(self) -> AsyncContextd:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, but those of an `http_client` that was given."""
        if self._owned_http is not None:
            await self._owned_http.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self._transport.config.base_url!r})"

    def with_options(
        self,
        *,
        timeout: float | httpx.Timeout | None = None,
        max_retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncContextd:
        """The same client over the same connections, for calls with other options.

        An `idempotency_key` of one's own is for one write, sent again after a crash.
        """
        known = self._transport.config
        config = replace(
            known,
            timeout=known.timeout if timeout is None else timeout_of(timeout),
            max_retries=known.max_retries if max_retries is None else max_retries,
            idempotency_key=idempotency_key,
        )
        other = object.__new__(type(self))
        other._owned_http = None
        other._use(AsyncTransport(config, self._transport.http))
        return other

    def events(
        self, *, last_event_id: int | None = None, names: EventNames | None = None
    ) -> AsyncGenerator[ServerSentEvent, None]:
        """Tells what happens to all sessions, without end. See `sessions.events`."""
        query = {"names": names}
        call: Call[Any] = Call("GET", "/v1/events", query=query, accept=EVENT_STREAM, last_event_id=last_event_id)
        return self._transport.events(call)

    async def compact(self, **body: Unpack[CompactItems]) -> CompactedItems:
        """Compacts items of no session and stores nothing."""
        return await self._send(Call("POST", "/v1/compact", body))

    async def compact_response(self, **body: Unpack[CompactResponse]) -> CompactedResponse:
        """Compacts a conversation in the shapes of OpenAI's Responses, the summary sealed, and stores nothing."""
        return await self._send(Call("POST", "/v1/responses/compact", body))

    async def count(self, **body: Unpack[CountTokens]) -> Count:
        """Counts the tokens of items."""
        return await self._send(Call("POST", "/v1/count", body))

    async def lint(self, **body: Unpack[LintItems]) -> Linted:
        """Tells what a provider would refuse of items, and gives a repaired copy."""
        return await self._send(Call("POST", "/v1/lint", body))

    async def stats(self, *, since: str | datetime | None = None, bucket: int | None = None) -> Stats:
        """Gives the tenant at a glance; `bucket` is seconds of its series."""
        return await self._send(Call("GET", "/v1/stats", query={"since": since, "bucket": bucket}))

    def search(
        self, q: str, *, limit: int | None = None, after: str | None = None
    ) -> AsyncPager[SessionHit, SearchAllPage]:
        """Finds entries of all sessions by their text, the newest session first. Pages say how far they looked."""
        query = {"q": q, "limit": limit, "after": after}
        return AsyncPager(self._transport, Call("GET", "/v1/search", query=query))

    async def settings_schema(self) -> dict[str, Any]:
        """Gives the settings of a session as a JSON Schema, with the defaults of this service."""
        return await self._send(Call("GET", "/v1/settings/schema"))

    def upstreams(
        self, *, limit: int | None = None, after: str | None = None
    ) -> AsyncPager[UpstreamInfo, UpstreamInfoPage]:
        """Lists the models that may be asked for summaries."""
        query = {"limit": limit, "after": after}
        return AsyncPager(self._transport, Call("GET", "/v1/upstreams", query=query))

    def models(self, *, limit: int | None = None, after: str | None = None) -> AsyncPager[KnownModel, KnownModelPage]:
        """Lists the models whose windows are known by their names."""
        query = {"limit": limit, "after": after}
        return AsyncPager(self._transport, Call("GET", "/v1/models", query=query))

    async def mcp(self, request: Mapping[str, Any]) -> McpAnswer | None:
        """Sends one message of the Model Context Protocol, once. Agents use an MCP client."""
        accept = f"{JSON}, {EVENT_STREAM}"
        return await self._send(Call("POST", "/mcp", request, accept=accept, is_repeatable=False))

    async def health(self) -> Health:
        """Tells that the process runs."""
        return await self._send(Call("GET", "/healthz"))

    async def ready(self) -> Health:
        """Tells that the service takes calls; `UnavailableError` where it does not."""
        return await self._send(Call("GET", "/readyz"))

    async def metrics(self) -> str:
        """Gives the metrics, as Prometheus reads them."""
        return await self._send(Call("GET", "/metrics", accept="text/plain"))
