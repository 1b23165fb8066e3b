"""What a program gives to `Sluice.subscribe`."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict, TypeVar

from .wire import CandleInterval, Channel, Commitment, Gap, Position, RejectedKey

# The gateway accepts no larger `last`.
MAX_LAST = 10_000

E = TypeVar("E")
F = TypeVar("F")


class Live(TypedDict):
    """The gateway follows all accepted mints and accounts."""

    state: Literal["live"]
    url: str


class Reconnecting(TypedDict):
    """
    The connection was lost, or could not be opened: `reason` then begins with "cannot reach". The client connects again in `in_s` seconds.
    """

    state: Literal["reconnecting"]
    reason: str
    in_s: float


Status = Live | Reconnecting


class Heartbeat(TypedDict):
    """`ts`: the gateway's clock, Unix microseconds. `slotAgeMs`: time since ingest last saw a newer slot; None before its first report."""

    ts: int
    slotAgeMs: int | None


class SubscribeOptions(TypedDict, Generic[E], total=False):
    """Options of every channel."""

    mints: Sequence[str] | None
    """Mints to follow. Required for prices and candles. Without `mints` and `accounts` you follow all trades; an empty list is refused."""
    accounts: Sequence[str] | None
    """Wallets whose trades to follow. Only for trades."""
    interval: CandleInterval | None
    """Length of the candles, for example `1m`. Required for candles."""
    commitment: Literal["processed", "confirmed"] | None
    """`confirmed`: events come once their slot is confirmed, and none is retracted."""
    snapshot: bool
    """Begin with the newest event of each topic."""
    last: int | None
    """
    Begin with the newest events of each topic that the gateway retains, at most this many, before the filter. `Subscription.is_past` says of
    each whether it is one of them.
    """
    since: Mapping[str, Position] | None
    """Resume after these positions, which `Subscription.positions` returned."""
    on_event: Callable[[E, str], Awaitable[object] | None] | None
    """Called with each event and its topic, instead of iteration. It may be a coroutine function; the next event waits for it."""
    on_gap: Callable[[Gap], None] | None
    """Events are missing and cannot be replayed. Called in order with the events."""
    on_rejected: Callable[[list[RejectedKey]], None] | None
    """
    Mints and accounts that are not followed, for example because they are not addresses. It is called again after each connection. Without it,
    the client logs a warning, once for each of them. If none is accepted, the subscription ends with a SluiceError.
    """
    on_status: Callable[[Status], None] | None
    """
    The connection of this subscription is live or lost, or a gateway cannot be reached. Without it, the client logs a warning when a gateway
    cannot be reached, once until it is reached.
    """
    on_heartbeat: Callable[[Heartbeat], None] | None
    """Called each second while the connection works. Above a `slotAgeMs` of some seconds, prices may be old."""
    on_error: Callable[[Exception], None] | None
    """
    Called once after a permanent failure if you use `on_event` instead of iteration. The error is a SluiceError, or what `on_event` or another
    callback raised. Without `on_error`, the exception handler of the event loop gets the error, and logs it.
    """
    max_waiting: int
    """Maximum number of events that wait for the consumer; 10,000 by default."""


class FilteredOptions(SubscribeOptions[E], Generic[E, F], total=False):
    """Options of the channels that have filters."""

    filter: F | None
    """Only events that pass it."""


@dataclass(frozen=True, kw_only=True)
class Callbacks:
    """The functions among the options of a subscription."""

    on_event: Callable[[Any, str], Awaitable[object] | None] | None
    on_gap: Callable[[Gap], None] | None
    on_rejected: Callable[[list[RejectedKey]], None] | None
    on_status: Callable[[Status], None] | None
    on_heartbeat: Callable[[Heartbeat], None] | None
    on_error: Callable[[Exception], None] | None


def request_of(
    channel: Channel,
    *,
    mints: Sequence[str] | None,
    accounts: Sequence[str] | None,
    interval: str | None,
    filter: Mapping[str, Any] | None,
    commitment: str | None,
    snapshot: bool,
    last: int | None,
) -> dict[str, Any]:
    """The fields of a subscribe command that are given. Raises a ValueError for wrong ones."""
    for name, keys in (("mints", mints), ("accounts", accounts)):
        if keys is not None and (isinstance(keys, str) or not all(isinstance(key, str) for key in _listed(name, keys))):
            raise ValueError(f"{name} must be a list of strings; it is {keys!r}.")
    if (mints is not None or accounts is not None) and not mints and not accounts:
        raise ValueError("mints and accounts are empty. Leave them out to follow everything.")
    if last is not None and (not isinstance(last, int) or not 1 <= last <= MAX_LAST):
        raise ValueError(f"last must be an integer from 1 to {MAX_LAST}; it is {last!r}.")
    fields = {"mints": _listed("mints", mints or ()), "accounts": _listed("accounts", accounts or ()), "interval": interval, "filter": filter}
    more = {"commitment": commitment, "snapshot": snapshot, "last": last}
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
