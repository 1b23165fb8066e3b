"""One subscription, on a connection of its own."""

import asyncio
import contextlib
import json
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, cast

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from .errors import SluiceError
from .messages import Channel, Event, Gap, Position
from .topic_progress import TopicProgress

# A gateway sends a heartbeat each second. A connection that is silent for this long is dead.
SILENT_S = 4.0
OPEN_WITHIN_S = 5.0
FIRST_PAUSE_S = 0.1
MAX_PAUSE_S = 10.0
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
# Close codes of the stream up to here: the client reconnects.
LAST_TEMPORARY_CODE = 4_499
# Keys of one command; the gateway accepts 5,000.
KEYS_PER_COMMAND = 1_000


class _Lost(Exception):
    """The connection must begin again."""

    def __init__(self, reason: str, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


class Subscription(AsyncIterator[Event]):
    """Iterate it for the events. It reconnects and resumes by itself; `on_gap` is called where events are missing.

    While `max_waiting` events wait for the consumer, the client does not read from the connection. If the gateway then closes it, the client
    resumes later. The subscription ends with `close()`, or raises a permanent SluiceError.
    """

    def __init__(
        self,
        urls: Sequence[str],
        api_key: str,
        request: Mapping[str, Any],
        *,
        since: Mapping[str, Position] | None,
        on_gap: Callable[[Gap], None] | None,
        on_status: Callable[[str], None] | None,
        max_waiting: int,
    ) -> None:
        check_options(since, max_waiting)
        self._urls = urls
        self._api_key = api_key
        self._request = request
        self._is_filtered = "filter" in request or "commitment" in request
        self._on_gap = on_gap
        self._on_status = on_status
        self._max_waiting = max_waiting
        self._progress = {topic: TopicProgress(position) for topic, position in (since or {}).items()}
        # An event with its topic and its position, or a gap.
        self._waiting: deque[tuple[Event | None, Gap | None, str, Position | None]] = deque()
        self._positions: dict[str, Position] = dict(since or {})
        self._changed = asyncio.Condition()
        self._error: BaseException | None = None
        self._is_ended = False
        self._is_live = False
        self._failures = 0
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def positions(self) -> Mapping[str, Position]:
        """Positions of the last events that the consumer received: `since` of a later subscription."""
        return dict(self._positions)

    async def __anext__(self) -> Event:
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: len(self._waiting) > 0 or self._is_ended)
                if len(self._waiting) == 0:
                    if self._error is not None:
                        raise self._error
                    raise StopAsyncIteration
                event, gap, topic, position = self._waiting.popleft()
                if position is not None:
                    self._positions[topic] = position
                self._changed.notify_all()
            if gap is not None and self._on_gap is not None:
                self._on_gap(gap)
            if event is not None:
                return event

    async def close(self) -> None:
        """Ends the subscription and drops the events that wait. `positions` stays before these events."""
        self._waiting.clear()
        await self._end(None)
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _end(self, error: BaseException | None) -> None:
        async with self._changed:
            if not self._is_ended:
                self._error = error
            self._is_ended = True
            self._changed.notify_all()

    async def _run(self) -> None:
        turn = 0
        try:
            while not self._is_ended:
                url = self._urls[turn % len(self._urls)]
                turn += 1
                pause_s: float | None = None
                try:
                    await self._follow(url)
                except _Lost as lost:
                    reason, pause_s = str(lost), lost.pause_s
                except (OSError, WebSocketException, asyncio.TimeoutError) as fault:
                    reason = _reason_of(fault)
                self._is_live = False
                if pause_s is None:
                    pause_s = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._failures, 10)) * (0.5 + random.random() / 2)
                self._failures += 1
                self._report(f"{reason}; reconnecting in {pause_s:.1f} s")
                await asyncio.sleep(pause_s)
        except asyncio.CancelledError:
            raise
        except Exception as fault:  # The consumer raises it.
            await self._end(fault)

    async def _follow(self, url: str) -> None:
        async with connect(url, open_timeout=OPEN_WITHIN_S, close_timeout=1, max_size=MAX_MESSAGE_BYTES) as socket:
            await socket.send(json.dumps({"id": "auth", "op": "auth", "key": self._api_key}))
            within_s: float | None = None
            asked: set[str] = set()
            while True:
                try:
                    async with asyncio.timeout(SILENT_S):
                        text = await socket.recv()
                except TimeoutError:
                    raise _Lost(f"nothing arrived for {SILENT_S:g} s") from None
                except ConnectionClosed as closed:
                    code = closed.rcvd.code if closed.rcvd is not None else 1006
                    if LAST_TEMPORARY_CODE < code < 5_000:
                        message = f"The gateway closed the stream: {code} {closed.rcvd.reason if closed.rcvd else ''}."
                        raise SluiceError(
                            message, code="UNAUTHENTICATED", retryable=False, details={"closeCode": code}
                        ) from None
                    pause_s = None if within_s is None else within_s * random.random()
                    raise _Lost(f"the connection closed with {code}", pause_s) from None
                try:
                    message_in = json.loads(text)
                except ValueError:
                    raise _Lost("the gateway sent no JSON") from None
                if message_in.get("op") == "authenticated":
                    asked = await self._subscribe(socket)
                elif message_in.get("op") == "draining":
                    within_s = float(message_in.get("reconnectWithinMs", 0)) / 1_000
                else:
                    await self._on_message(message_in, asked, url)

    async def _subscribe(self, socket: ClientConnection) -> set[str]:
        request = dict(self._request)
        keys = [*request.pop("mints", []), *(f"@{account}" for account in request.pop("accounts", []))]
        snapshot = request.pop("snapshot", False)
        suffix = f":{request['interval']}" if "interval" in request else ""
        asked: set[str] = set()
        for at in range(0, max(len(keys), 1), KEYS_PER_COMMAND):
            some = keys[at : at + KEYS_PER_COMMAND]
            topics = [f"{request['channel']}:{key}{suffix}" for key in some] if some else list(self._progress)
            since = {topic: self._progress[topic].position for topic in topics if topic in self._progress}
            command: dict[str, Any] = {"id": f"s{at}", "op": "subscribe", **request}
            mints = [key for key in some if not key.startswith("@")]
            accounts = [key[1:] for key in some if key.startswith("@")]
            if mints:
                command["mints"] = mints
            if accounts:
                command["accounts"] = accounts
            if since:
                command["since"] = since
            elif snapshot:
                command["snapshot"] = True
            asked.add(command["id"])
            await socket.send(json.dumps(command))
        return asked

    async def _on_message(self, message: Mapping[str, Any], asked: set[str], url: str) -> None:
        op = message.get("op")
        if op is None:
            progress = self._progress.get(message["topic"])
            if progress is None:
                return
            verdict = progress.frame(message["seq"], message.get("prev"))
            if verdict == "hole":
                raise _Lost("an event is missing")
            if verdict == "deliver":
                await self._push((message["data"], None, message["topic"], progress.position))
        elif op == "gap":
            gap = cast(Gap, {name: message[name] for name in ("topic", "epoch", "from", "to", "reason")})
            progress = self._progress.get(gap["topic"])
            if progress is not None:
                progress.gap(gap)
                # An epoch that continues the numbers lacks nothing.
                if gap["to"] is not None and gap["to"] < gap["from"]:
                    return
                await self._push((None, gap, gap["topic"], progress.position))
        elif op == "heartbeat":
            for topic, position in message.get("positions", {}).items():
                progress = self._progress.get(topic)
                if progress is not None and not progress.heartbeat(position, self._is_filtered):
                    raise _Lost("an event is missing")
                if progress is not None and len(self._waiting) == 0:
                    self._positions[topic] = progress.position
        elif op == "subscribed":
            await self._on_subscribed(message, asked, url)
        elif op == "error":
            self._on_error(message["error"])

    async def _on_subscribed(self, message: Mapping[str, Any], asked: set[str], url: str) -> None:
        positions: Mapping[str, Any] = message["positions"]
        rejected = message.get("rejected", [])
        if not positions and rejected:
            text = f"No key was accepted; {rejected[0]['key']}: {rejected[0]['code']}."
            raise SluiceError(text, code=rejected[0]["code"], retryable=False, details={"rejected": rejected})
        for topic, position in positions.items():
            progress = self._progress.get(topic)
            if progress is None:
                self._progress[topic] = TopicProgress(position)
                self._positions.setdefault(topic, self._progress[topic].position)
            else:
                progress.resume(position, position["recovered"])
        for each in message.get("snapshot", []):
            await self._push((each["data"], None, each["topic"], None))
        self._failures = 0
        asked.discard(message["id"])
        if not asked and not self._is_live:
            self._is_live = True
            self._report(f"connected to {url}")

    def _on_error(self, error: Mapping[str, Any]) -> None:
        if error["retryable"]:
            raise _Lost(error["message"])
        raise SluiceError(error["message"], code=error["code"], retryable=False, details=error.get("details"))

    async def _push(self, item: tuple[Event | None, Gap | None, str, Position | None]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._waiting) < self._max_waiting or self._is_ended)
            if not self._is_ended:
                self._waiting.append(item)
            self._changed.notify_all()

    def _report(self, status: str) -> None:
        if self._on_status is not None:
            self._on_status(status)


