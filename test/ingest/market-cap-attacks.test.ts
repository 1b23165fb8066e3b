import { expect, it } from 'vitest';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { until } from '../support/until.ts';
import { createHarness, type Harness } from './harness.ts';
import {
  addressOf,
  ammProgram,
  ammTradeEventBytes,
  createPoolEventBytes,
  keyOf,
  liquidityEventBytes,
  mintAccountBytes,
  poolAccountBytes,
  pumpProgram,
} from './pump-frames.ts';
import { accountJson } from './scripted-node.ts';
import { mint, mintAddress, take } from './some-coin.ts';
import { curveBuy } from './some-trades.ts';

const timestamp = 1_791_485_924;
const solUsd = { price: 150, slot: 9, atMs: Date.now() };
const supply = 10n ** 15n;

/** 1,000 tokens and 100 SOL. */
const base = { tokens: 1_000_000_000n, sol: 100_000_000_000n };
/** The cap of 1 bn tokens at 0.1 SOL. */
const cap = 1e8;

/** Trades of a pool of constant product, from one state to the next. */
function market(pool = 'pool', { tokens, sol } = base) {
  const state = { tokens, sol };
  return (side: 'buy' | 'sell', quoteAmount: bigint): Buffer => {
    const [tokensBefore, solBefore] = [state.tokens, state.sol];
    const after = side === 'buy' ? solBefore + quoteAmount : solBefore - quoteAmount;
    state.tokens = (tokensBefore * solBefore) / after;
    state.sol = after;
    const baseAmount = side === 'buy' ? tokensBefore - state.tokens : state.tokens - tokensBefore;
    const reserves = { baseBefore: tokensBefore, quoteBefore: solBefore };
    return ammTradeEventBytes({ side, pool: keyOf(pool), trader: keyOf('x'), baseAmount, quoteAmount, ...reserves, supply, timestamp });
  };
}

/** A coin with one pool, opened and traded in before slot 100. */
async function begin(): Promise<{ harness: Harness; trade: ReturnType<typeof market>; caps: () => Set<string> }> {
  const wrapped = addressBytes(wrappedSolMint);
  const pools = ['pool', 'few units', 'lent'].map(
    (name) => [addressOf(name), accountJson(ammProgram, poolAccountBytes(mint, wrapped))] as const,
  );
  const accounts = new Map([...pools, [mintAddress, accountJson(tokenProgram, mintAccountBytes(6, supply))] as const]);
  const harness = createHarness({ accounts, solUsd });
  const trade = market();
  take(harness, ammProgram, [trade('buy', 1_000_000n)], { slot: 90 });
  await until('the main pool', () => harness.events.length === 2);
  take(harness, ammProgram, [trade('sell', 1_000_000n)], { slot: 91 });
  await until('the first trades', () => harness.events.length === 4);
  harness.events.length = 0;
  // Of all events since the last call, in one digit: the fees of a sandwich stay in the pool, 0.2 % of its price.
  const caps = (): Set<string> => {
    const found = harness.events.splice(0).flatMap((event) => ('marketCapSol' in event ? [event] : []));
    expect(found.length).toBeGreaterThan(0);
    for (const { marketCapSol, marketCapUsd } of found) expect(marketCapUsd! / marketCapSol!).toBeCloseTo(150, 9);
    return new Set(found.map(({ type, marketCapSol }) => `${type} ${(marketCapSol! / cap).toFixed(1)}`));
  };
  return { harness, trade, caps };
}

it('a dust trade and a trade of one unit change no market cap, in the main pool or in one of a few units', async () => {
  const { harness, trade, caps } = await begin();
  take(harness, ammProgram, [trade('buy', 1n)], { slot: 100 });
  const units = { tokens: 11n, sol: 2_000_000_000n };
  const oneUnit = { baseAmount: 1n, quoteAmount: 1n, baseBefore: units.tokens, quoteBefore: units.sol, supply, timestamp };
  take(harness, ammProgram, [ammTradeEventBytes({ side: 'sell', pool: keyOf('few units'), trader: keyOf('x'), ...oneUnit })], {
    slot: 101,
  });
  await until('the pool', () => harness.events.length === 4);
  take(harness, ammProgram, [market('few units', units)('buy', 1_000_000_000n)], { slot: 103 });
  // A lamport for a unit, ten tokens of which are worth one SOL.
  take(harness, ammProgram, [ammTradeEventBytes({ side: 'sell', pool: keyOf('pool'), trader: keyOf('x'), ...oneUnit })], { slot: 105 });
  take(harness, ammProgram, [trade('buy', 1n)], { slot: 120 });
  expect(caps()).toEqual(new Set(['trade 1.0', 'price 1.0']));
});

