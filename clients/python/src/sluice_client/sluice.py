"""A client of one sluice."""

import asyncio
import math
import random
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote as escape
from urllib.parse import urlsplit

import httpx

from .errors import SluiceError
from .messages import Channel, Gap, Position
from .subscription import Subscription, request_of

FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0
# A longer `Retry-After` is left to the caller.
MAX_RETRY_AFTER_S = 30.0
# Printable ASCII without spaces. The gateway accepts no longer key.
IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,255}")
Json = dict[str, Any]


class Sluice:
    """Calls of HTTP raise a SluiceError. They repeat what may pass, not before `Retry-After`.

    `url`: the address of a gateway, or of several of one sluice; after a failure another one is used. `timeout`: seconds for one request.
    `compress`: ask the gateway to compress the stream. The constructor and `subscribe` raise a ValueError for wrong arguments.
    """

    def __init__(
        self, url: str | Sequence[str], api_key: str, *, timeout: float = 10.0, retries: int = 3, compress: bool = False
    ) -> None:
        self._urls = [each.rstrip("/") if isinstance(each, str) else "" for each in ([url] if isinstance(url, str) else url)]
        if not self._urls or not all(_is_address(each) for each in self._urls):
            raise ValueError(f"Sluice needs the address of a gateway, like http://127.0.0.1:8080; it got {url!r}.")
        if not isinstance(api_key, str) or not re.fullmatch("[!-~]+", api_key):
            raise ValueError("api_key must have printable ASCII characters without spaces.")
        if not isinstance(timeout, (int, float)) or not 0 < timeout < math.inf:
            raise ValueError(f"timeout must be a number of seconds above 0; it is {timeout!r}.")
        if not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries must be an integer from 0; it is {retries!r}.")
        self._api_key = api_key
        self._retries = retries
        self._compress = compress
        self._http = httpx.AsyncClient(timeout=timeout, headers={"Authorization": f"Bearer {api_key}"})
        self._turn = 0
        self._subscriptions: set[Subscription] = set()

    def subscribe(
        self,
        channel: Channel,
        *,
        mints: Sequence[str] | None = None,
        accounts: Sequence[str] | None = None,
        interval: str | None = None,
        filter: Mapping[str, Any] | None = None,
        commitment: str | None = None,
        snapshot: bool = False,
        since: Mapping[str, Position] | None = None,
        on_gap: Callable[[Gap], None] | None = None,
        on_status: Callable[[str], None] | None = None,
        max_waiting: int = 10_000,
    ) -> Subscription:
        """Follows a channel. Iterate the result with `async for`; it needs a running event loop.

        Without `mints` and `accounts` it follows all trades; an empty list is refused.
        """
        request = request_of(
            channel,
            mints=mints,
            accounts=accounts,
            interval=interval,
            filter=filter,
            commitment=commitment,
            snapshot=snapshot,
        )
        urls = [f"ws{each[len('http') :]}/api/data{'?compress=1' if self._compress else ''}" for each in self._urls]
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

        The same `idempotency_key` and body give the same order for 24 hours. Without it, repetitions by this call are one order. The
        SluiceError of the call has the key as `idempotency_key`. If you may cancel the call, give a key: a cancellation does not have it.
        """
        return await self._trade("/api/trade/buy", body, idempotency_key)

    async def sell(self, *, idempotency_key: str | None = None, **body: Any) -> Json:
        """Sells with a custodial wallet. `amount`: tokens, or a part of the balance such as "50%". Otherwise as `buy`."""
        return await self._trade("/api/trade/sell", body, idempotency_key)

    async def order(self, id: str) -> Json:
        """The state of an order, and its fills."""
        return await self._send("GET", f"/api/trade/orders/{_segment('id', id)}")

    async def orders(self, **query: Any) -> Json:
        """The key's orders, newest first: `before`, `limit`, `state`."""
        return await self._send("GET", "/api/trade/orders", query=query)

    async def token_info(self, mint: str) -> Json:
        """A token: its names, its pools, its price."""
        return await self._send("GET", f"/api/token/info/{_segment('mint', mint)}")

    async def candles(self, mint: str, **query: Any) -> Json:
        """Candles of a token, oldest first: `interval`, `from_` and `to` in Unix seconds, `limit`."""
        return await self._send("GET", f"/api/token/candles/{_segment('mint', mint)}", query=query)

    async def trades(self, mint: str, **query: Any) -> Json:
        """Trades of a token, newest first: `before`, `limit`."""
        return await self._send("GET", f"/api/token/trades/{_segment('mint', mint)}", query=query)

    async def holders(self, mint: str) -> Json:
        """The largest holders of a token."""
        return await self._send("GET", f"/api/token/holders/{_segment('mint', mint)}")

    async def portfolio(self, public_key: str) -> Json:
        """All tokens of a wallet, valued in SOL."""
        return await self._send("GET", f"/api/portfolio/{_segment('public_key', public_key)}")

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

    async def _trade(self, path: str, body: Json, idempotency_key: str | None) -> Json:
        key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
        if not isinstance(key, str) or not IDEMPOTENCY_KEY.fullmatch(key):
            raise _wrong("idempotency_key must have 1 to 255 printable ASCII characters without spaces.")
        return await self._send("POST", path, body=body, key=key)

    async def _send(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Json | None = None, key: str | None = None
    ) -> Json:
        is_unknown = False
        for attempt in range(self._retries + 1):
            try:
                return await self._once(method, path, query or {}, body, key)
            except SluiceError as error:
                if error.retryable and error.code != "RATE_LIMIT":
                    self._turn += 1
                retry_after_ms = error.details.get("retryAfterMs")
                retry_after_s = retry_after_ms / 1_000 if isinstance(retry_after_ms, (int, float)) else 0.0
                # A refusal of a later attempt does not show what became of a lost one.
                is_unknown = is_unknown or error.code in ("NETWORK", "TIMEOUT", "MALFORMED")
                if not error.retryable or attempt == self._retries or retry_after_s > MAX_RETRY_AFTER_S:
                    if key is None:
                        raise
                    raise _with_key(error, key, is_unknown) from error.__cause__
                pause_s = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2**attempt) * (0.5 + random.random() / 2)
                await asyncio.sleep(max(retry_after_s, pause_s))
        raise AssertionError("unreachable")

    async def _once(self, method: str, path: str, query: Mapping[str, Any], body: Json | None, key: str | None) -> Json:
        url = f"{self._urls[self._turn % len(self._urls)]}{path}"
        # `from` is a keyword of Python.
        params = {name.rstrip("_"): value for name, value in query.items() if value is not None}
        headers = {} if key is None else {"Idempotency-Key": key}
        if self._http.is_closed:
            raise SluiceError("The client is closed.", code="CLOSED", retryable=False)
        try:
            request = self._http.build_request(method, url, params=params, json=body, headers=headers)
        except (TypeError, ValueError) as fault:
            raise _wrong(f"The request cannot be written: {fault}") from fault
        try:
            answer = await self._http.send(request)
        except httpx.TimeoutException as fault:
            raise SluiceError("No answer in time.", code="TIMEOUT", retryable=True) from fault
        except httpx.HTTPError as fault:
            raise SluiceError(f"No answer: {fault}", code="NETWORK", retryable=True) from fault
        return _read(answer, key is not None)


