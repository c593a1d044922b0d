"""API keys."""

from __future__ import annotations

from .._call import Call, path
from .._compat import Unpack
from ..types import CreateKey, Key, KeyPage, RotateKey
from .transport import AsyncPager, AsyncResource


class AsyncKeys(AsyncResource):
    """The tenant's API keys, for a key with the scope `admin`."""

    async def create(self, **body: Unpack[CreateKey]) -> Key:
        """Makes a key. This answer alone holds it: where it got lost, rotate the key."""
        return await self._send(Call("POST", "/v1/keys", body))

    async def get(self, key_id: str) -> Key:
        """Tells what a key may do, without its text."""
        return await self._send(Call("GET", path("/v1/keys/{}", key_id)))

    def list(self, *, limit: int | None = None, after: str | None = None) -> AsyncPager[Key, KeyPage]:
        """Lists keys, the newest first."""
        query = {"limit": limit, "after": after}
        return AsyncPager(self._transport, Call("GET", "/v1/keys", query=query))

    async def rotate(self, key_id: str, **body: Unpack[RotateKey]) -> Key:
        """Makes a key that takes another's place, which goes on for `grace_seconds`."""
        return await self._send(Call("POST", path("/v1/keys/{}/rotate", key_id), body))

    async def revoke(self, key_id: str) -> None:
        """Ends a key for good."""
        await self._send(Call[None]("DELETE", path("/v1/keys/{}", key_id)))
