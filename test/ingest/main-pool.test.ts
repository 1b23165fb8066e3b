import { describe, expect, it } from 'vitest';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { canonicalPoolAddress } from '@sluice/venues/pump/amm/program.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { until } from '../support/until.ts';
import { createHarness, type Harness } from './harness.ts';
import {
  addressOf,
  ammProgram,
  ammTradeEventBytes,
  curveAccountBytes,
  keyOf,
  migrationEventBytes,
  mintAccountBytes,
  poolAccountBytes,
  pumpProgram,
  tokenAccountBytes,
} from './pump-frames.ts';
import { accountJson } from './scripted-node.ts';
import { curveAddress, mint, mintAddress, take as takeEvents } from './some-coin.ts';
import { curveBuy } from './some-trades.ts';

const canonical = canonicalPoolAddress(mintAddress, wrappedSolMint);
const sol = addressBytes(wrappedSolMint);
const solUsd = { price: 150, slot: 9, atMs: 1_791_485_924_000 };
const supply = 1e9;

const take = (harness: Harness, program: string, event: Buffer, slot = 100): string =>
  takeEvents(harness, program, [event], { receivedMs: solUsd.atMs, slot });

/** Somebody buys five units of a pool of eleven for 2 SOL. */
const fewUnits = (timestamp = 1_791_485_924): Buffer =>
  ammTradeEventBytes({
    side: 'buy',
    pool: keyOf('few units'),
    trader: keyOf('trader'),
    baseAmount: 5n,
    quoteAmount: 2_000_000_000n,
    baseBefore: 11n,
    quoteBefore: 2_000_000_000n,
    supply: 1_000_000_000_000_000n,
    timestamp,
  });

const known = [
  [addressOf('few units'), accountJson(ammProgram, poolAccountBytes(mint, sol))],
  [mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 1_000_000_000_000_000n))],
] as const;

/** The curve's account, with `complete` set. */
function completeCurve(): Buffer {
  const data = curveAccountBytes(279_900_000_000_000n, 115_000_000_000n);
  data[8 + 5 * 8] = 1;
  return data;
}

/** The pool to which the curve migrated: 200 M tokens and 80 SOL. */
function migrated(): (readonly [string, ReturnType<typeof accountJson>])[] {
  const vaults = [wrappedSolMint, mintAddress].map((coin) => tokenAddress(canonical, coin, tokenProgram));
  const [quoteVault, baseVault] = vaults as [string, string];
  const owner = addressBytes(canonical);
  return [
    [canonical, accountJson(ammProgram, poolAccountBytes(mint, sol, { vaults: [addressBytes(baseVault), addressBytes(quoteVault)] }))],
    [baseVault, accountJson(tokenProgram, tokenAccountBytes(mint, owner, 200_000_000_000_000n))],
    [quoteVault, accountJson(tokenProgram, tokenAccountBytes(sol, owner, 80_000_000_000n))],
  ];
}

const trades = ({ events }: Harness): TradeEvent[] => events.filter((event): event is TradeEvent => event.type === 'trade');
const prices = ({ events }: Harness): PriceEvent[] => events.filter((event): event is PriceEvent => event.type === 'price');