def _read(answer: httpx.Response, has_key: bool) -> Json:
    """With an Idempotency-Key, an answer that is not from sluice may hide an order, so the request is repeated with any status."""
    status = answer.status_code
    try:
        content = answer.json()
    except ValueError:
        content = None
    if answer.is_success and isinstance(content, dict):
        return content
    error = content.get("error") if isinstance(content, dict) else None
    retry_after_s = _retry_after_s(answer)
    details: Json = {} if retry_after_s <= 0 else {"retryAfterMs": round(retry_after_s * 1_000)}
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        message = f"The answer is not from sluice (HTTP {status})."
        retryable = has_key or status >= 500 or status == 429
        raise SluiceError(message, code="MALFORMED", retryable=retryable, status=status, details=details)
    more = error.get("details")
    raise SluiceError(
        str(error.get("message", "")),
        code=error["code"],
        retryable=error.get("retryable") is True,
        status=status,
        details=details | more if isinstance(more, dict) else details,
        request_id=content.get("requestId"),
    )


def _retry_after_s(answer: httpx.Response) -> float:
    """`Retry-After` is a number of seconds or a date (RFC 9110, 10.2.3). A date is compared with the clock of the server."""
    text = answer.headers.get("retry-after", "")
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    at = _date(text)
    return 0.0 if at is None else (at - (_date(answer.headers.get("date", "")) or datetime.now(UTC))).total_seconds()


def _date(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _is_address(url: str) -> bool:
    try:
        return url.startswith(("http://", "https://")) and bool(urlsplit(url).hostname) and httpx.URL(url).host != ""
    except (ValueError, httpx.InvalidURL):
        return False


def _segment(name: str, value: str) -> str:
    try:
        return escape(value, safe="")
    except (TypeError, ValueError, AttributeError):
        raise _wrong(f"{name} must be a string; it is {value!r}.") from None


def _with_key(error: SluiceError, key: str, is_unknown: bool) -> SluiceError:
    advice = f". The outcome is unknown: call again with the same body and the idempotency_key {key}."
    return SluiceError(
        f"{str(error).removesuffix('.')}{advice}" if is_unknown else str(error),
        code=error.code,
        retryable=error.retryable,
        status=error.status,
        details=error.details,
        request_id=error.request_id,
        idempotency_key=key,
    )


def _wrong(message: str) -> SluiceError:
    """Nothing was sent."""
    return SluiceError(message, code="INVALID_REQUEST", retryable=False)
