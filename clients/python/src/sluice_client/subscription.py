"""One subscription, on a connection of its own."""

import asyncio
import inspect
import json
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Generic, Self, cast

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from .credentials import Credentials
from .errors import SluiceError
from .options import E, FilteredOptions, Status, check_options, request_of
from .outage import SLOW_S, Outage, cannot_reach, reason_of
from .topic_progress import TopicProgress
from .wire import Channel, Gap, Position, RejectedKey, Venue

logger = logging.getLogger("sluice_client")

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
UNAUTHENTICATED_CODE = 4_501
# Rejected keys that one line of the log names.
KEYS_PER_LINE = 5

# True in the task that calls `on_event`, and in the tasks that it started.
_is_in_on_event: ContextVar[bool] = ContextVar("is_in_on_event", default=False)


class _Connect(connect):
    """Follows no redirect: another address must not receive the API key. `connect` would follow ten."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class _Lost(Exception):
    """The connection must begin again."""

    def __init__(self, reason: str, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


class Subscription(AsyncIterator[E], Generic[E]):
    """Iterate it for the events, or give `on_event`. It reconnects and resumes by itself; `on_gap` is called where events are missing.

    While `max_waiting` events wait for the consumer, the client does not read from the connection. If the gateway then closes it, the client
    resumes later. The subscription ends with `close()`, or raises a permanent SluiceError.
    """

    def __init__(
        self,
        urls: Sequence[str],
        credentials: Credentials,
        channel: Channel,
        options: FilteredOptions[Any, Any],
    ) -> None:
        check_options(options)
        since = options.get("since") or {}
        self._urls = urls
        self._credentials = credentials
        self._request = request_of(channel, options)
        self._is_filtered = "filter" in self._request or "commitment" in self._request
        self._options = options
        self._max_waiting = options.get("max_waiting", 10_000)
        self._progress = {topic: TopicProgress(position) for topic, position in since.items()}
        # An event with its topic and its position, or a gap.
        self._waiting: deque[tuple[Any, Gap | None, str, Position | None]] = deque()
        self._positions: dict[str, Position] = dict(since)
        # With `last`: the newest event of each topic when the subscription began.
        self._newest: dict[str, Position] = {}
        self._is_past = False
        self._logged: set[str] = set()
        self._changed = asyncio.Condition()
        self._error: Exception | None = None
        self._is_ended = False
        self._is_live = False
        # The current connection has opened.
        self._is_open = False
        self._outage = Outage()
        # Earlier messages of the long reply that is arriving. Nothing else arrives between them.
        self._parts: list[Mapping[str, Any]] = []
        # As the notice `layout` of this connection names them, before its first heartbeat; and as `on_layout` got them.
        self._layout: list[Venue] = []
        self._reported_layout: list[Venue] = []
        self._is_consumed = options.get("on_event") is not None
        self._failures = 0
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._run())
        self._consumer = loop.create_task(self._consume()) if self._is_consumed else None

    @property
    def positions(self) -> Mapping[str, Position]:
        """Positions of the last events that the consumer received: `since` of a later subscription."""
        return dict(self._positions)

    @property
    def is_past(self) -> bool:
        """Whether the event that the consumer received last was published before the subscription began: with `last` or `snapshot`."""
        return self._is_past

    async def __anext__(self) -> E:
        if self._consumer is not None:
            raise SluiceError("The subscription has a consumer: on_event.", code="INVALID_REQUEST", retryable=False)
        self._is_consumed = True
        item = await self._next()
        if item is None:
            raise StopAsyncIteration
        return cast(E, item[0])

    async def close(self) -> None:
        """Ends the subscription and drops the events that wait. `positions` stays before these events.

        It waits until `on_event` has finished, except if `on_event` calls it.
        """
        self._waiting.clear()
        await self._end(None)
        self._task.cancel()
        ending: set[asyncio.Task[None]] = {self._task}
        if self._consumer is not None and not _is_in_on_event.get():
            ending.add(self._consumer)
        await asyncio.wait(ending)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _next(self) -> tuple[Any, str] | None:
        """The next event and its topic; None at the end. Raises the error of the subscription."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: len(self._waiting) > 0 or self._is_ended)
                if len(self._waiting) == 0:
                    if self._error is not None:
                        raise self._error
                    return None
                event, gap, topic, position = self._waiting.popleft()
                if position is not None:
                    self._positions[topic] = position
                newest = self._newest.get(topic)
                self._is_past = position is None or (
                    newest is not None and newest["epoch"] == position["epoch"] and position["seq"] <= newest["seq"]
                )
                self._changed.notify_all()
            if gap is None:
                return event, topic
            if (on_gap := self._options.get("on_gap")) is not None:
                on_gap(gap)

    async def _consume(self) -> None:
        _is_in_on_event.set(True)
        on_event, on_error = self._options.get("on_event"), self._options.get("on_error")
        assert on_event is not None
        try:
            while (item := await self._next()) is not None:
                pending = on_event(*item)
                if inspect.isawaitable(pending):
                    await pending
        except Exception as fault:
            # After a fault in a callback nobody would consume the events.
            await self.close()
            if on_error is not None:
                on_error(fault)
            else:
                text = "A subscription failed, and it has no on_error"
                asyncio.get_running_loop().call_exception_handler({"message": text, "exception": fault})

    async def _end(self, error: Exception | None) -> None:
        async with self._changed:
            if self._is_ended:
                return
            self._error = error
            self._is_ended = True
            self._changed.notify_all()
        on_error = self._options.get("on_error")
        if error is not None and not self._is_consumed and on_error is not None:
            on_error(error)

    async def _run(self) -> None:
        turn = 0
        try:
            while not self._is_ended:
                url = self._urls[turn % len(self._urls)]
                turn += 1
                pause_s: float | None = None
                self._is_open = False
                try:
                    await self._follow(url)
                except _Lost as lost:
                    reason, pause_s = str(lost), lost.pause_s
                except (OSError, WebSocketException, asyncio.TimeoutError) as fault:
                    reason = reason_of(fault) if self._is_open else cannot_reach(url, reason_of(fault))
                self._is_live = False
                if pause_s is None:
                    pause_s = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._failures, 10)) * (0.5 + random.random() / 2)
                self._failures += 1
                self._report_lost(reason, pause_s)
                await asyncio.sleep(pause_s)
        except asyncio.CancelledError:
            raise
        except Exception as fault:  # The consumer raises it.
            await self._end(fault)

    async def _follow(self, url: str) -> None:
        key, query = await self._ask_for_credentials("&" if "?" in url else "?")
        socket = await self._open(url, query)
        async with socket:
            self._is_open = True
            within_s: float | None = None
            self._parts.clear()
            self._layout = []
            asked: set[str] = set()
            is_ready = key is None
            if is_ready:
                asked = await self._subscribe(socket)
            else:
                await socket.send(json.dumps({"id": "auth", "op": "auth", "key": key}))
            while True:
                try:
                    async with asyncio.timeout(SILENT_S):
                        text = await socket.recv()
                except TimeoutError:
                    raise _Lost(f"nothing arrived for {SILENT_S:g} s") from None
                except ConnectionClosed as closed:
                    code = closed.rcvd.code if closed.rcvd is not None else 1006
                    may_renew = self._credentials.renews_key and is_ready and code == UNAUTHENTICATED_CODE
                    if LAST_TEMPORARY_CODE < code < 5_000 and not may_renew:
                        message = f"The gateway closed the stream: {code} {closed.rcvd.reason if closed.rcvd else ''}."
                        raise SluiceError(
                            message, code="UNAUTHENTICATED", retryable=False, details={"closeCode": code}
                        ) from None
                    pause_s = None if within_s is None else within_s * random.random()
                    raise _Lost(f"the connection closed with {code}", pause_s) from None
                try:
                    message_in = json.loads(text)
                except (ValueError, RecursionError):
                    raise _Lost("the gateway sent no JSON") from None
                if not _is_message(message_in):
                    raise _Lost("the gateway sent a message in a wrong form")
                if message_in.get("op") == "authenticated":
                    is_ready = True
                    asked = await self._subscribe(socket)
                elif message_in.get("op") == "draining":
                    within_ms = message_in.get("reconnectWithinMs", 0)
                    within_s = within_ms / 1_000 if isinstance(within_ms, (int, float)) else 0.0
                else:
                    await self._on_message(message_in, asked, url)

    async def _open(self, url: str, query: str) -> ClientConnection:
        """Reports a slow connection before it gives up."""
        opening = asyncio.get_running_loop().create_task(_connect(f"{url}{query}"))
        try:
            done, _ = await asyncio.wait({opening}, timeout=SLOW_S)
            if not done:
                self._report_lost(cannot_reach(url, f"no answer within {SLOW_S:g} s"), OPEN_WITHIN_S - SLOW_S)
            return await opening
        except BaseException:
            # It may have opened while this task was cancelled.
            if not opening.cancel() and not opening.cancelled() and opening.exception() is None:
                await opening.result().close()
            raise

    async def _ask_for_credentials(self, separator: str) -> tuple[str | None, str]:
        """The key, and the query of the URL."""
        try:
            return await self._credentials.of_connection(separator)
        except SluiceError as error:
            if not error.retryable:
                raise
            raise _Lost(str(error)) from error
        except Exception as fault:
            raise _Lost(reason_of(fault)) from fault

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
                command["programs" if request["channel"] == "programs" else "mints"] = mints
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
            gap = cast(Gap, message)
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
            if (on_heartbeat := self._options.get("on_heartbeat")) is not None:
                on_heartbeat({"ts": message["ts"], "slotAgeMs": message.get("slotAgeMs")})
            if self._layout != self._reported_layout:
                self._reported_layout = self._layout
                if (on_layout := self._options.get("on_layout")) is not None:
                    on_layout(list(self._layout))
        elif op == "layout":
            self._layout = message["venues"]
        elif op == "subscribed":
            await self._on_subscribed(message, asked, url)
        elif op == "error":
            error = message["error"]
            if error["retryable"]:
                raise _Lost(error["message"])
            raise SluiceError(error["message"], code=error["code"], retryable=False, details=error.get("details"))

    async def _on_subscribed(self, message: Mapping[str, Any], asked: set[str], url: str) -> None:
        if "of" in message:
            self._parts.append(message)
            return
        parts = [*self._parts, message]
        self._parts.clear()
        positions: dict[str, Any] = {topic: position for part in parts for topic, position in part["positions"].items()}
        rejected: list[RejectedKey] = [key for part in parts for key in part.get("rejected", [])]
        on_rejected = self._options.get("on_rejected")
        if rejected and on_rejected is not None:
            on_rejected(rejected)
        if rejected and not positions:
            text = f"Nothing is followed: \"{rejected[0]['key']}\" was rejected ({rejected[0]['code']})."
            raise SluiceError(text, code=rejected[0]["code"], retryable=False, details={"rejected": rejected})
        if on_rejected is None:
            self._log_rejected(rejected)
        for topic, position in positions.items():
            progress = self._progress.get(topic)
            if progress is None:
                self._progress[topic] = TopicProgress(position)
                self._positions.setdefault(topic, self._progress[topic].position)
            else:
                progress.resume(position, position.get("recovered", False))
            if "newest" in position:
                self._newest[topic] = {"epoch": position["epoch"], "seq": position["newest"]}
        for each in (frame for part in parts for frame in part.get("snapshot", [])):
            await self._push((each["data"], None, each["topic"], None))
        self._failures = 0
        asked.discard(message["id"])
        if not asked and not self._is_live:
            self._is_live = True
            self._outage.end()
            self._report({"state": "live", "url": url})

    def _log_rejected(self, rejected: Sequence[RejectedKey]) -> None:
        """Once for each key, and not again after each connection."""
        new = [each for each in rejected if each["key"] not in self._logged]
        if not new:
            return
        self._logged.update(each["key"] for each in new)
        named = ", ".join(f"{each['key']} ({each['code']})" for each in new[:KEYS_PER_LINE])
        more = f" and {len(new) - KEYS_PER_LINE} more" if len(new) > KEYS_PER_LINE else ""
        logger.warning("%s: not followed: %s%s. Give on_rejected to handle this.", self._request["channel"], named, more)

    async def _push(self, item: tuple[Any, Gap | None, str, Position | None]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._waiting) < self._max_waiting or self._is_ended)
            if not self._is_ended:
                self._waiting.append(item)
            self._changed.notify_all()

    def _report_lost(self, reason: str, in_s: float) -> None:
        if self._options.get("on_status") is None and not self._is_open:
            self._outage.begin(reason, " Give on_status to handle this.")
        self._report({"state": "reconnecting", "reason": reason, "in_s": in_s})

    def _report(self, status: Status) -> None:
        if (on_status := self._options.get("on_status")) is not None:
            on_status(status)


