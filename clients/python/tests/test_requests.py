"""Tests of the requests against a server with scripted answers. `npx -y pnpm@12 test:python` runs them."""

import asyncio
import json
import unittest
from collections.abc import Awaitable, Callable, Iterator
from decimal import Decimal
from typing import Any
from unittest.mock import patch

from websockets.asyncio.server import ServerConnection, serve

from sluice_client import BuyBody, Sluice, SluiceError, printable
from sluice_client.wire import Venue

ORDER: BuyBody = {"publicKey": "p", "mint": "m", "amount": 0.1}
Answer = tuple[int, dict[str, str], str] | None
"""Status, headers and body. None: the connection is cut."""
PAGE = "<html>"
ANSWER: dict[str, Any] = {"orderId": "o", "status": "submitted", "side": "buy", "mint": "m", "publicKey": "p", "orders": []}
PLACED: Answer = (200, {}, json.dumps(ANSWER))
SOLD: Answer = (200, {}, json.dumps({**ANSWER, "side": "sell"}))


def refused(status: int, code: str, retryable: bool, **headers: str) -> Answer:
    error = {"code": code, "message": "words", "retryable": retryable, "details": {}}
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps({"error": error, "requestId": "r1"})


async def _from_vault(keys: Iterator[str]) -> str:
    for key in keys:
        return key
    raise LookupError("the vault is empty")


class RequestTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.answers: list[Answer] = []
        self.keys: list[str | None] = []
        self.authorizations: list[str | None] = []
        self.paths: list[str] = []
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        self.sluice = Sluice(self.url, "a_key", retries=1)

    async def asyncTearDown(self) -> None:
        await self.sluice.close()
        self.server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        except asyncio.IncompleteReadError:
            return writer.close()
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        await reader.readexactly(int(fields.get("content-length", 0)))
        self.keys.append(fields.get("idempotency-key"))
        self.authorizations.append(fields.get("authorization"))
        self.paths.append(head[0].split(" ")[1])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is not None:
            status, headers, body = answer
            lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
            writer.write("\r\n".join([*lines, f"Content-Length: {len(body)}", "Connection: close", "", body]).encode())
            await writer.drain()
        writer.close()

    async def _failure(self, call: Awaitable[object]) -> SluiceError:
        with self.assertRaises(SluiceError) as raised:
            await call
        return raised.exception

    async def test_an_order_whose_quote_the_market_has_left_is_not_repeated(self) -> None:
        self.answers = [refused(400, "SLIPPAGE_EXCEEDED", True), PLACED]
        self.assertEqual((await self._failure(self.sluice.buy(**ORDER))).code, "SLIPPAGE_EXCEEDED")
        self.assertEqual(len(self.keys), 1)

    async def test_an_order_whose_answer_is_lost_is_found_with_the_key_of_the_error(self) -> None:
        halted = refused(503, "UPSTREAM_UNAVAILABLE", True)
        lost: list[tuple[str, Answer]] = [("NETWORK", None), ("MALFORMED", (200, {}, PAGE)), ("MALFORMED", (404, {}, PAGE))]
        for code, answer in [*lost, ("UPSTREAM_UNAVAILABLE", halted)]:
            for place in (self.sluice.buy, self.sluice.sell):
                self.keys, self.answers = [], [answer]
                error = await self._failure(place(**ORDER))
                self.assertEqual((error.code, error.retryable), (code, True))
                self.assertRegex(error.idempotency_key or "", "^[0-9a-f]{32}$")
                self.assertEqual(self.keys, [error.idempotency_key] * 2)
                self.assertEqual("call again with the same body" in str(error), code != "UPSTREAM_UNAVAILABLE")
                self.answers = [PLACED if place == self.sluice.buy else SOLD]
                placed = await place(**ORDER, idempotency_key=error.idempotency_key)
                self.assertEqual(placed["orderId"], "o")
                self.assertEqual(set(self.keys), {error.idempotency_key})

    async def test_a_refusal_has_the_key_of_the_caller(self) -> None:
        self.answers = [refused(400, "INSUFFICIENT_BALANCE", False)]
        error = await self._failure(self.sluice.buy(**ORDER, idempotency_key="mine"))
        self.assertEqual((error.code, str(error), error.idempotency_key), ("INSUFFICIENT_BALANCE", "words", "mine"))
        self.assertEqual((await self._failure(self.sluice.quote(side="buy", mint="m", amount=0.1))).idempotency_key, None)

    async def test_an_idempotency_key_that_the_server_may_not_see_is_refused(self) -> None:
        for key in ("", "заказ-1", "é", "a é", "a b", "a\nb", "x" * 256):
            with self.subTest(key=key):
                self.assertEqual((await self._failure(self.sluice.buy(**ORDER, idempotency_key=key))).code, "INVALID_REQUEST")
        self.assertEqual(self.keys, [])

    async def test_a_lost_order_is_reported_as_unknown_if_a_later_attempt_is_refused(self) -> None:
        self.answers = [None, refused(401, "UNAUTHENTICATED", False)]
        error = await self._failure(self.sluice.buy(**ORDER, idempotency_key="mine"))
        self.assertEqual((error.code, error.idempotency_key), ("UNAUTHENTICATED", "mine"))
        self.assertRegex(str(error), r"^words\. The outcome is unknown")

    async def test_an_order_in_progress_is_awaited_beyond_the_retries(self) -> None:
        self.answers = [*[refused(409, "IDEMPOTENCY_IN_PROGRESS", True)] * 4, PLACED]
        self.assertEqual(await self.sluice.buy(**ORDER, idempotency_key="mine"), ANSWER)
        self.assertEqual(self.keys, ["mine"] * 5)

    async def test_asks_for_the_key_before_each_request(self) -> None:
        keys = iter(["one", "two", "a b"])
        sluice = Sluice(self.url, lambda: _from_vault(keys), retries=3)
        self.answers = [(503, {}, PAGE), PLACED]
        await sluice.orders(status="failed", limit=5)
        self.assertEqual(self.authorizations, ["bearer one", "bearer two"])
        self.assertEqual(set(self.paths), {"/api/trade/orders?status=failed&limit=5"})
        self.assertEqual((await self._failure(sluice.orders())).code, "INVALID_REQUEST")
        # Nothing was sent.
        with self.assertRaises(LookupError):
            await sluice.buy(**ORDER)
        self.assertEqual(len(self.authorizations), 2)
        await sluice.close()

    async def test_a_lost_order_counts_more_than_a_key_that_cannot_be_read(self) -> None:
        keys = iter(["one"])
        sluice = Sluice(self.url, lambda: _from_vault(keys))
        self.answers = [None]
        error = await self._failure(sluice.buy(**ORDER, idempotency_key="mine"))
        self.assertEqual((error.code, error.idempotency_key), ("NETWORK", "mine"))
        self.assertRegex(str(error), "The outcome is unknown")
        await sluice.close()

    async def test_a_client_with_tickets_sends_no_key(self) -> None:
        keys = iter(["a ticket"])
        sluice = Sluice(self.url, ticket=lambda: _from_vault(keys))
        self.answers = [PLACED]
        await sluice.token_info("m")
        self.assertEqual((self.authorizations, next(keys)), ([None], "a ticket"))
        await sluice.close()

    async def test_wrong_arguments_send_nothing(self) -> None:
        self.answers = [PLACED]
        buy, wrong_key = self.sluice.buy, ["", "a\nb", "a b", "ä", "x" * 256, 5]
        calls: list[Callable[[], Awaitable[object]]] = [lambda key=key: buy(**ORDER, idempotency_key=key) for key in wrong_key]  # type: ignore[misc]
        for amount in (float("nan"), Decimal("0.1"), "\ud800"):
            calls.append(lambda amount=amount: buy(**{**ORDER, "amount": amount}))  # type: ignore[misc]
        calls += [lambda: self.sluice.order(5), lambda: self.sluice.token_info("\ud800")]  # type: ignore[arg-type]
        for call in calls:
            error = await self._failure(call())
            self.assertEqual((error.code, error.retryable, error.status), ("INVALID_REQUEST", False, None))
        await self.sluice.close()
        self.assertEqual((await self._failure(buy(**ORDER))).code, "CLOSED")
        self.assertEqual(self.keys, [])

    async def test_an_answer_of_another_form_or_without_an_end_is_refused(self) -> None:
        wrong: list[Any] = [{}, [], 5, {**ANSWER, "orderId": None}, {**ANSWER, "side": "sell"}, {**ANSWER, "mint": "n"}]
        for answer in [*wrong, {**ANSWER, "publicKey": "q"}]:
            self.answers = [(200, {}, json.dumps(answer))]
            error = await self._failure(self.sluice.buy(**ORDER))
            self.assertEqual((error.code, error.retryable, error.status), ("MALFORMED", True, 200), msg=str(answer))
        self.answers = [(200, {}, json.dumps({**ANSWER, "orderId": None}))]
        self.assertIsNone((await self.sluice.buy(publicKey="p", mint="m", amount=0.1, dryRun=True))["orderId"])
        self.answers = [(200, {}, json.dumps({**ANSWER, "more": "x" * 17 * 1024 * 1024}))]
        self.assertEqual((await self._failure(self.sluice.token_info("m"))).code, "MALFORMED")

    async def test_a_redirect_is_not_followed(self) -> None:
        for status in (301, 302, 303, 307, 308):
            self.keys, self.answers = [], [(status, {"Location": f"{self.url}/other"}, "")]
            error = await self._failure(self.sluice.buy(**ORDER))
            self.assertEqual((error.code, error.status, len(self.keys)), ("MALFORMED", status, 2))
            self.assertIn("redirects", str(error))

    async def test_a_stream_begins_again_at_a_message_that_no_gateway_sends(self) -> None:
        wrong = [
            "null",
            "5",
            "[null]",
            "[" * 100_000,
            '{"topic":"trades","seq":1}',
            '{"topic":"trades","seq":1,"data":null}',
            '{"op":"heartbeat","positions":{"trades":null}}',
            '{"op":"error","error":null}',
            '{"op":"layout","venues":[5]}',
            '{"op":"gap","topic":"trades"}',
            '{"op":"subscribed","id":"s0","positions":{"trades":null}}',
            '{"op":"subscribed","id":"s0","positions":{},"rejected":[null]}',
            '{"op":"subscribed","id":"s0","positions":{"trades":{"epoch":"a","seq":0}},"snapshot":[{"topic":"trades","data":[]}]}',
        ]
        left = list(wrong)

        async def lie(socket: ServerConnection) -> None:
            async for text in socket:
                command = json.loads(text)
                if command["op"] == "auth":
                    await socket.send(json.dumps({"id": command["id"], "op": "authenticated"}))
                elif left:
                    await socket.send(left.pop(0))
                else:
                    position = {"epoch": "a", "seq": 0, "recovered": False}
                    await socket.send(json.dumps({"id": command["id"], "op": "subscribed", "positions": {"trades": position}}))
                    await socket.send(json.dumps({"op": "layout", "venues": ["meteora-dlmm"]}))
                    await socket.send(json.dumps({"op": "heartbeat", "ts": 1}))
                    await socket.send(json.dumps({"topic": "trades", "seq": 1, "data": {"type": "trade"}}))

        layouts: list[list[Venue]] = []
        async with serve(lie, "127.0.0.1", 0) as server:
            self.enterContext(patch("sluice_client.subscription.FIRST_PAUSE_S", 0.0001))
            sluice = Sluice(f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}", "a_key")
            subscription = sluice.subscribe("trades", on_layout=layouts.append)
            async with asyncio.timeout(60):
                async for event in subscription:
                    self.assertEqual(event["type"], "trade")
                    break
            await sluice.close()
        self.assertEqual((left, layouts), ([], [["meteora-dlmm"]]))

    async def test_the_name_of_a_token_cannot_act_on_a_terminal(self) -> None:
        self.assertEqual(printable("a\x1b[2J\x9b1m\u202e\u2028\nb é 米"), "a[2J1mb é 米")

    async def test_a_stream_follows_no_redirect(self) -> None:
        elsewhere: list[bytes] = []

        async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            elsewhere.append(await reader.read(1))
            writer.close()

        server = await asyncio.start_server(note, "127.0.0.1", 0)
        self.answers = [(307, {"Location": f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/api/data"}, "")]
        reasons: list[str] = []
        subscription = self.sluice.subscribe("newTokens", on_status=lambda status: reasons.append(str(status.get("reason"))))
        async with asyncio.timeout(20):
            while len(reasons) < 2:
                await asyncio.sleep(0.05)
        await subscription.close()
        server.close()
        self.assertIn("307", reasons[0])
        self.assertEqual(elsewhere, [])

    async def test_waits_for_a_retry_after_that_is_a_date_or_comes_from_another_server(self) -> None:
        at = {"Date": "Sun, 06 Nov 1994 08:49:38 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:40 GMT"}
        patient = Sluice(self.url, "a_key", retries=2)
        self.answers = [(503, at, PAGE), refused(429, "RATE_LIMIT", True, Retry_After="1"), PLACED]
        started_s = asyncio.get_running_loop().time()
        self.assertEqual(await patient.token_info("m"), ANSWER)
        self.assertGreater(asyncio.get_running_loop().time() - started_s, 2.9)
        await patient.close()
        for headers in ({"Retry-After": "600"}, {**at, "Date": "Sun, 06 Nov 1994 08:39:40 GMT"}):
            self.keys, self.answers = [], [(429, headers, PAGE)]
            error = await self._failure(self.sluice.token_info("m"))
            self.assertEqual((error.code, error.retryable, error.details), ("MALFORMED", True, {"retryAfterMs": 600_000}))
            self.assertEqual(len(self.keys), 1)
        self.answers = [(503, {"Retry-After": "soon"}, PAGE)]
        self.assertEqual((await self._failure(self.sluice.token_info("m"))).details, {})

    async def test_refuses_wrong_options(self) -> None:
        clients: list[dict[str, Any]] = [{"url": []}, {"url": "ftp://x"}, {"url": "http://["}, {"url": "http://"}, {"url": [None]}]
        clients += [{"api_key": "a\nb"}, {"api_key": "ä"}, {"api_key": ""}, {"api_key": None}, {"ticket": "t"}]
        clients += [{"timeout": -1}, {"timeout": float("nan")}, {"retries": -1}, {"retries": float("nan")}]
        for options in clients:
            with self.assertRaises(ValueError, msg=str(options)):
                Sluice(**{"url": self.url, "api_key": "a_key", **options})
        wrong: list[dict[str, Any]] = [{"max_waiting": 0}, {"max_waiting": -1}, {"max_waiting": float("nan")}]
        wrong += [{"mints": []}, {"accounts": ()}, {"mints": "m"}, {"mints": 5}, {"mints": [5]}]
        wrong += [{"since": 5}, {"since": {"epoch": "a", "seq": 5}}, {"filter": {"minSol": float("nan")}}]
        for options in wrong:
            with self.assertRaises(ValueError, msg=str(options)):
                self.sluice.subscribe("trades", **options)


if __name__ == "__main__":
    unittest.main()
