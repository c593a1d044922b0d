"""Hooks."""

from __future__ import annotations

from .._call import Call, path
from .._compat import Unpack
from ..types import CreateHook, Delivery, DeliveryPage, Hook, HookPage, UpdateHook
from .transport import AsyncPager, AsyncResource


class AsyncHooks(AsyncResource):
    """Hooks: URLs that are asked or told what happens to sessions."""

    async def create(self, **body: Unpack[CreateHook]) -> Hook:
        """Creates a hook. No later answer shows its secret."""
        return await self._send(Call("POST", "/v1/hooks", body))

    async def get(self, hook_id: str) -> Hook:
        """Gives a hook."""
        return await self._send(Call("GET", path("/v1/hooks/{}", hook_id)))

    async def update(self, hook_id: str, **body: Unpack[UpdateHook]) -> Hook:
        """Changes what is given."""
        return await self._send(Call("PATCH", path("/v1/hooks/{}", hook_id), body))

    async def delete(self, hook_id: str) -> None:
        """Removes a hook."""
        await self._send(Call[None]("DELETE", path("/v1/hooks/{}", hook_id)))

    def list(self, *, limit: int | None = None, after: str | None = None) -> AsyncPager[Hook, HookPage]:
        """Lists hooks."""
        query = {"limit": limit, "after": after}
        return AsyncPager(self._transport, Call("GET", "/v1/hooks", query=query))

    def deliveries(
        self, hook_id: str, *, limit: int | None = None, after: str | None = None
    ) -> AsyncPager[Delivery, DeliveryPage]:
        """Lists what a hook was sent, newest first."""
        query = {"limit": limit, "after": after}
        return AsyncPager(self._transport, Call("GET", path("/v1/hooks/{}/deliveries", hook_id), query=query))

    async def redeliver(self, hook_id: str, delivery_id: str) -> Delivery:
        """Sends a delivery again."""
        return await self._send(Call("POST", path("/v1/hooks/{}/deliveries/{}/redeliver", hook_id, delivery_id)))
