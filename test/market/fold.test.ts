import { describe, expect, it } from 'vitest';
import { fold } from '@sluice/ingest/market/fold.ts';
import { readEvent, type MarketEvent } from '@sluice/ingest/market/read-event.ts';
import type { MintHead } from '@sluice/shared/market/head.ts';
import type { MigrationEvent, TradeEvent } from '@sluice/shared/wire/events.ts';
import { addressOf, migrationEvent } from '../support/stream-events.ts';
import { logEntry, someS, tradeOf } from './trades.ts';

const mint = addressOf(1);
const pool = addressOf(920_000);

const marketEvent = (event: TradeEvent | MigrationEvent): MarketEvent => readEvent(logEntry(1, event))!;
const migration = marketEvent(migrationEvent(mint, { pool: 'pump-amm', poolAddress: pool, blockTime: someS + 1 }));
const completion = marketEvent(tradeOf({ mint, atS: someS, price: 0.5, depthSol: 85, completes: true }));
/** A buyer's first trade behind it moves the price far less than a tenth of what the curve held. */
const first = marketEvent(tradeOf({ mint, atS: someS + 2, price: 0.25, pool: 'pump-amm', poolAddress: pool, depthSol: 86 }));

/** Folds batch after batch, each with the heads that those before it left. */
function foldAll(batches: readonly (readonly MarketEvent[])[]): {
  readonly head: MintHead | undefined;
  readonly close: number | undefined;
} {
  const heads = new Map<string, MintHead>();
  let close: number | undefined;
  for (const batch of batches) {
    for (const change of fold(heads, batch)) {
      heads.set(change.mint, change.head);
      close = change.buckets.findLast(({ interval }) => interval === '1s')?.tally.close ?? close;
    }
  }
  return { head: heads.get(mint), close };
}

describe('what events change of a mint', () => {
  it('is the same however they fall into batches: a migration alone is kept too', () => {
    const events = [completion, migration, first];
    const cuts = [[events], [events.slice(0, 2), events.slice(2)], [events.slice(0, 1), events.slice(1)], events.map((event) => [event])];
    for (const batches of cuts) expect(foldAll(batches)).toMatchObject({ head: { poolAddress: pool, curveOver: true }, close: 0.25 });
  });

  it('follows a token to its pool where nobody saw it migrate', () => {
    expect(foldAll([[completion], [first]])).toMatchObject({ head: { poolAddress: pool }, close: 0.25 });
  });
});
