"""Which frames of one topic were received."""

from typing import Literal

from .wire import Gap, Position

Verdict = Literal["deliver", "repeat", "hole"]


class TopicProgress:
    """Decides by its number whether a frame is new, a repetition, or comes after a hole."""

    def __init__(self, position: Position) -> None:
        self.epoch = position["epoch"]
        self.seq = position["seq"]
        # Frames up to this number were received before. A gateway that did not have them yet may send them again.
        self._received = self.seq
        # After a gap without an end the next frame may have any number.
        self._accepts_any_number = False

    @property
    def position(self) -> Position:
        """Where to resume."""
        return {"epoch": self.epoch, "seq": self.seq}

    def resume(self, position: Position, recovered: bool) -> None:
        """Applies the reply to a `subscribe` with `since`. If `recovered` is false, a gap follows."""
        if not recovered:
            if position["epoch"] != self.epoch:
                self._received = 0
            self.seq = position["seq"]
            self._accepts_any_number = False
        self.epoch = position["epoch"]

    def frame(self, seq: int, prev: int | None) -> Verdict:
        """`prev`: the number of the previous frame that passed the filter. It is set only if the subscription has a filter."""
        if not self._accepts_any_number:
            if seq <= self.seq:
                return "repeat"
            if seq != self.seq + 1 if prev is None else prev > self.seq:
                return "hole"
        self._accepts_any_number = False
        self.seq = seq
        if seq <= self._received:
            return "repeat"
        self._received = seq
        return "deliver"

    def gap(self, gap: Gap) -> None:
        """Continues after a gap."""
        first, last = gap["from"], gap["to"]
        is_continued = last is not None and last < first
        if gap["epoch"] != self.epoch and not is_continued:
            self._received = 0
        self.epoch = gap["epoch"]
        if is_continued:
            return
        if last is None:
            self._accepts_any_number = True
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
        return self._accepts_any_number or position["seq"] <= self.seq
