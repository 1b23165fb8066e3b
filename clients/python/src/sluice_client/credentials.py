"""What authorizes requests and connections."""

import re
from collections.abc import Awaitable, Callable
from urllib.parse import quote as escape

from .errors import SluiceError

WORDS = "printable ASCII characters without spaces"


class Credentials:
    """The API key or the tickets of a client. The constructor raises a ValueError for wrong ones."""

    def __init__(
        self, api_key: str | Callable[[], Awaitable[str]] | None, ticket: Callable[[], Awaitable[str]] | None
    ) -> None:
        if api_key is not None and not callable(api_key) and not _is_header_value(api_key):
            raise ValueError(f"api_key must have {WORDS}, or be a function that returns such a key.")
        if ticket is not None and not callable(ticket):
            raise ValueError("ticket must be a function that returns a ticket.")
        if api_key is None and ticket is None:
            raise ValueError("Sluice needs an api_key or a ticket.")
        self._api_key = api_key
        self._ticket = ticket
        self.renews_key = callable(api_key)
        """A key that worked and has ended is asked for again."""

    async def headers(self) -> dict[str, str]:
        """Of one request."""
        key = await self._key()
        if key is None:
            return {}
        if not _is_header_value(key):
            raise SluiceError(f"api_key must return {WORDS}.", code="INVALID_REQUEST", retryable=False)
        return {"Authorization": f"Bearer {key}"}

    async def of_connection(self, separator: str) -> tuple[str | None, str]:
        """The key of one connection of the stream, or None and the query that has its ticket."""
        if self._ticket is not None:
            return None, f"{separator}ticket={escape(await self._ticket(), safe='')}"
        return await self._key(), ""

    async def _key(self) -> str | None:
        return await self._api_key() if callable(self._api_key) else self._api_key


def _is_header_value(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[!-~]+", value) is not None
