"""A client of one sluice."""

import asyncio
import itertools
import json
import math
import random
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Literal, Self, Unpack, cast, overload
from urllib.parse import quote as escape
from urllib.parse import urlsplit

import httpx

from .credentials import Credentials
from .errors import SluiceError
from .options import FilteredOptions, SubscribeOptions
from .outage import Outage, cannot_reach, reason_of
from .subscription import Subscription
from .triggers import Triggers
from .wire import (
    BatchAnswer,
    BatchBody,
    BuyBody,
    CandlePage,
    CandlesEvent,
    CandlesQuery,
    Channel,
    Explanation,
    MigrationsEvent,
    MigrationsFilter,
    NewTokensEvent,
    NewTokensFilter,
    OrderObject,
    OrderPage,
    OrdersEvent,
    OrdersQuery,
    PaperBalanceBody,
    PaperWallet,
    PaperWalletBody,
    Portfolio,
    Positions,
    PoolsEvent,
    PoolsFilter,
    PricesEvent,
    PricesFilter,
    QuoteAnswer,
    QuoteBody,
    SellBody,
    TokenHolders,
    TokenSearch,
    TokenSearchQuery,
    TokenInfo,
    TradeAnswer,
    TradePage,
    TradesEvent,
    TradesFilter,
    TradesQuery,
)

FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0
# A longer `Retry-After` is left to the caller.
MAX_RETRY_AFTER_S = 30.0
# While another request with the same key is in progress, the client repeats its request for this long, even if `retries` is reached.
IN_PROGRESS_S = 30.0
# Bytes of an answer; far more than the longest one of sluice.
MAX_ANSWER_BYTES = 16 * 1024 * 1024
# Printable ASCII without spaces. The gateway accepts no longer key.
IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,255}")

# Fields of a successful answer: a value that must be equal, or a type.
Expected = Mapping[str, object]