def _reason_of(fault: BaseException) -> str:
    return str(fault) or type(fault).__name__


def request_of(
    channel: Channel,
    *,
    mints: Sequence[str] | None,
    accounts: Sequence[str] | None,
    interval: str | None,
    filter: Mapping[str, Any] | None,
    commitment: str | None,
    snapshot: bool,
) -> dict[str, Any]:
    """The fields of a subscribe command that are given. Raises a ValueError for wrong ones."""
    for name, keys in (("mints", mints), ("accounts", accounts)):
        if keys is not None and (isinstance(keys, str) or not all(isinstance(key, str) for key in _listed(name, keys))):
            raise ValueError(f"{name} must be a list of strings; it is {keys!r}.")
    if (mints is not None or accounts is not None) and not mints and not accounts:
        raise ValueError("mints and accounts name no key. Leave them out to follow everything.")
    fields = {"mints": _listed("mints", mints or ()), "accounts": _listed("accounts", accounts or ()), "interval": interval, "filter": filter}
    more = {"commitment": commitment, "snapshot": snapshot}
    request = {"channel": channel, **{name: value for name, value in {**fields, **more}.items() if value}}
    try:
        json.dumps(request, allow_nan=False)
    except (TypeError, ValueError) as fault:
        raise ValueError(f"The subscription cannot be written: {fault}") from fault
    return request


def check_options(since: Mapping[str, Position] | None, max_waiting: int) -> None:
    """Raises a ValueError for a value that would end or block the subscription without an error."""
    if not isinstance(max_waiting, int) or max_waiting < 1:
        raise ValueError(f"max_waiting must be an integer from 1; it is {max_waiting!r}.")
    if since is None:
        return
    if not isinstance(since, Mapping) or not all(_is_position(each) for each in since.values()):
        raise ValueError(f'since must be the positions of a subscription, {{topic: {{"epoch", "seq"}}}}; it is {since!r}.')


def _is_position(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("epoch"), str) and isinstance(value.get("seq"), int)


def _listed(name: str, keys: Sequence[str]) -> list[str]:
    try:
        return list(keys)
    except TypeError:
        raise ValueError(f"{name} must be a list of strings; it is {keys!r}.") from None
