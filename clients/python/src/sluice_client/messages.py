"""Shapes of the stream. PROTOCOL.md describes them."""

from typing import Any, Literal, TypedDict

Channel = Literal["newTokens", "migrations", "trades", "prices", "candles", "orders"]

Event = dict[str, Any]
"""An event of a channel, with `type` and `id`; `{"type": "retract", "id": …}` makes an earlier one void."""


class Position(TypedDict):
    """A position in a topic."""

    epoch: str
    seq: int


Gap = TypedDict("Gap", {"topic": str, "epoch": str, "from": int, "to": int | None, "reason": str})
"""Frames `from` to `to` of a topic are lost and cannot be replayed. `to` is None if the end is unknown."""