class Sluice:
    """Calls of HTTP raise a SluiceError. They repeat what may pass, not before `Retry-After`.

    `url`: the address of a gateway, or of several of one sluice; after a failure another one is used. `api_key`: the API key, or a coroutine
    function that returns it; it is called before each connection of the stream and each request. `ticket`: a coroutine function that returns a
    ticket for one connection of the stream, instead of a key. `timeout`: seconds for one request. `compress`: ask the gateway to compress the
    stream. The constructor and `subscribe` raise a ValueError for wrong arguments.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        api_key: str | Callable[[], Awaitable[str]] | None = None,
        *,
        ticket: Callable[[], Awaitable[str]] | None = None,
        timeout: float = 10.0,
        retries: int = 3,
        compress: bool = False,
    ) -> None:
        self._urls = [each.rstrip("/") if isinstance(each, str) else "" for each in ([url] if isinstance(url, str) else url)]
        if not self._urls or not all(_is_address(each) for each in self._urls):
            raise ValueError(f"Sluice needs the address of a gateway, like http://127.0.0.1:8080; it got {url!r}.")
        self._credentials = Credentials(api_key, ticket)
        if not isinstance(timeout, (int, float)) or not 0 < timeout < math.inf:
            raise ValueError(f"timeout must be a number of seconds above 0; it is {timeout!r}.")
        if not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries must be an integer from 0; it is {retries!r}.")
        self._retries = retries
        self._compress = compress
        self._http = httpx.AsyncClient(timeout=timeout)
        self._turn = 0
        self._outage = Outage()
        self._subscriptions: set[Subscription[Any]] = set()
        self.triggers = Triggers(self._send, _idempotency_key, _segment)

    @overload
    def subscribe(
        self, channel: Literal["newTokens"], **options: Unpack[FilteredOptions[NewTokensEvent, NewTokensFilter]]
    ) -> Subscription[NewTokensEvent]: ...

    @overload
    def subscribe(
        self, channel: Literal["migrations"], **options: Unpack[FilteredOptions[MigrationsEvent, MigrationsFilter]]
    ) -> Subscription[MigrationsEvent]: ...

    @overload
    def subscribe(
        self, channel: Literal["trades"], **options: Unpack[FilteredOptions[TradesEvent, TradesFilter]]
    ) -> Subscription[TradesEvent]: ...

    @overload
    def subscribe(
        self, channel: Literal["prices"], **options: Unpack[FilteredOptions[PricesEvent, PricesFilter]]
    ) -> Subscription[PricesEvent]: ...

    @overload
    def subscribe(
        self, channel: Literal["candles"], **options: Unpack[SubscribeOptions[CandlesEvent]]
    ) -> Subscription[CandlesEvent]: ...

    @overload
    def subscribe(
        self, channel: Literal["pools"], **options: Unpack[FilteredOptions[PoolsEvent, PoolsFilter]]
    ) -> Subscription[PoolsEvent]: ...

    @overload
    def subscribe(
        self, channel: Literal["orders"], **options: Unpack[SubscribeOptions[OrdersEvent]]
    ) -> Subscription[OrdersEvent]: ...

    def subscribe(self, channel: Channel, **options: Any) -> Subscription[Any]:
        """Follows a channel. Iterate the result with `async for`, or give `on_event`. It needs a running event loop.

        `SubscribeOptions` describes the options. Without `mints` and `accounts` it follows all trades; an empty list is refused.
        """
        urls = [f"ws{each[len('http') :]}/api/data{'?compress=1' if self._compress else ''}" for each in self._urls]
        subscription = Subscription[Any](urls, self._credentials, channel, cast(FilteredOptions[Any, Any], options))
        self._subscriptions = {each for each in self._subscriptions if not each._is_ended} | {subscription}
        return subscription

    async def quote(self, **body: Unpack[QuoteBody]) -> QuoteAnswer:
        """What a trade would give now."""
        expected: Expected = {"side": body.get("side"), "mint": body.get("mint"), "quote": dict}
        return cast(QuoteAnswer, await self._send("POST", "/api/quote", expected, body=body))

    async def buy(self, *, idempotency_key: str | None = None, **body: Unpack[BuyBody]) -> TradeAnswer:
        """Buys with a custodial wallet. `amount`: SOL; `slippage`: percent.

        The same `idempotency_key` and body give the same order for 24 hours. Without it, repetitions by this call are one order. The
        SluiceError of the call has the key as `idempotency_key`. If you may cancel the call, give a key: a cancellation does not have it.
        """
        return await self._trade("buy", body, idempotency_key)

    async def sell(self, *, idempotency_key: str | None = None, **body: Unpack[SellBody]) -> TradeAnswer:
        """Sells with a custodial wallet. `amount`: tokens, or a part of the balance such as "50%". Otherwise as `buy`."""
        return await self._trade("sell", body, idempotency_key)

    async def batch(self, *, idempotency_key: str | None = None, **body: Unpack[BatchBody]) -> BatchAnswer:
        """Places 2 to 20 `orders`, each with its own outcome: an answer like that of `buy`, or `{"error": ...}`.

        A repetition with the same `idempotency_key` and body places what is missing. Otherwise as `buy`.
        """
        key = _idempotency_key(idempotency_key)
        return cast(BatchAnswer, await self._send("POST", "/api/trade/batch", {"results": list}, body=body, key=key))

    async def order(self, id: str) -> OrderObject:
        """The state of an order, and its fills."""
        return cast(OrderObject, await self._send("GET", f"/api/trade/orders/{_segment('id', id)}", {"orderId": id, "status": str}))

    async def orders(self, **query: Unpack[OrdersQuery]) -> OrderPage:
        """The key's orders, newest first. `before`: `next` of the page before."""
        return cast(OrderPage, await self._send("GET", "/api/trade/orders", {"orders": list}, query=query))

    async def token_info(self, mint: str) -> TokenInfo:
        """A token: its names, its pools, its price."""
        return cast(TokenInfo, await self._send("GET", f"/api/token/info/{_segment('mint', mint)}", {"mint": mint}))

    async def search_tokens(self, **query: Unpack[TokenSearchQuery]) -> TokenSearch:
        """Tokens that the gateway knows, by a part of symbol, name or mint. Names are chosen freely: compare mints."""
        return cast(TokenSearch, await self._send("GET", "/api/token/search", {"tokens": list}, query=query))

    async def candles(self, mint: str, **query: Unpack[CandlesQuery]) -> CandlePage:
        """Candles of a token, oldest first. `interval`: `1m` by default; `from_` and `to`: Unix seconds.

        `fill="previous"`: also intervals without trades.
        """
        path = f"/api/token/candles/{_segment('mint', mint)}"
        return cast(CandlePage, await self._send("GET", path, {"mint": mint, "candles": list}, query=query))

    async def trades(self, mint: str, **query: Unpack[TradesQuery]) -> TradePage:
        """Trades of a token, newest first. `before`: `next` of the page before."""
        path = f"/api/token/trades/{_segment('mint', mint)}"
        return cast(TradePage, await self._send("GET", path, {"mint": mint, "trades": list}, query=query))

    async def holders(self, mint: str) -> TokenHolders:
        """The largest holders of a token; `holders` is None if no node lists them."""
        return cast(TokenHolders, await self._send("GET", f"/api/token/holders/{_segment('mint', mint)}", {"mint": mint}))

    async def portfolio(self, public_key: str) -> Portfolio:
        """All tokens of a wallet, valued in SOL."""
        path = f"/api/portfolio/{_segment('public_key', public_key)}"
        return cast(Portfolio, await self._send("GET", path, {"publicKey": public_key, "sol": dict}))

    async def explain(self, signature: str) -> Explanation:
        """One transaction as a person reads it: instructions, changes by wallet, fees and tips, events, and why it failed."""
        path = f"/api/explain/{_segment('signature', signature)}"
        return cast(Explanation, await self._send("GET", path, {"signature": signature}))

    async def positions(self, public_key: str) -> Positions:
        """What a wallet paid for its tokens, and what it gained or lost. The key follows the wallet from then on."""
        path = f"/api/positions/{_segment('public_key', public_key)}"
        return cast(Positions, await self._send("GET", path, {"publicKey": public_key, "positions": list}))

    async def new_paper_wallet(self, **body: Unpack[PaperWalletBody]) -> PaperWallet:
        """Makes a paper wallet. Only while the server trades on paper."""
        return cast(PaperWallet, await self._send("POST", "/api/paper/wallets", {"publicKey": str}, body=body))

    async def set_paper_balance(self, **body: Unpack[PaperBalanceBody]) -> PaperWallet:
        """Sets the SOL of a paper wallet. With `reset` it also loses its tokens, and its result counts from now on."""
        expected: Expected = {"publicKey": body.get("publicKey"), "amount": str}
        return cast(PaperWallet, await self._send("POST", "/api/paper/balance", expected, body=body))

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

    async def _trade(self, side: str, body: BuyBody | SellBody, idempotency_key: str | None) -> TradeAnswer:
        key = _idempotency_key(idempotency_key)
        order_id: object = None if body.get("dryRun") is True else str
        expected = {name: body.get(name) for name in ("mint", "publicKey")} | {"side": side, "status": str, "orderId": order_id}
        return cast(TradeAnswer, await self._send("POST", f"/api/trade/{side}", expected, body=body, key=key))

    async def _send(
        self,
        method: str,
        path: str,
        expected: Expected,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
        key: str | None = None,
    ) -> Any:
        last: SluiceError | None = None
        is_unknown = False
        started_s = time.monotonic()
        for attempt in itertools.count():
            try:
                return await self._once(method, path, expected, query or {}, body, key)
            except SluiceError as fault:
                # A refusal of a later attempt does not show what became of a lost one.
                is_unknown = is_unknown or fault.code in ("NETWORK", "TIMEOUT", "MALFORMED")
                reason = str(fault).removesuffix(".")
                if key is not None:
                    fault.idempotency_key = key
                    if is_unknown:
                        advice = f"The outcome is unknown: call again with the same body and the idempotency_key {key}."
                        fault.args = (f"{reason}. {advice}",)
                has_moved = fault.code == "SLIPPAGE_EXCEEDED"
                if fault.retryable and not has_moved and fault.code != "RATE_LIMIT":
                    self._turn += 1
                retry_after_ms = fault.details.get("retryAfterMs")
                retry_after_s = retry_after_ms / 1_000 if isinstance(retry_after_ms, (int, float)) else 0.0
                in_progress = fault.code == "IDEMPOTENCY_IN_PROGRESS" and time.monotonic() - started_s < IN_PROGRESS_S
                # A repeated order would be quoted again, and trade at a price that the caller has not seen.
                may_repeat = fault.retryable and not has_moved and (in_progress or attempt < self._retries)
                if not may_repeat or retry_after_s > MAX_RETRY_AFTER_S:
                    raise
                if fault.code in ("NETWORK", "TIMEOUT"):
                    self._outage.begin(reason)
                last = fault
                exponent = min(attempt, 1) if in_progress else attempt
                pause_s = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2**exponent) * (0.5 + random.random() / 2)
            except Exception:
                # A function `api_key` that fails now says less than the outcome of the previous attempt.
                if last is None:
                    raise
                raise last from None
            await asyncio.sleep(max(retry_after_s, pause_s))
        raise AssertionError("unreachable")

    async def _once(
        self,
        method: str,
        path: str,
        expected: Expected,
        query: Mapping[str, object],
        body: Mapping[str, object] | None,
        key: str | None,
    ) -> Any:
        gateway = self._urls[self._turn % len(self._urls)]
        url = f"{gateway}{path}"
        is_reached = False
        # `from` is a keyword of Python.
        params: dict[str, Any] = {name.rstrip("_"): value for name, value in query.items() if value is not None}
        if self._http.is_closed:
            raise SluiceError("The client is closed.", code="CLOSED", retryable=False)
        headers = await self._credentials.headers() | ({} if key is None else {"Idempotency-Key": key})
        try:
            request = self._http.build_request(method, url, params=params, json=body, headers=headers)
        except (TypeError, ValueError) as fault:
            raise _wrong(f"The request cannot be written: {fault}") from fault
        try:
            # Another address must not receive the API key, nor the order.
            answer = await self._http.send(request, stream=True, follow_redirects=False)
            is_reached = True
            self._outage.end()
            content = await _bounded(answer)
        except httpx.TimeoutException as fault:
            raise SluiceError("No answer in time.", code="TIMEOUT", retryable=True) from fault
        except httpx.HTTPError as fault:
            why = f"the answer broke off ({reason_of(fault)})" if is_reached else cannot_reach(gateway, reason_of(fault))
            raise SluiceError(f"No answer: {why}.", code="NETWORK", retryable=True) from fault
        return _read(answer, content, expected, key is not None)


