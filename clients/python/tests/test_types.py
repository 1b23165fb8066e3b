"""A program that uses the types of the client. `mypy --strict` checks it: each `type: ignore` must be needed."""

from typing import assert_type

from sluice_client import (
    CandlesEvent,
    Event,
    Migration,
    NewToken,
    OrderStatus,
    OrdersEvent,
    PricesEvent,
    Retract,
    Sluice,
    SluiceError,
    Subscription,
    TokenMetadata,
    Trade,
    TradesEvent,
)


async def follow(sluice: Sluice, mint: str) -> None:
    async for event in sluice.subscribe("trades", mints=[mint], filter={"minSol": 0.1, "pool": ["pump", "pump-amm"]}):
        if event["type"] == "retract":
            assert_type(event, Retract)
            continue
        assert_type(event, Trade)
        assert_type(event["solAmount"], float | None)
        assert_type(event["ts"]["received"], int)
        assert_type(event.get("traderBalance"), str | None)
        event["nothing"]  # type: ignore[typeddict-item]
    async for created in sluice.subscribe("newTokens", filter={"creator": mint}):
        assert_type(created, NewToken | TokenMetadata | Retract)
    async for moved in sluice.subscribe("migrations", on_gap=lambda gap: print(gap["from"], gap["to"])):
        assert_type(moved, Migration | Retract)
    assert_type(sluice.subscribe("prices", mints=[mint]), Subscription[PricesEvent])
    assert_type(sluice.subscribe("candles", mints=[mint], interval="1m"), Subscription[CandlesEvent])
    assert_type(sluice.subscribe("orders", on_status=lambda status: print(status["state"])), Subscription[OrdersEvent])
    sluice.subscribe("everything")  # type: ignore[call-overload]
    sluice.subscribe("trades", filter={"name": "x"})  # type: ignore[call-overload]
    sluice.subscribe("orders", filter={"minSol": 1})  # type: ignore[call-overload]
    sluice.subscribe("candles", interval="2m")  # type: ignore[call-overload]


def call_back(sluice: Sluice) -> None:
    async def on_trade(event: TradesEvent, topic: str) -> None:
        print(event["id"], topic)

    def on_any(event: Event, topic: str) -> None:
        print(event["type"], event["id"], topic)

    sluice.subscribe("trades", on_event=on_trade, on_rejected=lambda rejected: print(rejected[0]["key"]))
    sluice.subscribe("orders", on_event=on_any, on_error=lambda error: print(str(error)))
    sluice.subscribe("orders", on_event=on_trade)  # type: ignore[call-overload]


async def trade(sluice: Sluice, wallet: str, mint: str) -> OrderStatus:
    quote = await sluice.quote(side="sell", mint=mint, amount="50%", publicKey=wallet)
    assert_type(quote["quote"]["outUiAmount"], float)
    await sluice.quote(side="both", mint=mint)  # type: ignore[arg-type]
    await sluice.buy(publicKey=wallet, mint=mint)  # type: ignore[call-arg]
    await sluice.buy(publicKey=wallet, mint=mint, amount=0.1, dryrun=True)  # type: ignore[call-arg]
    try:
        placed = await sluice.buy(publicKey=wallet, mint=mint, amount=0.1, dryRun=True, idempotency_key="mine")
    except SluiceError as error:
        return "failed" if error.code == "INSUFFICIENT_BALANCE" else "unknown"
    assert_type(placed["orderId"], str | None)
    order = await sluice.order(placed["orderId"] or "")
    if order["fill"] is not None:
        assert_type(order["fill"]["baseUiAmount"], float)
    await sluice.orders(state="failed")  # type: ignore[call-arg]
    page = await sluice.orders(status="failed", limit=5)
    assert_type(page["next"], str | None)
    return page["orders"][0]["status"]


async def read(sluice: Sluice, wallet: str, mint: str) -> None:
    candles = await sluice.candles(mint, interval="1m", from_=0, to=60)
    assert_type(candles["candles"][0]["close"], float)
    trades = await sluice.trades(mint, before="id")
    assert_type(trades["trades"][0], Trade)
    holders = await sluice.holders(mint)
    assert_type([each["owner"] for each in holders["holders"] or []], list[str])
    search = await sluice.search_tokens(text="dog", limit=5)
    assert_type([each["mint"] for each in search["tokens"]], list[str])
    info = await sluice.token_info(mint)
    if info["windows"] is not None:
        assert_type(info["windows"]["1h"]["volumeSol"], float)
    portfolio = await sluice.portfolio(wallet)
    assert_type(portfolio["holdings"][0]["valueSol"], float | None)
