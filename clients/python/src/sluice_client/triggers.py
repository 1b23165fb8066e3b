"""Orders that wait for a condition on the server."""

from collections.abc import Awaitable, Callable
from typing import Any, Unpack, cast

from .wire import CancelledTriggers, CancelTriggersQuery, TriggerBody, TriggerObject, TriggerPage, TriggersQuery

PATH = "/api/trade/triggers"


class Triggers:
    """The triggers of a key: `sluice.triggers`. The channel `orders` reports their changes."""

    def __init__(self, send: Callable[..., Awaitable[Any]], key: Callable[[str | None], str], segment: Callable[[str, str], str]) -> None:
        self._send = send
        self._key = key
        self._segment = segment

    async def arm(self, *, idempotency_key: str | None = None, **body: Unpack[TriggerBody]) -> TriggerObject:
        """Arms a trigger, with those in its `then`. The same `idempotency_key` and body arm the same trigger for 24 hours."""
        expected = {name: body.get(name) for name in ("side", "publicKey")} | {"triggerId": str, "status": str}
        return cast(TriggerObject, await self._send("POST", PATH, expected, body=body, key=self._key(idempotency_key)))

    async def get(self, id: str) -> TriggerObject:
        """The state of a trigger."""
        return cast(TriggerObject, await self._send("GET", self._path(id), {"triggerId": id, "status": str}))

    async def list(self, **query: Unpack[TriggersQuery]) -> TriggerPage:
        """The key's triggers, newest first. `before`: `next` of the page before."""
        return cast(TriggerPage, await self._send("GET", PATH, {"triggers": list}, query=query))

    async def cancel(self, id: str) -> TriggerObject:
        """Cancels a trigger. The answer says what it is now: one that has fired stays `fired`."""
        return cast(TriggerObject, await self._send("DELETE", self._path(id), {"triggerId": id, "status": str}))

    async def cancel_all(self, **query: Unpack[CancelTriggersQuery]) -> CancelledTriggers:
        """Cancels all triggers that match every given filter; without one, all."""
        return cast(CancelledTriggers, await self._send("DELETE", PATH, {"cancelled": int, "firing": int}, query=query))

    def _path(self, id: str) -> str:
        return f"{PATH}/{self._segment('id', id)}"
