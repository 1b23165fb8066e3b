import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../ingest/src/publisher/event-queue.ts';
import type { Outgoing, SlotNews } from '../../ingest/src/publisher/outgoing.ts';
import { fuzzCases } from '../support/fuzz.ts';
import { addressOf, tradeEvent } from '../support/events/stream-events.ts';

const most = 50_000;
const trade = tradeEvent(addressOf(1));
const eventAt = (slot: number, signature = `signature ${slot}`): Outgoing => ({
  ...trade,
  id: `${slot}`,
  slot,
  signature,
  ts: { received: slot, published: 0 },
});
const verdictOf = (alive: readonly number[], dead: readonly number[], received: number): SlotNews => ({
  type: 'slots',
  alive,
  dead,
  ts: { received, published: 0 },
});
const slots = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i);
const fill = (queue: EventQueue, from: number, count: number): number =>
  slots(from, count).reduce((dropped, slot) => dropped + queue.push(eventAt(slot)), 0);
const namesOf = (taken: readonly Outgoing[]): string[] => taken.map((one) => ('id' in one ? one.id : one.type));

describe('a queue that overflows', () => {
  it('drops a pool that was opened without a report, because its first trade shows it again', () => {
    const queue = new EventQueue();
    const pool = { mint: 'mint', venue: 'orca-whirlpool', address: 'pool', quoteMint: 'quote', depthSol: 0, slot: 999 } as const;
    queue.push({ type: 'pool', ...pool, ts: { received: 999, published: 0 } });
    expect(fill(queue, 1_000, most + 1)).toBe(1);
    expect(queue.take(1)).toMatchObject([{ type: 'slots', lost: { from: 1_000, to: 1_000 } }]);
  });

  it('reports first which slots are missing, with some of the transactions', () => {
    const queue = new EventQueue();
    expect(fill(queue, 1_000, most + 30)).toBe(30);
    expect(queue.length).toBe(most + 1);
    const [first, ...rest] = queue.take(3);
    const signatures = slots(1_000, 16).map((slot) => `signature ${slot}`);
    expect(first).toEqual({ ...verdictOf([], [], 1_029), lost: { from: 1_000, to: 1_029, signatures } });
    expect(namesOf(rest)).toEqual(['1030', '1031']);
    expect(queue.length).toBe(most - 2);
    // Each drop is reported once.
    expect(namesOf(queue.take(1))).toEqual(['1032']);
  });

  it('retains the verdicts on slots, however much it drops', () => {
    const queue = new EventQueue();
    queue.push(verdictOf([7, 8], [6], 1));
    queue.push(eventAt(9));
    queue.push(verdictOf([10], [9], 2));
    expect(fill(queue, 100, most)).toBe(1);
    expect(queue.take(1)).toEqual([{ ...verdictOf([7, 8, 10], [6, 9], 9), lost: { from: 9, to: 9, signatures: ['signature 9'] } }]);
    // If only verdicts were dropped, no event is missing.
    queue.take(most);
    queue.push(verdictOf([11], [], 3));
    expect(fill(queue, 200, most)).toBe(0);
    expect(queue.take(1)).toEqual([verdictOf([11], [], 3)]);
  });

  it('remembers no more slots than readers of the log do', () => {
    const queue = new EventQueue();
    for (const slot of slots(1, 5_000)) queue.push(verdictOf([slot], [slot], slot));
    fill(queue, 100_000, most);
    const [news] = queue.take(1) as [SlotNews];
    expect(news.alive).toEqual(slots(905, 4_096));
    expect(news.dead).toEqual(news.alive);
    expect(news.lost).toBeUndefined();
  });

  it('joins later drops, also of events that were put back, to one report', () => {
    const queue = new EventQueue();
    fill(queue, 1_000, most + 2);
    const taken = queue.take(10);
    expect(namesOf(taken.slice(0, 2))).toEqual(['slots', '1002']);
    fill(queue, 60_000, 10);
    // The report itself is dropped, with the nine events that it covers.
    expect(queue.putBack(taken)).toBe(9);
    const [news] = queue.take(1) as [SlotNews];
    expect(news.lost).toMatchObject({ from: 1_000, to: 1_011 });
    expect(namesOf(queue.take(1))).toEqual(['1012']);
  });

  it('reports an event that the bus never accepts, and forgets it if another process has published it', () => {
    const queue = new EventQueue();
    queue.lose(eventAt(5));
    fill(queue, 6, 2);
    queue.dropReceivedBefore(5);
    expect(namesOf(queue.take(2))).toEqual(['slots', '6']);
    queue.lose(eventAt(5));
    queue.dropReceivedBefore(6);
    expect(namesOf(queue.take(2))).toEqual(['7']);
  });

  it('accounts for every event in any sequence of operations', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('push' as const), count: fc.integer({ min: 1, max: 40_000 }) }),
      fc.record({ do: fc.constant('take' as const), count: fc.integer({ min: 1, max: 30_000 }) }),
      fc.record({ do: fc.constant('give back' as const), count: fc.integer({ min: 1, max: 600 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 12 }), (steps) => {
        const queue = new EventQueue();
        const reported = new Set<number>();
        let [next, dropped] = [1, 0];
        const read = (items: readonly Outgoing[]): void => {
          for (const item of items) {
            if (item.type !== 'slots') reported.add(item.slot);
            else for (let slot = item.lost!.from; slot <= item.lost!.to; slot++) reported.add(slot);
          }
        };
        for (const { do: what, count } of steps) {
          if (what === 'push') {
            dropped += fill(queue, next, count);
            next += count;
          } else if (what === 'take') read(queue.take(count));
          else dropped += queue.putBack(queue.take(count));
        }
        read(queue.take(2 * most));
        expect(reported.size).toBe(next - 1);
        expect(queue.length).toBe(0);
        expect(dropped).toBeLessThan(next);
      }),
      { numRuns: fuzzCases(80) },
    );
  });
});
