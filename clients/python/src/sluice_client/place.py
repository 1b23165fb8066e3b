"""The position in one topic."""

from typing import Literal

from .messages import Gap, Position

Verdict = Literal["deliver", "repeat", "hole"]


class Place:
    """Decides by its number whether a frame is new, a repetition, or comes after a hole."""

    def __init__(self, position: Position) -> None:
        self.epoch = position["epoch"]
        self.seq = position["seq"]
        # Frames up to this number were received before. A gateway that did not have them yet may send them again.
        self._received = self.seq
        # After a gap without an end the next frame may have any number.
        self._is_open = False

    @property
    def position(self) -> Position:
        """Where to resume."""
        return {"epoch": self.epoch, "seq": self.seq}

    def resume(self, position: Position, recovered: bool) -> None:
        """Takes the reply to a subscribe command that resumed. If it did not recover, a gap follows."""
        if not recovered:
            if position["epoch"] != self.epoch:
                self._received = 0
            self.seq = position["seq"]
            self._is_open = False
        self.epoch = position["epoch"]

    def frame(self, seq: int, prev: int | None) -> Verdict:
        """`prev` is given under a filter: the number of the frame before this one that passed it."""
        if not self._is_open:
            if seq <= self.seq:
                return "repeat"
            if seq != self.seq + 1 if prev is None else prev > self.seq:
                return "hole"
        self._is_open = False
        self.seq = seq
        if seq <= self._received:
            return "repeat"
        self._received = seq
        return "deliver"

    def gap(self, gap: Gap) -> None:
        """Goes on behind a gap."""
        first, last = gap["from"], gap["to"]
        is_continued = last is not None and last < first
        if gap["epoch"] != self.epoch and not is_continued:
            self._received = 0
        self.epoch = gap["epoch"]
        if is_continued:
            return
        if last is None:
            self._is_open = True
            if gap["reason"] == "ahead":
                self.seq = first - 1
        else:
            self.seq = max(self.seq, last)

    def heartbeat(self, position: Position, is_filtered: bool) -> bool:
        """False if the gateway has sent a frame that did not arrive."""
        if position["epoch"] != self.epoch:
            return False
        if is_filtered:
            self.seq = max(self.seq, position["seq"])
            return True
        return self._is_open or position["seq"] <= self.seq
