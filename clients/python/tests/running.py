"""The sluice on simnet that the tests use: SLUICE_URL, SLUICE_API_KEY, WALLET."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from sluice_client import Sluice

URL, KEY, WALLET = (os.environ[name] for name in ("SLUICE_URL", "SLUICE_API_KEY", "WALLET"))
WITHIN_S = 30
SOL = "So11111111111111111111111111111111111111112"
# In tests asyncio reports each slow step.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)
E = TypeVar("E", bound=Mapping[str, object])


class Proxy:
    """Passes connections on to sluice, and cuts them on request."""

    def __init__(self) -> None:
        self._writers: set[asyncio.StreamWriter] = set()
        self.connections = 0

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def close(self) -> None:
        self._server.close()
        self.cut()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        target = urlsplit(URL)
        up_reader, up_writer = await asyncio.open_connection(target.hostname, target.port)
        self._writers |= {writer, up_writer}
        await asyncio.gather(_copy(reader, up_writer), _copy(up_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def next_event(events: AsyncIterator[E]) -> E:
    """The next event that is no retraction."""
    async for event in events:
        if event["type"] != "retract":
            return event
    raise AssertionError("the subscription has ended")


async def new_mint(sluice: Sluice) -> str:
    """The mint of the next new token that trades against SOL."""
    async for event in sluice.subscribe("newTokens", filter={"pool": "pump", "quoteMint": SOL}):
        if event["type"] == "newToken":
            return event["mint"]
    raise AssertionError("the subscription has ended")
