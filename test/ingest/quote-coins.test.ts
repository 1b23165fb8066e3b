import { PublicKey } from '@solana/web3.js';
import { beforeEach, expect, it } from 'vitest';
import { SolUsdFeed } from '@sluice/ingest/pipeline/sol-usd.ts';
import { tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { inSolAndUsd, isReversedPair, quoteCoins, valuedCoins } from '@sluice/shared/wire/values/money.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { accountDiscriminators as clmmAccounts, programId as clmmProgram } from '../../venues/src/raydium/clmm/program.ts';
import { pricePools } from '@sluice/venues/registry.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { until } from '../support/until.ts';
import { createHarness } from './harness.ts';
import { addressOf, ammProgram, ammTradeEventBytes, keyOf, mintAccountBytes, poolAccountBytes, whirlpoolBytes } from './pump-frames.ts';
import { accountJson } from './scripted-node.ts';
import { mint, mintAddress, take } from './some-coin.ts';

const mintOf = (symbol: string): string => [...valuedCoins.values()].find((coin) => coin.symbol === symbol)!.mint;
const [usdt, usd1, jitoSol] = [mintOf('USDT'), mintOf('USD1'), mintOf('JitoSOL')];
const whirlpoolProgram = 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc';

/** The built-in pools: a Whirlpool by its tick spacing, or a pool of Raydium CLMM by the number of its config. */
const built = [
  ['orca', wrappedSolMint, usdcMint, 4],
  ['clmm', wrappedSolMint, usdcMint, 4],
  ['clmm', wrappedSolMint, usdcMint, 6],
  ['orca', usdt, usdcMint, 1],
  ['clmm', usdt, usdcMint, 4],
  ['clmm', wrappedSolMint, usdt, 4],
  ['orca', usd1, usdcMint, 1],
  ['clmm', usd1, usdcMint, 4],
  ['clmm', wrappedSolMint, usd1, 1],
  ['orca', wrappedSolMint, jitoSol, 1],
  ['clmm', wrappedSolMint, jitoSol, 4],
  ['orca', jitoSol, usdcMint, 8],
] as const;

it('the built-in price pools have the addresses that follow from their coins', () => {
  const config = new PublicKey('2LecshUwdy9xi7meFgHtFJQNSKk4KdTrcpvaB56dP2NQ').toBuffer();
  const addresses = built.map(([kind, one, other, number]) => {
    const pair = [one, other].map((of) => new PublicKey(of).toBuffer()).sort((a, b) => Buffer.compare(a, b));
    const at = Buffer.alloc(2);
    const of = (seeds: readonly Buffer[], program: string) => PublicKey.findProgramAddressSync([...seeds], new PublicKey(program))[0];
    if (kind === 'orca') {
      at.writeUInt16LE(number);
      return of([Buffer.from('whirlpool'), config, ...pair, at], whirlpoolProgram).toBase58();
    }
    at.writeUInt16BE(number);
    const ammConfig = of([Buffer.from('amm_config'), at], clmmProgram).toBuffer();
    return of([Buffer.from('pool'), ammConfig, ...pair], clmmProgram).toBase58();
  });
  expect(pricePools).toEqual(addresses);
});

/** A pool of Raydium CLMM: whole `other` coins for one `one`. */
function clmm(one: string, other: string, price: number): Buffer {
  const [a, b] = [valuedCoins.get(one)!.decimals, valuedCoins.get(other)!.decimals];
  const data = Buffer.alloc(1_544);
  data.set(clmmAccounts.pool);
  data.set(addressBytes(one), 73);
  data.set(addressBytes(other), 105);
  data.writeBigUInt64LE(1_000_000n, 237);
  const sqrtPrice = BigInt(Math.round(Math.sqrt(price * 10 ** (b - a)) * 2 ** 32)) << 32n;
  data.writeBigUInt64LE(sqrtPrice & 0xffff_ffff_ffff_ffffn, 253);
  data.writeBigUInt64LE(sqrtPrice >> 64n, 261);
  return data;
}

const nowUs = Date.now() * 1_000;
let feed: SolUsdFeed;
const report = (place: number, one: string, other: string, price: number, receivedUs = nowUs): void =>
  feed.take({ address: pricePools[place]!, owner: clmmProgram, data: clmm(one, other, price), slot: 9, receivedUs });
const worth = (of: string): string[] =>
  Object.values(inSolAndUsd(1, of, { solUsd: feed.current?.price ?? null, coins: feed.coins })).map(
    (value) => value?.toPrecision(4) ?? 'null',
  );

beforeEach(() => {
  feed = new SolUsdFeed({ call: () => Promise.reject(new Error('down')) }, pricePools, silentLog, new AbortController().signal);
  feed.take({ address: pricePools[0]!, owner: whirlpoolProgram, data: whirlpoolBytes(150), slot: 9, receivedUs: nowUs });
});

it('a stable coin is worth what its pools say, in either coin and order, and never simply 1 USD', () => {
  expect(worth(usdt)).toEqual(['null', 'null']);
  report(3, usdcMint, usdt, 1.25);
  expect(worth(usdt)).toEqual(['null', 'null']);
  report(5, wrappedSolMint, usdt, 187.5);
  expect(worth(usdt)).toEqual([(0.8 / 150).toPrecision(4), '0.8000']);
  // One that somebody moves changes nothing; pools that contradict each other give no value.
  report(4, usdt, usdcMint, 9);
  expect(worth(usdt)).toEqual([(0.8 / 150).toPrecision(4), '0.8000']);
  report(3, usdcMint, usdt, 2);
  expect(worth(usdt)).toEqual(['null', 'null']);
  expect(feed.coins.get(usdt)).toBeNull();
});

it('JitoSOL has a value in SOL without a price of SOL, and none after a minute without an answer', () => {
  report(9, wrappedSolMint, jitoSol, 0.8);
  report(10, jitoSol, wrappedSolMint, 1.25);
  expect(worth(jitoSol)).toEqual(['1.250', '187.5']);
  expect(worth(usd1)).toEqual(['null', 'null']);
  report(9, wrappedSolMint, jitoSol, 0.8, nowUs - 61_000_000);
  report(10, jitoSol, wrappedSolMint, 1.25, nowUs - 61_000_000);
  feed.refresh();
  expect(worth(jitoSol)).toEqual(['null', 'null']);
});

it('values make no money: orders and the signer know SOL and USDC alone', () => {
  expect([...quoteCoins.keys()]).toEqual([wrappedSolMint, usdcMint]);
  expect(isReversedPair(usdt, mintAddress)).toBe(true);
  for (const [base, quote] of [
    [mintAddress, usdt],
    [usdt, usdcMint],
    [jitoSol, wrappedSolMint],
    [usdt, jitoSol],
  ] as const)
    expect(isReversedPair(base, quote)).toBe(false);
});

it('events in USDT have values, with the price of the coin and its age; null while its pools contradict each other', async () => {
  const accounts = new Map([
    [addressOf('pool'), accountJson(ammProgram, poolAccountBytes(mint, addressBytes(usdt)))],
    [mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 10n ** 15n))],
  ]);
  const harness = createHarness({ accounts, solUsd: { price: 150, slot: 9, atMs: nowUs / 1_000 } });
  feed = harness.solUsd;
  report(4, usdt, usdcMint, 0.9);
  report(3, usdcMint, usdt, 1 / 0.9);
  const buy = ammTradeEventBytes({
    side: 'buy',
    pool: keyOf('pool'),
    trader: keyOf('trader'),
    baseAmount: 1_000_000n,
    quoteAmount: 1_000_000n,
    baseBefore: 10n ** 12n,
    quoteBefore: 10n ** 12n,
    supply: 10n ** 15n,
    timestamp: 1_791_485_924,
  });
  take(harness, ammProgram, [buy], { receivedMs: nowUs / 1_000 + 2_000 });
  await until('the trade', () => harness.events.length === 2);
  const [trade, price] = harness.events as [TradeEvent, PriceEvent];
  expect(trade.priceUsd! / trade.priceQuote!).toBeCloseTo(0.9, 6);
  expect(trade.priceSol! / trade.priceQuote!).toBeCloseTo(0.9 / 150, 6);
  expect(trade.marketCapUsd).toBeCloseTo(0.9e9, -3);
  expect(price.quoteRate).toEqual({ price: expect.closeTo(0.9, 6) as number, slot: 9, ageMs: 2_000 });
  report(3, usdcMint, usdt, 3);
  take(harness, ammProgram, [buy], { slot: 101 });
  expect(harness.events[3]).toMatchObject({ type: 'price', priceSol: null, priceUsd: null, marketCapUsd: null, quoteRate: null });
});