describe('the market cap of a trade in a pool of a few units', () => {
  it('is that of the curve, which is read first', async () => {
    const accounts = new Map([...known, [curveAddress, accountJson(pumpProgram, curveAccountBytes())] as const]);
    const harness = createHarness({ accounts, solUsd });
    take(harness, ammProgram, fewUnits());
    await until('the trade', () => trades(harness).length === 1);
    const [trade] = trades(harness) as [TradeEvent];
    // 30 virtual SOL for 1,073 M virtual tokens.
    const price = 30 / 1_073_000_000;
    expect(trade.priceSol).toBeGreaterThan(100_000);
    expect(trade.marketCapSol).toBeCloseTo(price * supply, 9);
    expect(trade.marketCapUsd).toBeCloseTo(price * supply * 150, 6);
    expect(prices(harness)[0]).toMatchObject({ priceSol: trade.priceSol, marketCapSol: trade.marketCapSol });
    const main = { atS: 1_791_485_924, priceQuote: price, curveOver: false };
    expect(harness.opened).toMatchObject([{ mint: mintAddress, venue: 'pump', address: curveAddress, main }]);
    const { length } = harness.calls;
    take(harness, pumpProgram, curveBuy());
    take(harness, ammProgram, fewUnits());
    const [, onCurve, again] = trades(harness) as [TradeEvent, TradeEvent, TradeEvent];
    expect([onCurve.marketCapSol, again.marketCapSol]).toEqual([trade.marketCapSol, trade.marketCapSol]);
    take(harness, ammProgram, fewUnits(), 102);
    expect(trades(harness)[3]!.marketCapSol).toBeCloseTo(onCurve.priceSol! * supply, 9);
    expect(harness.calls.slice(length).flatMap(({ params }) => params[0])).not.toContain(canonical);
  });

  it('is that of the pool to which the curve migrated', async () => {
    const accounts = new Map([...known, [curveAddress, accountJson(pumpProgram, completeCurve())] as const, ...migrated()]);
    const harness = createHarness({ accounts, solUsd });
    take(harness, ammProgram, fewUnits());
    await until('the trade', () => trades(harness).length === 1);
    expect(trades(harness)[0]!.marketCapSol).toBeCloseTo((80 / 200_000_000) * supply, 6);
    expect(harness.opened).toMatchObject([
      { venue: 'pump-amm', address: canonical, main: { priceQuote: 80 / 200_000_000, curveOver: true } },
    ]);
  });

  it('is that of the pool that a migration named, without a read', () => {
    const harness = createHarness({ accounts: new Map(known), solUsd });
    take(harness, pumpProgram, curveBuy());
    const place = { mint, curve: addressBytes(curveAddress), pool: addressBytes(canonical), timestamp: 1_791_485_924 };
    take(harness, pumpProgram, migrationEventBytes({ ...place, baseAmount: 200_000_000_000_000n, quoteAmount: 80_000_000_000n, fee: 0n }));
    const token = harness.pipeline.book.token(mintAddress);
    expect(token.main).toMatchObject({ pool: 'pump-amm', poolAddress: canonical, curveOver: true, provenFromS: 0 });
  });

  it('is unknown if nothing shows a pool with a depth, and of this pool nothing counts', async () => {
    const harness = createHarness({ accounts: new Map(known), solUsd });
    const dust = ammTradeEventBytes({
      side: 'buy',
      pool: keyOf('few units'),
      trader: keyOf('trader'),
      baseAmount: 5n,
      quoteAmount: 2_000n,
      baseBefore: 11n,
      quoteBefore: 2_000n,
      supply: 1_000_000_000_000_000n,
      timestamp: 1_791_485_924,
    });
    take(harness, ammProgram, dust);
    await until('the trade', () => trades(harness).length === 1);
    expect(trades(harness)[0]).toMatchObject({ marketCapSol: null, marketCapUsd: null, priceSol: expect.any(Number) as number });
  });

  it('does not wait for nodes that do not answer', async () => {
    const silent = (method: string, [addresses]: readonly unknown[]): undefined => {
      if (method === 'getMultipleAccounts' && (addresses as string[]).includes(canonical)) throw new Error('not answered');
    };
    const harness = createHarness({ accounts: new Map(known), answer: silent, solUsd });
    take(harness, ammProgram, fewUnits());
    await until('the trade', () => trades(harness).length === 1);
    expect(harness.losses).toEqual([]);
  });
});

it('a coin whose curve ended unseen is read when another pool trades', async () => {
  const accounts = new Map([...known, [curveAddress, accountJson(pumpProgram, completeCurve())] as const, ...migrated()]);
  const harness = createHarness({ accounts, solUsd });
  take(harness, pumpProgram, curveBuy());
  take(harness, ammProgram, fewUnits(1_791_485_924 + 3_700));
  await until('the main pool', () => harness.pipeline.book.token(mintAddress).main?.poolAddress === canonical);
  take(harness, ammProgram, fewUnits(1_791_485_924 + 3_700), 102);
  expect(trades(harness).at(-1)!.marketCapSol).toBeCloseTo((80 / 200_000_000) * supply, 6);
});
