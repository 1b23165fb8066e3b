import { LogEntry } from '@sluice/shared/bus/bus.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEvent } from '../../followers/src/kit/market-event.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';
import {
  accountTradesTopic,
  allTradesTopic,
  migrationsTopic,
  newTokensTopic,
  pricesTopic,
  tradesTopic,
} from '@sluice/shared/wire/stream/topics.ts';
import { addressOf, logged, migrationEvent, newTokenEvent, priceEvent, tradeEvent } from '../support/events/stream-events.ts';
import { logEntry } from './trades.ts';

const price = fc.option(fc.double({ min: 1e-12, max: 1e6, noNaN: true }));
const trade = fc.record({
  mint: fc.nat(50).map(addressOf),
  quoteMint: fc.constantFrom(wrappedSolMint, usdcMint, addressOf(77)),
  pool: fc.constantFrom('pump' as const, 'pump-amm' as const, 'orca-whirlpool' as const),
  signature: fc.option(fc.constant('a'.repeat(88))),
  slot: fc.oneof(fc.nat(), fc.integer({ min: 0, max: 2 ** 40 })),
  blockTime: fc.option(fc.integer({ min: 0, max: 0xffff_ffff })),
  ts: fc.record({ received: fc.integer({ min: 1e15, max: 2e15 }), published: fc.nat() }),
  side: fc.constantFrom('buy' as const, 'sell' as const),
  feePayer: fc.option(fc.constant(addressOf(3))),
  tokenAmount: fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e9, noNaN: true })),
  solAmount: price,
  quoteUiAmount: fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e9, noNaN: true })),
  priceQuote: price,
  priceSol: price,
  priceUsd: price,
  virtualQuote: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  realQuote: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  depth: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  simulated: fc.boolean(),
  curveCompleted: fc.boolean(),
});

function eventOf({
  virtualQuote,
  realQuote,
  depth,
  simulated,
  curveCompleted,
  ...fields
}: typeof trade extends fc.Arbitrary<infer T> ? T : never): TradeEvent {
  const event = tradeEvent(fields.mint, {
    ...fields,
    ...(simulated ? { simulated: true } : {}),
    ...(curveCompleted ? { curveCompleted: true } : {}),
  });
  if (depth !== null) return { ...event, reserves: null, depth: String(depth) };
  return { ...event, reserves: { ...event.reserves!, virtualQuote: String(virtualQuote), realQuote: String(realQuote) } };
}

/** As the schema of the event describes it. */
function rawDepthOf({ reserves, depth }: TradeEvent): number {
  if (reserves === null) return Number(depth);
  return Math.min(Number(reserves.virtualQuote) * (1 - Math.sqrt(0.99)), Number(reserves.realQuote));
}

/** In SOL, if the event shows what its quote coin is worth. */
function worthOf({ quoteMint, quoteUiAmount, priceQuote, priceSol }: TradeEvent): number | null {
  if (quoteMint === wrappedSolMint) return quoteUiAmount;
  return quoteMint !== usdcMint || priceQuote === null || priceSol === null ? null : quoteUiAmount * (priceSol / priceQuote);
}

describe('reading events for the market', () => {
  it('reads the fields of a trade', () => {
    fc.assert(
      fc.property(trade, (shape) => {
        const event = eventOf(shape);
        const entry = logEntry(1, event);
        const read = readEvent(entry);
        if (read?.kind !== 'trade') throw new Error('no trade');
        expect(read.mint).toBe(event.mint);
        expect(read.trade).toMatchObject({
          kind: 'trade',
          id: event.id,
          commitment: event.commitment,
          quoteMint: event.quoteMint,
          pool: event.pool,
          poolAddress: event.poolAddress,
          slot: event.slot,
          atS: event.blockTime ?? Math.floor(event.ts.received / 1e6),
          receivedUs: event.ts.received,
          simulated: event.simulated === true,
          isBuy: event.side === 'buy',
          base: event.tokenAmount,
          quote: event.quoteUiAmount,
          sizeSol: worthOf(event),
          priceQuote: event.priceQuote,
          priceUsd: event.priceUsd,
          completesCurve: event.curveCompleted === true,
        });
        expect(read.view).toBe(entry);
        if (event.quoteMint === wrappedSolMint) expect(read.trade.depthSol).toBeCloseTo(rawDepthOf(event) / 1e9, 6);
        else if (event.quoteMint !== usdcMint) expect(read.trade.depthSol).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it('never throws, even for random bytes', () => {
    for (const whole of [logEntry(1, tradeEvent(addressOf(1))), logEntry(1, priceEvent(addressOf(1)))]) {
      fc.assert(
        fc.property(fc.nat(whole.record.length - 1), fc.nat(255), fc.uint8Array({ maxLength: 64 }), (at, value, random) => {
          const changed = Uint8Array.from(whole.record);
          changed[at] = value;
          for (const record of [changed, changed.subarray(0, at), random]) {
            for (const view of [0, 1]) expect(() => readEvent(new LogEntry(1, whole.topics, record, view))).not.toThrow();
          }
        }),
        { numRuns: 2_000 },
      );
    }
  });

  it('reads prices and migrations, and no other event', () => {
    const mint = addressOf(9);
    const tick = priceEvent(mint);
    const entry = logEntry(1, tick);
    const read = { kind: 'price', mint, id: tick.id, slot: tick.slot, poolAddress: tick.poolAddress, view: entry };
    expect(readEvent(entry)).toEqual(read);
    const migration = { ...migrationEvent(mint), quoteAmount: '84000000000' };
    const depthSol = expect.closeTo(84 * (1 - Math.sqrt(0.99)), 9) as number;
    const moved = { kind: 'migration', poolAddress: migration.poolAddress, depthSol };
    expect(readEvent(logEntry(1, migration))).toMatchObject({ kind: 'trade', mint, trade: moved });
    expect(readEvent(logEntry(1, newTokenEvent(mint)))).toBeNull();
    expect(readEvent(new LogEntry(1, [{ topic: `candles:${mint}:1m`, seq: 1 }], entry.record))).toBeNull();
  });

  it('reads retractions, by the topics of the retracted event, and verdicts on slots', () => {
    const mint = addressOf(9);
    const retraction = (topics: readonly string[], id: string) =>
      readEvent(logged({ topics, record: encodeEvent({ type: 'retract', id }) }));
    const tradeTopics = [allTradesTopic, tradesTopic(mint), accountTradesTopic(addressOf(3))];
    expect(retraction(tradeTopics, 's:1')).toMatchObject({ kind: 'retract', mint, id: 's:1', of: 'trade' });
    expect(retraction([pricesTopic(mint)], 's:1.price')).toMatchObject({ kind: 'retract', mint, id: 's:1.price', of: 'price' });
    expect(retraction([migrationsTopic], 's:2')).toMatchObject({ kind: 'retract', mint: null, id: 's:2', of: 'migration' });
    expect(retraction([newTokensTopic], 's:3')).toBeNull();
    const verdict = readEvent(logged(verdictEntry({ alive: [7], dead: [6] })));
    expect(verdict).toMatchObject({ kind: 'slots', verdict: { alive: [7], dead: [6] } });
  });
});
