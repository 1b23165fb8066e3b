"""Client of sluice: a stream that resumes by itself, and the HTTP interface."""

from . import wire
from .errors import SluiceError
from .options import FilteredOptions, Heartbeat, Live, Reconnecting, Status, SubscribeOptions
from .printable import printable
from .sluice import Sluice
from .subscription import Subscription
from .wire import *

__all__ = [
    "FilteredOptions",
    "Live",
    "Reconnecting",
    "Sluice",
    "SluiceError",
    "Status",
    "Heartbeat",
    "SubscribeOptions",
    "Subscription",
    "printable",
]
__all__ += wire.__all__