async def _bounded(answer: httpx.Response) -> bytes | None:
    """The body. None if it is too long: the rest is then not read."""
    try:
        body = bytearray()
        async for part in answer.aiter_bytes(65_536):
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                return None
        return bytes(body)
    finally:
        await answer.aclose()


def _fits(value: object, expected: object) -> bool:
    return isinstance(value, expected) if isinstance(expected, type) else value == expected


def _read(answer: httpx.Response, body: bytes | None, expected: Expected, has_key: bool) -> dict[str, Any]:
    """With an Idempotency-Key, an answer that is not from sluice may hide an order, so the request is repeated with any status."""
    status = answer.status_code
    try:
        content = None if body is None else json.loads(body)
    except (ValueError, RecursionError):
        content = None
    fields: dict[str, Any] = content if isinstance(content, dict) else {}
    if answer.is_success and content is not None and all(_fits(fields.get(name), of) for name, of in expected.items()):
        return fields
    error = None if answer.is_success else fields.get("error")
    retry_after_s = _retry_after_s(answer)
    details: dict[str, Any] = {} if retry_after_s <= 0 else {"retryAfterMs": round(retry_after_s * 1_000)}
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        redirects = "The address redirects to another one, which the client does not follow"
        message = f"{redirects if answer.is_redirect else 'The answer is not from sluice'} (HTTP {status})."
        retryable = has_key or status >= 500 or status == 429
        raise SluiceError(message, code="MALFORMED", retryable=retryable, status=status, details=details)
    more = error.get("details")
    raise SluiceError(
        str(error.get("message", "")),
        code=error["code"],
        retryable=error.get("retryable") is True,
        status=status,
        details=details | more if isinstance(more, dict) else details,
        request_id=fields.get("requestId"),
    )


def _retry_after_s(answer: httpx.Response) -> float:
    """`Retry-After` is a number of seconds or a date (RFC 9110, 10.2.3). A date is compared with the clock of the server, never with ours."""
    text = answer.headers.get("retry-after", "")
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    at, now = _date(text), _date(answer.headers.get("date", ""))
    return 0.0 if at is None or now is None else (at - now).total_seconds()


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


def _idempotency_key(given: str | None) -> str:
    key = secrets.token_hex(16) if given is None else given
    if not isinstance(key, str) or not IDEMPOTENCY_KEY.fullmatch(key):
        raise _wrong("idempotency_key must have 1 to 255 printable ASCII characters without spaces.")
    return key


def _wrong(message: str) -> SluiceError:
    """Nothing was sent."""
    return SluiceError(message, code="INVALID_REQUEST", retryable=False)
