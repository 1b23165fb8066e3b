"""Client of sluice: a stream that resumes by itself, and the HTTP interface."""

from .errors import SluiceError
from .messages import Channel, Event, Gap, Position
from .sluice import Sluice
from .subscription import Subscription

__all__ = ["Channel", "Event", "Gap", "Position", "Sluice", "SluiceError", "Subscription"]
