"""Tests of callbacks and credentials against a running sluice on simnet. `npx -y pnpm@12 test:python` runs them."""

import asyncio
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from running import KEY, URL, WITHIN_S, Proxy, new_mint, next_event
from sluice_client import Heartbeat, RejectedKey, Sluice, SluiceError, Status, TradesEvent

NONSENSE: RejectedKey = {"key": "nonsense", "code": "INVALID_MINT"}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not condition():
            await asyncio.sleep(0.01)


class CallbackTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.proxy = Proxy()
        self.url = await self.proxy.start()
        self.sluice = Sluice(self.url, KEY)
        self.states: list[str] = []
        self.unhandled: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self.unhandled.append(context))

    async def asyncTearDown(self) -> None:
        await self.sluice.close()
        self.proxy.close()

    def _on_status(self, status: Status) -> None:
        self.states.append(status["state"])

    def _is_live(self, times: int) -> bool:
        return self.states.count("live") == times

    async def test_on_event_gets_what_the_iteration_gets_one_at_a_time(self) -> None:
        got: list[tuple[str, str]] = []
        running = 0

        async def on_event(event: TradesEvent, topic: str) -> None:
            nonlocal running
            running += 1
            self.assertEqual(running, 1)
            await asyncio.sleep(0)
            got.append((event["id"], topic))
            running -= 1
            if len(got) == 10:
                self.proxy.cut()

        first = self.sluice.subscribe("trades")
        await next_event(first)
        since = first.positions
        subscription = self.sluice.subscribe("trades", since=since, on_event=on_event)
        await until(lambda: len(got) >= 30)
        await subscription.close()
        count = len(got)
        again = self.sluice.subscribe("trades", since=since)
        async with asyncio.timeout(WITHIN_S):
            self.assertEqual([((await anext(again))["id"], "trades") for _ in got], got)
            with self.assertRaises(SluiceError):
                await anext(subscription)
        self.assertEqual((len(got), self.unhandled), (count, []))

    async def test_says_each_second_how_old_the_newest_slot_is(self) -> None:
        beats: list[Heartbeat] = []
        self.sluice.subscribe("trades", on_event=lambda *_: None, on_heartbeat=beats.append)
        await until(lambda: len(beats) >= 2 and beats[-1]["slotAgeMs"] is not None)
        self.assertGreater(beats[1]["ts"], beats[0]["ts"])

    async def test_says_once_and_at_once_that_nothing_listens(self) -> None:
        self.proxy.close()
        url = self.url.replace("http", "ws")
        with self.assertLogs("sluice_client", "WARNING") as logged:
            self.sluice.subscribe("trades", on_event=lambda *_: None)
            await until(lambda: len(logged.output) > 0)
            self.sluice.subscribe("trades", on_event=lambda *_: None, on_status=self._on_status)
            await until(lambda: self.states.count("reconnecting") >= 3)
            with self.assertRaisesRegex(SluiceError, f"cannot reach {self.url} "):
                await self.sluice.orders()
        self.assertEqual(len(logged.output), 2)
        self.assertRegex(logged.output[0], f"cannot reach {url}/api/data .*, retrying. Give on_status to handle this.")
        self.assertRegex(logged.output[1], f"cannot reach {self.url} .*, retrying.")

    async def test_reports_an_address_that_does_not_answer_before_it_gives_up(self) -> None:
        silent = await asyncio.start_server(lambda *_: asyncio.sleep(WITHIN_S), "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        reasons: list[str] = []

        def on_status(status: Status) -> None:
            if status["state"] == "reconnecting":
                reasons.append(status["reason"])

        subscription = Sluice(f"http://127.0.0.1:{port}", KEY).subscribe("trades", on_status=on_status)
        await until(lambda: len(reasons) > 0)
        await subscription.close()
        silent.close()
        self.assertRegex(reasons[0], r"cannot reach \S+ \(no answer within 1 s\)")

    async def test_close_waits_for_on_event_and_can_be_called_by_it(self) -> None:
        done: list[str] = []

        async def slow(event: TradesEvent, _: str) -> None:
            done.append("begins")
            await asyncio.sleep(0.2)
            done.append("ends")

        waited = self.sluice.subscribe("trades", on_event=slow)
        await until(lambda: len(done) == 1)
        await waited.close()
        self.assertEqual(done, ["begins", "ends"])

        async def closing(event: TradesEvent, _: str) -> None:
            await self.sluice.close()
            done.append("closed")

        for _ in range(2):
            self.sluice.subscribe("trades", on_event=closing)
        await until(lambda: "closed" in done)

    async def test_an_error_ends_it_and_is_reported_once(self) -> None:
        errors: list[Exception] = []

        def failing(event: TradesEvent, _: str) -> None:
            raise KeyError("boom")

        self.sluice.subscribe("trades", on_event=failing, on_error=errors.append)
        await until(lambda: len(errors) > 0)
        self.sluice.subscribe("trades", on_event=failing)
        await until(lambda: len(self.unhandled) > 0)
        async with Sluice(URL, "sluice_nobody_x") as stranger:
            stranger.subscribe("trades", on_event=failing, on_error=errors.append)
            # Nobody iterates this one.
            stranger.subscribe("newTokens", on_error=errors.append)
            await until(lambda: len(errors) == 3)
        await asyncio.sleep(0.1)
        self.assertEqual([type(error) for error in errors], [KeyError, SluiceError, SluiceError])
        self.assertEqual([str(each["exception"]) for each in self.unhandled], ["'boom'"])

    async def test_a_rejected_key_is_reported_or_logged_once(self) -> None:
        mint = await new_mint(self.sluice)
        rejected: list[RejectedKey] = []
        mixed = self.sluice.subscribe("trades", mints=[mint, "nonsense"], on_rejected=rejected.extend, on_status=self._on_status)
        with self.assertNoLogs("sluice_client", "WARNING"):
            await until(lambda: self._is_live(1))
            self.assertEqual(rejected, [NONSENSE])
        await mixed.close()
        self.states.clear()
        with self.assertLogs("sluice_client", "WARNING") as logs:
            self.sluice.subscribe("trades", mints=["nonsense", mint], on_status=self._on_status)
            await until(lambda: self._is_live(1))
            self.proxy.cut()
            await until(lambda: self._is_live(2))
        text = "trades: not followed: nonsense (INVALID_MINT). Give on_rejected to handle this."
        self.assertEqual([line.getMessage() for line in logs.records], [text])

    async def test_fails_if_no_key_is_accepted(self) -> None:
        rejected: list[Sequence[RejectedKey]] = []
        with self.assertNoLogs("sluice_client", "WARNING"), self.assertRaises(SluiceError) as raised:
            await anext(self.sluice.subscribe("prices", mints=["nonsense"], on_rejected=rejected.append))
        self.assertEqual((raised.exception.code, rejected), ("INVALID_MINT", [[NONSENSE]]))

    async def test_asks_for_the_key_or_a_ticket_before_each_connection(self) -> None:
        asked: list[str] = []

        async def key() -> str:
            asked.append("key")
            if len(asked) == 1:
                raise RuntimeError("the vault is closed")
            return KEY

        async def ticket() -> str:
            asked.append("ticket")
            async with httpx.AsyncClient() as http:
                headers = {"Authorization": f"Bearer {KEY}"}
                return str((await http.post(f"{URL}/api/ws-ticket", json={}, headers=headers)).json()["ticket"])

        async with Sluice(self.url, key) as with_key, Sluice(self.url, ticket=ticket, compress=True) as with_ticket:
            for sluice, expected in ((with_key, ["key"] * 3), (with_ticket, ["ticket"] * 2)):
                asked.clear()
                self.states.clear()
                subscription = sluice.subscribe("trades", on_status=self._on_status)
                await until(lambda: self._is_live(1))
                self.proxy.cut()
                await until(lambda: self._is_live(2))
                await next_event(subscription)
                self.assertEqual(asked, expected)
                await subscription.close()


if __name__ == "__main__":
    unittest.main()