it('a sandwich within a slot changes no market cap of its trades, ticks and later events', async () => {
  const { harness, trade, caps } = await begin();
  const sandwich = [trade('buy', 100_000_000_000n), trade('buy', 1_000_000n), trade('sell', 100_000_000_000n)];
  for (const one of sandwich) take(harness, ammProgram, [one], { slot: 100 });
  take(harness, ammProgram, [trade('buy', 1_000n)], { slot: 101 });
  take(harness, ammProgram, [trade('buy', 1_000n)], { slot: 110 });
  expect(caps()).toEqual(new Set(['trade 1.0', 'price 1.0']));
});

it('a pool that is moved for one slot changes no market cap in any event; a price that lasts for two slots does, one slot later', async () => {
  const { harness, trade, caps } = await begin();
  take(harness, ammProgram, [trade('buy', 100_000_000_000n)], { slot: 100 });
  const reserves = { baseBefore: 500_000_000n, quoteBefore: 200_000_000_000n };
  const amounts = { isAdded: false, lpAmount: 9n, baseAmount: 5_000n, quoteAmount: 2_000_000n, timestamp };
  take(harness, ammProgram, [liquidityEventBytes({ pool: keyOf('pool'), ...amounts, ...reserves })], { slot: 100 });
  take(harness, ammProgram, [createPoolEventBytes(keyOf('other'), mint, 1_000_000n, 9_000_000_000n, timestamp)], { slot: 100 });
  take(harness, ammProgram, [trade('sell', 100_000_000_000n)], { slot: 101 });
  take(harness, ammProgram, [trade('buy', 1_000n)], { slot: 102 });
  take(harness, ammProgram, [trade('buy', 1_000n)], { slot: 110 });
  expect(caps()).toEqual(new Set(['trade 1.0', 'price 1.0', 'liquidityRemoved 1.0', 'poolCreated 1.0']));
  take(harness, ammProgram, [trade('buy', 100_000_000_000n)], { slot: 120 });
  take(harness, ammProgram, [trade('buy', 1_000n)], { slot: 121 });
  expect(caps()).toEqual(new Set(['trade 1.0', 'price 1.0']));
  take(harness, ammProgram, [trade('buy', 1_000n)], { slot: 122 });
  expect(caps()).toEqual(new Set(['trade 4.0', 'price 4.0']));
});

it('a pool with the depth of a loan takes no main place in its first slots, while the main pool is young too', async () => {
  const { harness, caps } = await begin();
  const lent = market('lent', { tokens: 1_000_000_000n, sol: 50_000_000_000_000n });
  take(harness, ammProgram, [lent('buy', 1_000_000_000n)], { slot: 100 });
  await until('the pool', () => harness.events.length === 2);
  for (const slot of [100, 101, 102, 104]) take(harness, ammProgram, [lent('sell', 1_000_000n)], { slot });
  expect(harness.events.map((event) => 'mainPool' in event && event.mainPool)).toEqual(harness.events.map(() => addressOf('pool')));
  expect(caps()).toEqual(new Set(['trade 1.0', 'price 1.0']));
});

it('the first slot of a coin shows its spot price, and a fork that died leaves the price before it', () => {
  const harness = createHarness({ solUsd });
  const first = 30 / 1.073;
  take(harness, pumpProgram, [curveBuy()], { slot: 100 });
  harness.pipeline.book.token(mintAddress).supply = supply;
  take(harness, pumpProgram, [curveBuy()], { slot: 104 });
  const [, , trade] = harness.events as unknown as readonly { marketCapSol: number; priceSol: number; poolAddress: string }[];
  expect(trade!.marketCapSol).toBeCloseTo(trade!.priceSol * 1e9, 6);
  harness.pipeline.book.token(mintAddress).settled = null;
  take(harness, pumpProgram, [curveBuy()], { slot: 200 });
  harness.pipeline.unsettle(trade!.poolAddress);
  take(harness, pumpProgram, [curveBuy()], { slot: 205 });
  expect((harness.events.at(-1) as unknown as { marketCapSol: number }).marketCapSol).toBeCloseTo(first, 6);
});
