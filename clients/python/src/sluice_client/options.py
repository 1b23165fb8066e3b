"""What a program gives to `Sluice.subscribe`."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar

from .wire import CandleInterval, Channel, Commitment, Gap, Position, RejectedKey, Venue

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
    programs: Sequence[str] | None
    """Programs to follow. Required for `programs`."""
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
    on_layout: Callable[[list[Venue]], None] | None
    """Venues whose programs may have changed: events of them may be missing. Called within seconds of a change; empty: all are read again."""
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


def check_options(options: FilteredOptions[Any, Any]) -> None:
    """Raises a TypeError for an unknown option, and a ValueError for a value that would end or block the subscription without an error."""
    unknown = sorted(options.keys() - FilteredOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"subscribe has no option {unknown[0]}. It has {', '.join(FilteredOptions.__annotations__)}.")
    last, since, max_waiting = options.get("last"), options.get("since"), options.get("max_waiting", 1)
    if last is not None and (not isinstance(last, int) or not 1 <= last <= MAX_LAST):
        raise ValueError(f"last must be an integer from 1 to {MAX_LAST}; it is {last!r}.")
    if not isinstance(max_waiting, int) or max_waiting < 1:
        raise ValueError(f"max_waiting must be an integer from 1; it is {max_waiting!r}.")
    if since is not None and not (isinstance(since, Mapping) and all(_is_position(each) for each in since.values())):
        raise ValueError(f'since must be the positions of a subscription, {{topic: {{"epoch", "seq"}}}}; it is {since!r}.')


def request_of(channel: Channel, options: FilteredOptions[Any, Any]) -> dict[str, Any]:
    """The fields of a subscribe command that are given. Raises a ValueError for wrong ones."""
    programs, mints, accounts = (_listed(name, options.get(name)) for name in ("programs", "mints", "accounts"))
    if not mints and not accounts and (options.get("mints") is not None or options.get("accounts") is not None):
        raise ValueError("mints and accounts are empty. Leave them out to follow everything.")
    others = {name: options.get(name) for name in ("interval", "filter", "commitment", "snapshot", "last")}
    fields = {"mints": mints or programs, "accounts": accounts, **others}
    request = {"channel": channel, **{name: value for name, value in fields.items() if value}}
    try:
        json.dumps(request, allow_nan=False)
    except (TypeError, ValueError) as fault:
        raise ValueError(f"The subscription cannot be written: {fault}") from fault
    return request


def _is_position(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("epoch"), str) and isinstance(value.get("seq"), int)


def _listed(name: str, keys: object) -> list[str]:
    if keys is None:
        return []
    if isinstance(keys, Iterable) and not isinstance(keys, str):
        listed = list(keys)
        if all(isinstance(key, str) for key in listed):
            return listed
    raise ValueError(f"{name} must be a list of strings; it is {keys!r}.")
