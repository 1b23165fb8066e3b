"""A client of one sluice."""

import asyncio
import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote as escape

import httpx

from .errors import SluiceError
from .messages import Channel, Gap, Position
from .subscription import Subscription, request_of

FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0
# A longer `Retry-After` is left to the caller.
MAX_RETRY_AFTER_S = 30.0
Json = dict[str, Any]


class Sluice:
    """Calls of HTTP raise a SluiceError. They repeat what may pass, not before `Retry-After`.

    `url`: the address of a gateway, or of several of one sluice; after a failure another one is used. `timeout`: seconds for one request.
    """

    def __init__(self, url: str | Sequence[str], api_key: str, *, timeout: float = 10.0, retries: int = 3) -> None:
        self._urls = [each.rstrip("/") for each in ([url] if isinstance(url, str) else url)]
        if not self._urls or not all(each.startswith(("http://", "https://")) for each in self._urls):
            raise ValueError("Sluice needs the address of a gateway, like http://127.0.0.1:8080.")
        self._api_key = api_key
        self._retries = retries
        self._http = httpx.AsyncClient(timeout=timeout, headers={"Authorization": f"Bearer {api_key}"})
        self._turn = 0
        self._subscriptions: set[Subscription] = set()

    def subscribe(
        self,
        channel: Channel,
        *,
        mints: Sequence[str] = (),
        accounts: Sequence[str] = (),
        interval: str | None = None,
        filter: Mapping[str, Any] | None = None,
        commitment: str | None = None,
        snapshot: bool = False,
        since: Mapping[str, Position] | None = None,
        on_gap: Callable[[Gap], None] | None = None,
        on_status: Callable[[str], None] | None = None,
        max_waiting: int = 10_000,
    ) -> Subscription:
        """Follows a channel. Iterate the result with `async for`; it needs a running event loop."""
        request = request_of(
            channel,
            mints=mints,
            accounts=accounts,
            interval=interval,
            filter=filter,
            commitment=commitment,
            snapshot=snapshot,
        )
        urls = [f"ws{each[len('http') :]}/api/data" for each in self._urls]
        subscription = Subscription(
            urls, self._api_key, request, since=since, on_gap=on_gap, on_status=on_status, max_waiting=max_waiting
        )
        self._subscriptions = {each for each in self._subscriptions if not each._is_ended} | {subscription}
        return subscription

    async def quote(self, **body: Any) -> Json:
        """What a trade would give now: `side`, `mint`, `amount`, and optionally `slippage`, `pool`, `publicKey`."""
        return await self._send("POST", "/api/quote", body=body)

    async def buy(self, *, idempotency_key: str | None = None, **body: Any) -> Json:
        """Buys with a custodial wallet: `publicKey`, `mint`, `amount` in SOL, and optionally `slippage` in percent, `dryRun`, …

        The same `idempotency_key` and body give the same order for 24 hours. Without it, repetitions by this call are one order.
        """
        return await self._send("POST", "/api/trade/buy", body=body, key=idempotency_key or secrets.token_hex(16))

    async def sell(self, *, idempotency_key: str | None = None, **body: Any) -> Json:
        """Sells with a custodial wallet. `amount`: tokens, or a part of the balance such as "50%". Otherwise as `buy`."""
        return await self._send("POST", "/api/trade/sell", body=body, key=idempotency_key or secrets.token_hex(16))

    async def order(self, id: str) -> Json:
        """The state of an order, and its fills."""
        return await self._send("GET", f"/api/trade/orders/{escape(id, safe='')}")

    async def orders(self, **query: Any) -> Json:
        """The key's orders, newest first: `before`, `limit`, `state`."""
        return await self._send("GET", "/api/trade/orders", query=query)

    async def token_info(self, mint: str) -> Json:
        """A token: its names, its pools, its price."""
        return await self._send("GET", f"/api/token/info/{escape(mint, safe='')}")

    async def candles(self, mint: str, **query: Any) -> Json:
        """Candles of a token, oldest first: `interval`, `from_` and `to` in Unix seconds, `limit`."""
        return await self._send("GET", f"/api/token/candles/{escape(mint, safe='')}", query=query)

    async def trades(self, mint: str, **query: Any) -> Json:
        """Trades of a token, newest first: `before`, `limit`."""
        return await self._send("GET", f"/api/token/trades/{escape(mint, safe='')}", query=query)

    async def portfolio(self, public_key: str) -> Json:
        """All tokens of a wallet, valued in SOL."""
        return await self._send("GET", f"/api/portfolio/{escape(public_key, safe='')}")

    async def close(self) -> None:
        """Ends all subscriptions and connections."""
        for subscription in self._subscriptions:
            await subscription.close()
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Json | None = None, key: str | None = None
    ) -> Json:
        for attempt in range(self._retries + 1):
            try:
                return await self._once(method, path, query or {}, body, key)
            except SluiceError as error:
                if error.retryable and error.code != "RATE_LIMIT":
                    self._turn += 1
                retry_after_s = float(error.details.get("retryAfterMs", 0)) / 1_000
                if not error.retryable or attempt == self._retries or retry_after_s > MAX_RETRY_AFTER_S:
                    raise
                pause_s = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2**attempt) * (0.5 + random.random() / 2)
                await asyncio.sleep(max(retry_after_s, pause_s))
        raise AssertionError("unreachable")

    async def _once(self, method: str, path: str, query: Mapping[str, Any], body: Json | None, key: str | None) -> Json:
        url = f"{self._urls[self._turn % len(self._urls)]}{path}"
        # `from` is a keyword of Python.
        params = {name.rstrip("_"): value for name, value in query.items() if value is not None}
        headers = {} if key is None else {"Idempotency-Key": key}
        try:
            answer = await self._http.request(method, url, params=params, json=body, headers=headers)
        except httpx.TimeoutException as fault:
            raise SluiceError("No answer in time.", code="TIMEOUT", retryable=True) from fault
        except httpx.HTTPError as fault:
            raise SluiceError(f"No answer: {fault}", code="NETWORK", retryable=True) from fault
        return _read(answer)


def _read(answer: httpx.Response) -> Json:
    status = answer.status_code
    try:
        content = answer.json()
        if answer.is_success:
            return dict(content)
        error = content["error"]
        code, message, retryable = error["code"], error["message"], error["retryable"]
    except (ValueError, KeyError, TypeError):
        raise SluiceError(
            f"The answer is not from sluice (HTTP {status}).", code="MALFORMED", retryable=status >= 500, status=status
        ) from None
    details = dict(error.get("details") or {})
    retry_after = answer.headers.get("retry-after", "")
    if retry_after.isdigit():
        details.setdefault("retryAfterMs", int(retry_after) * 1_000)
    request_id = content.get("requestId")
    raise SluiceError(
        message, code=code, retryable=retryable, status=status, details=details, request_id=request_id
    )
