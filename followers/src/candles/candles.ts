import type { Bus, BusPublisher, Lease, LeaseTerm, LogPosition } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';
import type { MintHead } from '@sluice/shared/market/main-pool.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import type { Follower, OpenState, Section } from '../kit/follower.ts';
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
export class Candles implements Follower<MarketEvent> {
  readonly name = 'market';
  readonly read = readEvent;
  readonly #parts: CandlesParts;
  readonly #past = { forgotten: 0, candles: 0 };
  #term: CandlesTerm | null = null;

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
    const { bus: from, market, clock = systemClock } = this.#parts;
    const bus = await from.publisher({ lease: leaseTerm.lease });
    try {
      const checkpoint = await market.checkpoint();
      const open = await market.published();
      // The last candles of the previous term matter only if it published any.
      const tail = open.size === 0 ? [] : await from.tail(tailEntries);
      const undecided = await market.undecided();
      const ledger = new MarketLedger(undecided, await market.heads([...undecided.keys()]));
      const headsOf = (mints: readonly string[]) => knownHeads(ledger, market, mints);
      const publisher = new CandlePublisher({ market, bus, leaseTerm, headsOf, clock }, open, tail);
      this.#term = new CandlesTerm({ market, bus, leaseTerm, clock, checkpoint, ledger, publisher }, () => this.#end());
      return this.#term;
    } catch (error) {
      await bus.close();
      throw error;
    }
  }

  #end(): void {
    const { forgotten, candles } = this.stats;
    Object.assign(this.#past, { forgotten, candles });
    this.#term = null;
  }
}

interface TermParts extends Required<Pick<CandlesParts, 'market' | 'clock'>> {
  readonly bus: BusPublisher;
  readonly leaseTerm: LeaseTerm;
  readonly checkpoint: LogPosition | null;
  readonly ledger: MarketLedger;
  readonly publisher: CandlePublisher;
}

class CandlesTerm implements OpenState<MarketEvent> {
  readonly checkpoint: LogPosition | null;
  readonly ledger: MarketLedger;
  readonly publisher: CandlePublisher;
  readonly #parts: TermParts;
  #onEnd: (() => void) | null;
  #candlesAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TermParts, onEnd: () => void) {
    ({ checkpoint: this.checkpoint, ledger: this.ledger, publisher: this.publisher } = parts);
    this.#parts = parts;
    this.#onEnd = onEnd;
  }

  async apply({ events, from, to }: Section<MarketEvent>): Promise<'applied' | 'fenced' | 'stale'> {
    const { market, leaseTerm } = this.#parts;
    await learn(
      this.ledger,
      market,
      events.flatMap(({ mint }) => mint ?? []),
    );
    const changes = this.ledger.take(events);
    const outcome = await market.apply({ from, to, changes }, leaseTerm);
    if (outcome === 'applied') this.publisher.note(changes);
    return outcome;
  }

  async round(isLast: boolean): Promise<boolean> {
    const nowMs = this.#parts.clock.steadyMs();
    if (!isLast && nowMs - this.#candlesAtMs < candlesEveryMs) return true;
    this.#candlesAtMs = nowMs;
    return this.publisher.round();
  }

  async close(): Promise<void> {
    // A publisher whose log does not answer waits until it is closed.
    await this.#parts.bus.close();
    this.#onEnd?.();
    this.#onEnd = null;
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
