"""Tests against a running sluice on simnet: SLUICE_URL, SLUICE_API_KEY, WALLET. `npx -y pnpm@12 test:python` runs them."""

import asyncio
import logging
import os
import re
import subprocess
import sys
import unittest
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

from sluice_client import Event, Gap, Sluice, SluiceError
from sluice_client.topic_progress import TopicProgress

URL, KEY, WALLET = (os.environ[name] for name in ("SLUICE_URL", "SLUICE_API_KEY", "WALLET"))
WITHIN_S = 30
SOL = "So11111111111111111111111111111111111111112"
# In tests asyncio reports each slow step.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)


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


class ClientTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.proxy = Proxy()
        self.sluice = Sluice(await self.proxy.start(), KEY)

    async def asyncTearDown(self) -> None:
        await self.sluice.close()
        self.proxy.close()

    async def test_resumes_after_each_cut_without_a_loss_or_a_repetition(self) -> None:
        gaps: list[Gap] = []
        whole: list[str] = []
        cut: list[str] = []
        direct = Sluice(URL, KEY)
        reference = direct.subscribe("trades")
        await _first(reference)
        async with asyncio.timeout(WITHIN_S):
            # Both begin at the same position.
            other = self.sluice.subscribe("trades", since=reference.positions, on_gap=gaps.append)
            for turn in range(3):
                for _ in range(20):
                    cut.append((await _next(other))["id"])
                self.proxy.cut()
            while len(whole) < len(cut):
                whole.append((await _next(reference))["id"])
        self.assertEqual(cut, whole)
        self.assertEqual(gaps, [])
        self.assertGreaterEqual(self.proxy.connections, 3)
        await direct.close()

    async def test_reports_what_cannot_be_replayed(self) -> None:
        gaps: list[Gap] = []
        since = {"trades": {"epoch": "another", "seq": 7}}
        async with asyncio.timeout(WITHIN_S):
            await _first(self.sluice.subscribe("trades", since=since, on_gap=gaps.append))  # type: ignore[arg-type]
        self.assertEqual([(gap["topic"], gap["reason"]) for gap in gaps], [("trades", "epoch")])

    async def test_stops_reading_while_the_consumer_is_slow(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            subscription = self.sluice.subscribe("trades", max_waiting=5)
            seen = [(await _next(subscription))["id"]]
            await asyncio.sleep(2)
            self.assertEqual(len(subscription._waiting), 5)
            before = subscription.positions
            for _ in range(20):
                seen.append((await _next(subscription))["id"])
            again = self.sluice.subscribe("trades", since=before)
            self.assertEqual([(await _next(again))["id"] for _ in range(20)], seen[1:])

    async def test_raises_an_error_that_does_not_pass(self) -> None:
        async with asyncio.timeout(WITHIN_S), Sluice(URL, "sluice_nobody_x") as stranger:
            with self.assertRaises(SluiceError) as raised:
                await _first(stranger.subscribe("trades"))
            self.assertEqual((raised.exception.code, raised.exception.retryable), ("UNAUTHENTICATED", False))
            with self.assertRaises(SluiceError) as refused:
                await stranger.portfolio(WALLET)
            self.assertEqual((refused.exception.code, refused.exception.status), ("UNAUTHENTICATED", 401))

    async def test_ends_with_close(self) -> None:
        subscription = self.sluice.subscribe("trades")
        await _first(subscription)
        await subscription.close()
        self.assertEqual([event async for event in subscription], [])

    async def test_quotes_buys_once_and_reads(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            mint = (await _first(self.sluice.subscribe("newTokens", filter={"pool": "pump", "quoteMint": SOL})))["mint"]
            quote = await self.sluice.quote(side="buy", mint=mint, amount=0.01)
            self.assertGreater(quote["quote"]["outUiAmount"], 0)
            order = {"publicKey": WALLET, "mint": mint, "amount": 0.01, "slippage": 50}
            bought = await self.sluice.buy(**order, idempotency_key=f"python-{mint}")
            again = await self.sluice.buy(**order, idempotency_key=f"python-{mint}")
            self.assertEqual(bought["orderId"], again["orderId"])
            self.assertEqual((await self.sluice.order(bought["orderId"]))["mint"], mint)
            self.assertEqual((await self.sluice.orders(limit=1))["orders"][0]["orderId"], bought["orderId"])
            self.assertEqual((await self.sluice.token_info(mint))["mint"], mint)
            self.assertEqual((await self.sluice.candles(mint, interval="1s", limit=5))["interval"], "1s")
            self.assertEqual((await self.sluice.trades(mint, limit=1))["mint"], mint)
            self.assertEqual((await self.sluice.portfolio(WALLET))["publicKey"], WALLET)

    async def test_uses_another_gateway_after_a_failure(self) -> None:
        async with asyncio.timeout(WITHIN_S), Sluice(["http://127.0.0.1:1", URL], KEY) as several:
            self.assertEqual((await several.portfolio(WALLET))["publicKey"], WALLET)
            await _first(several.subscribe("trades"))


class PlaceTest(unittest.TestCase):
    def test_takes_the_next_frame_alone(self) -> None:
        progress = TopicProgress({"epoch": "a", "seq": 5})
        self.assertEqual([progress.frame(seq, None) for seq in (6, 6, 8)], ["deliver", "repeat", "hole"])
        self.assertFalse(progress.heartbeat({"epoch": "a", "seq": 7}, False))

    def test_goes_on_behind_a_gap(self) -> None:
        progress = TopicProgress({"epoch": "a", "seq": 5})
        progress.gap({"topic": "t", "from": 6, "to": 9, "reason": "trimmed", "epoch": "a"})
        self.assertEqual(progress.frame(10, None), "deliver")
        progress.gap({"topic": "t", "from": 11, "to": None, "reason": "epoch", "epoch": "b"})
        self.assertEqual((progress.frame(3, None), progress.position), ("deliver", {"epoch": "b", "seq": 3}))


class ReadmeTest(unittest.TestCase):
    def test_the_sample_runs(self) -> None:
        readme = (Path(__file__).parent.parent / "README.md").read_text()
        sample = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0].replace("http://127.0.0.1:8080", URL)
        ran = subprocess.run([sys.executable, "-c", sample], capture_output=True, text=True, timeout=WITHIN_S)
        self.assertRegex(ran.stdout, r"0\.1 SOL would buy [\d.]+", ran.stderr)


async def _next(events: AsyncIterator[Event]) -> Event:
    """The next event that is no retraction."""
    async for event in events:
        if event["type"] != "retract":
            return event
    raise AssertionError("the subscription has ended")


_first = _next

if __name__ == "__main__":
    unittest.main()