async def _connect(url: str) -> ClientConnection:
    return await _Connect(url, open_timeout=OPEN_WITHIN_S, close_timeout=1, max_size=MAX_MESSAGE_BYTES)


def _is_message(message: object) -> bool:
    """Whether the fields that are used below have their types. No message of a gateway may end the program."""
    if not isinstance(message, dict):
        return False
    op = message.get("op")
    if op is None:
        return isinstance(message.get("topic"), str) and isinstance(message.get("seq"), int) and _is_event(message.get("data"))
    if op == "gap":
        to = message.get("to")
        is_range = isinstance(message.get("from"), int) and (to is None or isinstance(to, int))
        return is_range and all(isinstance(message.get(name), str) for name in ("topic", "epoch", "reason"))
    if op == "heartbeat":
        are_times = isinstance(message.get("ts"), int) and isinstance(message.get("slotAgeMs", 0), int | None)
        return are_times and _are_positions(message.get("positions", {}))
    if op == "layout":
        venues = message.get("venues")
        return isinstance(venues, list) and all(isinstance(one, str) for one in venues)
    if op == "subscribed":
        rejected, snapshot = message.get("rejected", []), message.get("snapshot", [])
        return (
            "id" in message
            and _are_positions(message.get("positions"))
            and all(isinstance(one.get("recovered", False), bool) and isinstance(one.get("newest", 0), int) for one in message["positions"].values())
            and isinstance(rejected, list)
            and all(isinstance(one, dict) and isinstance(one.get("key"), str) and isinstance(one.get("code"), str) for one in rejected)
            and isinstance(snapshot, list)
            and all(isinstance(one, dict) and isinstance(one.get("topic"), str) and _is_event(one.get("data")) for one in snapshot)
        )
    if op == "error":
        error = message.get("error")
        return isinstance(error, dict) and all(
            isinstance(error.get(name), kind) for name, kind in (("code", str), ("message", str), ("retryable", bool))
        )
    return True


def _is_event(data: object) -> bool:
    return isinstance(data, dict) and isinstance(data.get("type"), str)


def _are_positions(positions: object) -> bool:
    return isinstance(positions, dict) and all(
        isinstance(one, dict) and isinstance(one.get("epoch"), str) and isinstance(one.get("seq"), int) for one in positions.values()
    )
