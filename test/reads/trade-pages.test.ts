import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LogEntry } from '@sluice/shared/bus/bus.ts';
import { readTrades } from '../../gateway/src/reads/pages/trade-pages.ts';
import { History } from '../../gateway/src/stream/history/history.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import { addressOf, jsonOf, tradeEvent } from '../support/events/stream-events.ts';

const mint = addressOf(1);
const topic = `trades:${mint}`;

/** The newest `held` trades are in the history, and the record has the newest 100 of all but the newest `behind`. */
function parts(all: readonly Uint8Array[], held: number, behind: number) {
  const history = new History({ maxEntries: 10_000, maxBytes: 64 * 1024 * 1024 });
  for (const [index, json] of all.entries()) {
    if (index < all.length - held) continue;
    history.append(new LogEntry(index + 1, [{ topic, seq: index + 1 }], json));
  }
  const recorded = all
    .slice(0, all.length - behind)
    .toReversed()
    .slice(0, 100);
  return { history, market: { trades: async () => recorded } };
}

const trades = Array.from({ length: 250 }, (_, index) =>
  tradeEvent(mint, { id: `trade${index}:0`, ts: { received: 1_000_000 + index, published: 1_000_000 + index } }),
);
const encoded = trades.map(jsonOf);
const idOf = (json: Uint8Array): string => (JSON.parse(Buffer.from(json).toString()) as { id: string }).id;

describe('pages of trades', () => {
  it('join history and record without a gap or a duplicate, if either of them is ahead', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 250 }),
        fc.integer({ min: 0, max: 250 }),
        fc.integer({ min: 0, max: 20 }),
        fc.integer({ min: 1, max: 60 }),
        async (count, heldCount, behindCount, limit) => {
          const all = encoded.slice(0, count);
          const held = Math.min(heldCount, count);
          const behind = Math.min(behindCount, held);
          const sources = parts(all, held, behind);
          const found: string[] = [];
          let before: string | null = null;
          do {
            const page = await readTrades(sources, mint, before, limit);
            expect(page.trades.length).toBeLessThanOrEqual(limit);
            found.push(...page.trades.map(idOf));
            before = page.next;
          } while (before !== null);
          // The record stores 100: older ones that are not in the history are gone.
          const reach = held >= 100 ? held : Math.max(held, Math.min(count, 100 + behind));
          expect(found).toEqual(
            all
              .slice(count - reach)
              .toReversed()
              .map(idOf),
          );
        },
      ),
    );
  });

  it('are empty after a trade that is not stored anywhere', async () => {
    const page = await readTrades(parts(encoded, 50, 0), mint, 'nothing:0', 10);
    expect(page).toEqual({ trades: [], next: null });
  });

  it('omit what was retracted, in the history or in the record, and show again what landed again', async () => {
    const first = encoded.slice(0, 8);
    const again = jsonOf({ ...trades[7]!, slot: 1 });
    const retract = (index: number): Uint8Array => encodeEvent({ type: 'retract', id: trades[index]!.id });
    // Five older ones are only in the record; of the eight, one of those and two others are retracted.
    const log = [...first, retract(7), retract(6), retract(2), again];
    const sources = parts(log, log.length - 5, 0);
    const record = { trades: async () => first.slice(0, 8).toReversed() };
    const found: string[] = [];
    for (let before: string | null = null, turn = 0; turn === 0 || before !== null; turn++) {
      const page = await readTrades({ ...sources, market: record }, mint, before, 2);
      found.push(...page.trades.map(idOf));
      before = page.next;
    }
    expect(found).toEqual([7, 5, 4, 3, 1, 0].map((index) => trades[index]!.id));
  });
});
