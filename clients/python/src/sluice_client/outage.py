"""What the client says of a gateway that it cannot reach."""

import logging
import re

logger = logging.getLogger("sluice_client")

# A connection that has not answered for this long is reported, although it may still open.
SLOW_S = 1.0


class Outage:
    """Logs once that a gateway cannot be reached, until it is reached again."""

    def __init__(self) -> None:
        self._is_logged = False

    def begin(self, reason: str, advice: str = "") -> None:
        if not self._is_logged:
            self._is_logged = True
            logger.warning("%s, retrying.%s", reason, advice)

    def end(self) -> None:
        self._is_logged = False


def cannot_reach(url: str, why: str) -> str:
    """`cannot reach ws://127.0.0.1:8080/api/data (Connect call failed)`. Without the user and the password of the URL."""
    return f"cannot reach {re.sub(r'//[^/?#]*@', '//', url)} ({why})"


def reason_of(fault: BaseException) -> str:
    return str(fault) or type(fault).__name__
