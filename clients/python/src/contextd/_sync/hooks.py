# Written by generate.py from _async/hooks.py.
"""Hooks."""

from __future__ import annotations

from .._call import Call, path
from .._compat import Unpack
from ..types import CreateHook, Delivery, DeliveryPage, Hook, HookPage, UpdateHook
from .transport import Pager, Resource


class Hooks(Resource):
    """Hooks: URLs that are asked or told what happens to sessions."""

    def create(self, **body: Unpack[CreateHook]) -> Hook:
        """Creates a hook. No later answer shows its secret."""
        return self._send(Call("POST", "/v1/hooks", body))

    def get(self, hook_id: str) -> Hook:
        """Gives a hook."""
        return self._send(Call("GET", path("/v1/hooks/{}", hook_id)))

    def update(self, hook_id: str, **body: Unpack[UpdateHook]) -> Hook:
        """Changes what is given."""
        return self._send(Call("PATCH", path("/v1/hooks/{}", hook_id), body))

    def delete(self, hook_id: str) -> None:
        """Removes a hook."""
        self._send(Call[None]("DELETE", path("/v1/hooks/{}", hook_id)))

    def list(self, *, limit: int | None = None, after: str | None = None) -> Pager[Hook, HookPage]:
        """Lists hooks."""
        query = {"limit": limit, "after": after}
        return Pager(self._transport, Call("GET", "/v1/hooks", query=query))

    def deliveries(
        self, hook_id: str, *, limit: int | None = None, after: str | None = None
    ) -> Pager[Delivery, DeliveryPage]:
        """Lists what a hook was sent, newest first."""
        query = {"limit": limit, "after": after}
        return Pager(self._transport, Call("GET", path("/v1/hooks/{}/deliveries", hook_id), query=query))

    def redeliver(self, hook_id: str, delivery_id: str) -> Delivery:
        """Sends a delivery again."""
        return self._send(Call("POST", path("/v1/hooks/{}/deliveries/{}/redeliver", hook_id, delivery_id)))
