import { assert, asyncProperty } from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { LogFollower, OpenState } from '../../followers/src/kit/follower.ts';
import { LogConsumer } from '../../followers/src/kit/log-consumer.ts';
import { readEvent, type MarketEvent } from '../../followers/src/kit/market-event.ts';
import { UndecidedEvents, type Line } from '../../followers/src/kit/undecided.ts';
import { isHeld, type LeaseTerm, type LogPosition } from '@sluice/shared/bus/bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import type { MarketTrade } from '@sluice/shared/market/market-trade.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { fastClock } from '../support/clocks.ts';
import { until } from '../support/gateway.ts';
import { addressOf } from '../support/events/stream-events.ts';
import { chainSteps, RandomChain } from './random-chain.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** What the smallest exact follower stores: the ids of decided trades of a mint, and the trades that wait. */
interface Stored {
  readonly checkpoint: LogPosition | null;
  readonly folded: readonly string[];
  readonly waiting: readonly MarketTrade[];
}

class TradeIds implements LogFollower<MarketEvent> {
  readonly name = 'trade-ids';
  readonly read = readEvent;
  stored: Stored = { checkpoint: null, folded: [], waiting: [] };
  undone = 0;
  /** Nothing that waited was folded before an earlier event of its line. */
  inOrder = true;
  /** Fails one call in some. */
  #calls = 0;

  async open(leaseTerm: LeaseTerm): Promise<OpenState<MarketEvent>> {
    const { checkpoint, folded: before, waiting } = this.stored;
    const folded = [...before];
    const mint: Line<MarketTrade> = { waiting: [...waiting] };
    const undecided = new UndecidedEvents<MarketTrade, Line<MarketTrade>>({
      of: (trade) => trade,
      fold: ({ waiting: line }, { id, slot }) => {
        this.inOrder &&= line.every((other) => other.slot >= slot);
        folded.push(id);
      },
      undo: () => this.undone++,
      mostOfLine: 10_000,
    });
    undecided.resume(mint);
    return {
      checkpoint,
      apply: async ({ events, to }) => {
        if (++this.#calls % 4 === 0) throw new Error('The store does not answer.');
        for (const event of events) {
          if (event.kind === 'slots') undecided.decide(event.verdict);
          else if (event.kind === 'trade') undecided.add(mint, event.trade);
          else if (event.kind === 'retract' && event.of === 'trade') undecided.retract(mint, event.id);
        }
        for (let owner = undecided.nextDue(); owner !== undefined; owner = undecided.nextDue()) undecided.settle(owner);
        if (!isHeld(leaseTerm)) return 'fenced';
        this.stored = { checkpoint: to, folded: [...folded], waiting: [...mint.waiting] };
        return 'applied';
      },
      close: async () => undefined,
    };
  }
}

const trade = { does: 'trade', back: 0, tokens: 1, price: 0.5, before: 0.25, usd: true } as const;

describe('a new follower of the log', () => {
  it(
    'is exact under retraction with nothing but its fold and undo functions, while its consumer is replaced and its store fails',
    { timeout: 300_000 },
    async () => {
      let undone = 0;
      const property = asyncProperty(chainSteps, async (steps) => {
        const chain = new RandomChain(addressOf(1), steps);
        const bus = createInProcessBus();
        const publisher = await bus.publisher();
        const ids = new TradeIds();
        const last = Math.max(0, ...chain.inChainOrder.map(({ slot }) => slot));
        const parts = [chain.entries.slice(0, chain.entries.length / 2), chain.entries.slice(chain.entries.length / 2)];
        for (const entries of [...parts, [verdictEntry({ alive: [last], dead: [], decidedTo: last })]]) {
          await publisher.publish(entries);
          const consumer = new LogConsumer(ids, { bus, clock: fastClock(10), log: silentLog });
          const end = (await bus.tail(1))[0]?.offset ?? 0;
          await until('it has them', () => (ids.stored.checkpoint?.offset ?? 0) === end);
          await consumer.close(1_000);
        }
        expect(ids.stored.folded.toSorted()).toEqual(chain.inLogOrder.map(({ id }) => id).toSorted());
        expect(ids).toMatchObject({ inOrder: true, stored: { waiting: [] } });
        undone += ids.undone;
        await bus.close();
      });
      await assert(property, { numRuns: 10, examples: [[[trade, { does: 'die', relands: true }]]] });
      expect(undone).toBeGreaterThan(0);
    },
  );
});
