# Written by generate.py from _async/keys.py.
"""API keys."""

from __future__ import annotations

from .._call import Call, path
from .._compat import Unpack
from ..types import CreateKey, Key, KeyPage, RotateKey
from .transport import Pager, Resource


class Keys(Resource):
    """The tenant's API keys, for a key with the scope `admin`."""

    def create(self, **body: Unpack[CreateKey]) -> Key:
        """Makes a key. This answer alone holds it: where it got lost, rotate the key."""
        return self._send(Call("POST", "/v1/keys", body))

    def get(self, key_id: str) -> Key:
        """Tells what a key may do, without its text."""
        return self._send(Call("GET", path("/v1/keys/{}", key_id)))

    def list(self, *, limit: int | None = None, after: str | None = None) -> Pager[Key, KeyPage]:
        """Lists keys, the newest first."""
        query = {"limit": limit, "after": after}
        return Pager(self._transport, Call("GET", "/v1/keys", query=query))

    def rotate(self, key_id: str, **body: Unpack[RotateKey]) -> Key:
        """Makes a key that takes another's place, which goes on for `grace_seconds`."""
        return self._send(Call("POST", path("/v1/keys/{}/rotate", key_id), body))

    def revoke(self, key_id: str) -> None:
        """Ends a key for good."""
        self._send(Call[None]("DELETE", path("/v1/keys/{}", key_id)))
