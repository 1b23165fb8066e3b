import type { Bus, Lease, LeaseTerm } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { MintHead } from '@sluice/shared/market/pools/main-pool.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import type { LogFollower, OpenState } from '../kit/follower.ts';
import { readEvent, type MarketEvent } from '../kit/market-event.ts';
import { CandlePublisher } from './candle-publisher.ts';
import { MarketLedger } from './ledger.ts';

/** Time between two checks for candles to publish. */
const candlesEveryMs = 250;
/** Entries of the log that are searched for candles of the previous term. */
const tailEntries = 8_192;

interface CandlesParts {
  readonly bus: Bus;
  readonly market: MarketStore;
  readonly clock?: Clock;
}

export interface CandleStats {
  /** Trades and prices of undecided slots. */
  readonly undecided: number;
  /** Trades that were settled before their slot was decided, because there were too many. They remain even if it dies. */
  readonly forgotten: number;
  readonly candleTopics: number;
  readonly candles: number;
}

/** Computes the stored state of the market from the log, and publishes the candles that clients follow. */
export class Candles implements LogFollower<MarketEvent> {
  readonly name = 'market';
  readonly read = readEvent;
  readonly #parts: CandlesParts;
  /** Counts of the terms that are over. */
  #past = { forgotten: 0, candles: 0 };
  #term: { readonly ledger: MarketLedger; readonly publisher: CandlePublisher } | null = null;

  constructor(parts: CandlesParts) {
    this.#parts = parts;
  }

  get stats(): CandleStats {
    const { forgotten, candles } = this.#past;
    const { ledger, publisher } = this.#term ?? {};
    return {
      undecided: ledger?.undecided ?? 0,
      forgotten: forgotten + (ledger?.forgotten ?? 0),
      candleTopics: publisher?.topics ?? 0,
      candles: candles + (publisher?.published ?? 0),
    };
  }

  async open(leaseTerm: LeaseTerm & { readonly lease: Lease }): Promise<OpenState<MarketEvent>> {
    const { bus: log, market, clock = systemClock } = this.#parts;
    const bus = await log.publisher({ lease: leaseTerm.lease });
    try {
      const checkpoint = await market.checkpoint();
      const open = await market.published();
      // The last candles of the previous term matter only if it published any.
      const tail = open.size === 0 ? [] : await log.tail(tailEntries);
      const undecided = await market.undecided();
      const ledger = new MarketLedger(undecided, await market.heads([...undecided.keys()]));
      const headsOf = (mints: readonly string[]) => knownHeads(ledger, market, mints);
      const publisher = new CandlePublisher({ market, bus, leaseTerm, headsOf, clock }, open, tail);
      this.#term = { ledger, publisher };
      let candlesAtMs = Number.NEGATIVE_INFINITY;
      return {
        checkpoint,
        apply: async ({ events, from, to }) => {
          const mints = events.flatMap(({ mint }) => mint ?? []);
          await learn(ledger, market, mints);
          const changes = ledger.take(events);
          const outcome = await market.apply({ from, to, changes }, leaseTerm);
          if (outcome === 'applied') publisher.note(changes);
          return outcome;
        },
        round: async (isLast) => {
          const nowMs = clock.steadyMs();
          if (!isLast && nowMs - candlesAtMs < candlesEveryMs) return true;
          candlesAtMs = nowMs;
          return publisher.round();
        },
        // A publisher whose log does not answer waits until it is closed.
        close: async () => {
          this.#past = this.stats;
          this.#term = null;
          await bus.close();
        },
      };
    } catch (error) {
      await bus.close();
      throw error;
    }
  }
}

async function learn(ledger: MarketLedger, market: MarketStore, mints: readonly string[]): Promise<void> {
  const unknown = ledger.unknown(mints);
  if (unknown.length > 0) ledger.learn(unknown, await market.heads(unknown));
}

/** Heads of mints, with undecided trades. */
async function knownHeads(ledger: MarketLedger, market: MarketStore, mints: readonly string[]): Promise<ReadonlyMap<string, MintHead>> {
  await learn(ledger, market, mints);
  return new Map(
    mints.flatMap((mint) => [[mint, ledger.headOf(mint)] as const]).filter((found): found is [string, MintHead] => found[1] !== null),
  );
}
