"""Tests against a running sluice on simnet: SLUICE_URL, SLUICE_API_KEY, WALLET. `npx -y pnpm@12 test:python` runs them."""

import asyncio
import re
import subprocess
import sys
import unittest
from pathlib import Path

from fits import faults
from running import KEY, SOL, URL, WALLET, WITHIN_S, Proxy, new_mint, next_event
from sluice_client import (
    BatchAnswer,
    BatchBuy,
    BatchSell,
    BuyBody,
    CancelledTriggers,
    CandlePage,
    Gap,
    OrderObject,
    OrderPage,
    Portfolio,
    Position,
    QuoteAnswer,
    Sluice,
    SluiceError,
    TokenHolders,
    TokenInfo,
    TokenSearch,
    TradeAnswer,
    TradePage,
    TriggerBody,
    TriggerBodyThen,
    TriggerObject,
    TriggerPage,
    wire,
)
from sluice_client.topic_progress import TopicProgress


def address(number: int) -> str:
    """Base58 of 32 bytes."""
    digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    left, text = 7 * 256**31 + number, ""
    while left > 0:
        left, digit = divmod(left, 58)
        text = digits[digit] + text
    return text


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
        await next_event(reference)
        async with asyncio.timeout(WITHIN_S):
            # Both begin at the same position.
            other = self.sluice.subscribe("trades", since=reference.positions, on_gap=gaps.append)
            for turn in range(3):
                for _ in range(20):
                    cut.append((await next_event(other))["id"])
                self.proxy.cut()
            while len(whole) < len(cut):
                whole.append((await next_event(reference))["id"])
        self.assertEqual(cut, whole)
        self.assertEqual(gaps, [])
        self.assertGreaterEqual(self.proxy.connections, 3)
        await direct.close()

    async def test_begins_with_the_past_and_says_so(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            reference = self.sluice.subscribe("trades")
            seen = [(await next_event(reference))["id"] for _ in range(5)]
            subscription = self.sluice.subscribe("trades", last=10_000)
            past: dict[str, bool] = {}
            while seen[-1] not in past or all(past.values()):
                past[(await next_event(subscription))["id"]] = subscription.is_past
        self.assertEqual([past[each] for each in seen], [True] * 5)
        with self.assertRaises(ValueError):
            self.sluice.subscribe("trades", last=0)

    async def test_joins_the_messages_of_a_long_reply(self) -> None:
        mints = [address(n) for n in range(1_500)]
        rejected: list[str] = []
        states: list[str] = []
        subscription = self.sluice.subscribe(
            "trades",
            mints=[*mints, *(f"not a mint {n}" for n in range(400))],
            on_rejected=lambda keys: rejected.extend(each["key"] for each in keys),
            on_status=lambda status: states.append(status["state"]),
        )
        async with asyncio.timeout(WITHIN_S):
            while "live" not in states:
                await asyncio.sleep(0.05)
        self.assertEqual(set(subscription.positions), {f"trades:{mint}" for mint in mints})
        self.assertEqual(len(rejected), 400)

    async def test_reports_what_cannot_be_replayed(self) -> None:
        gaps: list[Gap] = []
        since: dict[str, Position] = {"trades": {"epoch": "another", "seq": 7}}
        async with asyncio.timeout(WITHIN_S):
            await next_event(self.sluice.subscribe("trades", since=since, on_gap=gaps.append))
        self.assertEqual([(gap["topic"], gap["reason"], faults(gap, Gap)) for gap in gaps], [("trades", "epoch", [])])

    async def test_stops_reading_while_the_consumer_is_slow(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            subscription = self.sluice.subscribe("trades", max_waiting=5)
            seen = [(await next_event(subscription))["id"]]
            await asyncio.sleep(2)
            self.assertEqual(len(subscription._waiting), 5)
            before = subscription.positions
            for _ in range(20):
                seen.append((await next_event(subscription))["id"])
            again = self.sluice.subscribe("trades", since=before)
            self.assertEqual([(await next_event(again))["id"] for _ in range(20)], seen[1:])

    async def test_raises_an_error_that_does_not_pass(self) -> None:
        async with asyncio.timeout(WITHIN_S), Sluice(URL, "sluice_nobody_x") as stranger:
            with self.assertRaises(SluiceError) as raised:
                await next_event(stranger.subscribe("trades"))
            self.assertEqual((raised.exception.code, raised.exception.retryable), ("UNAUTHENTICATED", False))
            with self.assertRaises(SluiceError) as refused:
                await stranger.portfolio(WALLET)
            self.assertEqual((refused.exception.code, refused.exception.status), ("UNAUTHENTICATED", 401))

    async def test_ends_with_close(self) -> None:
        subscription = self.sluice.subscribe("trades")
        await next_event(subscription)
        await subscription.close()
        self.assertEqual([event async for event in subscription], [])

    async def test_quotes_buys_once_and_reads(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            mint = await new_mint(self.sluice)
            quote = await self.sluice.quote(side="buy", mint=mint, amount=0.01)
            self.assertGreater(quote["quote"]["outUiAmount"], 0)
            order: BuyBody = {"publicKey": WALLET, "mint": mint, "amount": 0.01, "slippage": 50}
            bought = await self.sluice.buy(**order, idempotency_key=f"python-{mint}")
            again = await self.sluice.buy(**order, idempotency_key=f"python-{mint}")
            self.assertEqual(bought["orderId"], again["orderId"])
            found = await self.sluice.order(str(bought["orderId"]))
            page = await self.sluice.orders(limit=1)
            purchase: BatchBuy = {"side": "buy", "publicKey": WALLET, "mint": mint, "amount": 0.02, "slippage": 50}
            sale: BatchSell = {"side": "sell", "publicKey": WALLET, "mint": mint, "amount": 1e9}
            batch = await self.sluice.batch(orders=[purchase, sale])
            info = await self.sluice.token_info(mint)
            candles = await self.sluice.candles(mint, interval="1s", limit=5, from_=0)
            trades = await self.sluice.trades(mint, limit=1)
            holders = await self.sluice.holders(mint)
            search = await self.sluice.search_tokens(text=mint, limit=1)
            portfolio = await self.sluice.portfolio(WALLET)
        self.assertEqual((found["mint"], page["orders"][0]["orderId"], info["mint"]), (mint, bought["orderId"], mint))
        self.assertEqual((candles["interval"], trades["mint"], portfolio["publicKey"]), ("1s", mint, WALLET))
        answers = [(quote, QuoteAnswer), (bought, TradeAnswer), (found, OrderObject), (page, OrderPage), (info, TokenInfo)]
        answers += [(batch, BatchAnswer)]
        self.assertEqual(["orderId" in result for result in batch["results"]], [True, False])
        answers += [(candles, CandlePage), (trades, TradePage), (holders, TokenHolders), (search, TokenSearch), (portfolio, Portfolio)]
        self.assertEqual([faults(answer, kind, kind.__name__) for answer, kind in answers], [[]] * len(answers))

    async def test_arms_lists_and_cancels_triggers(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            mint = await new_mint(self.sluice)
            child: TriggerBodyThen = {"side": "sell", "amount": "100%", "when": {"position": "profitPct", "op": "<=", "value": -20}}
            body: TriggerBody = {
                "publicKey": WALLET,
                "mint": mint,
                "side": "buy",
                "amount": 0.01,
                "when": {"metric": "priceSol", "op": ">=", "value": 1e6},
                "then": [child],
            }
            armed = await self.sluice.triggers.arm(**body, idempotency_key=f"python-{mint}")
            again = await self.sluice.triggers.arm(**body, idempotency_key=f"python-{mint}")
            page = await self.sluice.triggers.list(mint=mint, status="armed")
            cancelled = await self.sluice.triggers.cancel(armed["triggerId"])
            waiting = await self.sluice.triggers.get(armed["children"][0])
            rest = await self.sluice.triggers.cancel_all(mint=mint)
        self.assertEqual((again["triggerId"], page["triggers"][0]["triggerId"]), (armed["triggerId"], armed["triggerId"]))
        self.assertEqual((armed["status"], cancelled["status"], waiting["status"]), ("armed", "cancelled", "cancelled"))
        self.assertEqual(rest, {"cancelled": 0, "firing": 0})
        answers = [(armed, TriggerObject), (page, TriggerPage), (rest, CancelledTriggers)]
        self.assertEqual([faults(answer, kind, kind.__name__) for answer, kind in answers], [[]] * len(answers))

    async def test_events_have_the_fields_of_their_types(self) -> None:
        async with asyncio.timeout(WITHIN_S):
            for subscription, kind in (
                (self.sluice.subscribe("newTokens"), wire.NewTokensEvent),
                (self.sluice.subscribe("trades", snapshot=True), wire.TradesEvent),
            ):
                for _ in range(5):
                    self.assertEqual(faults(await anext(subscription), kind), [])

    async def test_uses_another_gateway_after_a_failure(self) -> None:
        async with asyncio.timeout(WITHIN_S), Sluice(["http://127.0.0.1:1", URL], KEY) as several:
            self.assertEqual((await several.portfolio(WALLET))["publicKey"], WALLET)
            await next_event(several.subscribe("trades"))


class PlaceTest(unittest.TestCase):
    def test_takes_the_next_frame_alone(self) -> None:
        progress = TopicProgress({"epoch": "a", "seq": 5})
        self.assertEqual([progress.frame(seq, None) for seq in (6, 6, 8)], ["deliver", "repeat", "hole"])
        self.assertFalse(progress.heartbeat({"epoch": "a", "seq": 7}, False))

    def test_goes_on_behind_a_gap(self) -> None:
        progress = TopicProgress({"epoch": "a", "seq": 5})
        progress.gap({"op": "gap", "topic": "t", "from": 6, "to": 9, "reason": "trimmed", "epoch": "a"})
        self.assertEqual(progress.frame(10, None), "deliver")
        progress.gap({"op": "gap", "topic": "t", "from": 11, "to": None, "reason": "epoch", "epoch": "b"})
        self.assertEqual((progress.frame(3, None), progress.position), ("deliver", {"epoch": "b", "seq": 3}))


class ReadmeTest(unittest.TestCase):
    def test_the_samples_run(self) -> None:
        readme = (Path(__file__).parent.parent / "README.md").read_text()
        samples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        iterating, calling = (sample.replace("http://127.0.0.1:8080", URL) for sample in samples if "asyncio.run(" in sample)
        ran = subprocess.run([sys.executable, "-c", iterating], capture_output=True, text=True, timeout=WITHIN_S)
        self.assertRegex(ran.stdout, r"0\.1 SOL would buy [\d.]+", ran.stderr)
        # This one runs until its key is refused.
        running = subprocess.Popen([sys.executable, "-u", "-c", calling], stdout=subprocess.PIPE, text=True)
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(3)]
        running.kill()
        running.communicate()
        self.assertRegex(lines[-1], r"^trades (buy|sell) [\d.]+")


if __name__ == "__main__":
    unittest.main()
