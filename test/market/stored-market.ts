import { MarketLedger } from '../../followers/src/candles/ledger.ts';
import { readEvent } from '../../followers/src/kit/market-event.ts';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { logged } from '../support/events/stream-events.ts';
import type { MintHead } from '@sluice/shared/market/pools/main-pool.ts';
import { InProcessMarket } from '@sluice/shared/market/in-process-market.ts';
import { currentHead, nothingUndecided } from '@sluice/shared/market/verdicts/undecided.ts';

const leaseTerm = { lease: { name: 'market', held: true, fence: 1 }, fence: 1 };

/** The state of the market as successive keepers compute it from a log, without a log. */
export class StoredMarket {
  readonly market = new InProcessMarket();
  #ledger: MarketLedger | null = null;
  #offset = 0;

  /** The next entries, as one batch. */
  async take(entries: readonly BusEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const events = entries.flatMap((entry) => readEvent(logged(entry)) ?? []);
    this.#ledger ??= await this.#begin();
    const unknown = this.#ledger.unknown(events.flatMap(({ mint }) => mint ?? []));
    this.#ledger.learn(unknown, await this.market.heads(unknown));
    const from = await this.market.checkpoint();
    const to = { epoch: 'e', offset: (this.#offset += entries.length) };
    const outcome = await this.market.apply({ from, to, changes: this.#ledger.take(events) }, leaseTerm);
    if (outcome !== 'applied') throw new Error(outcome);
  }

  /** The keeper ends; the next one continues with what is stored. */
  restart(): void {
    this.#ledger = null;
  }

  get undecided(): number {
    return this.#ledger?.undecided ?? 0;
  }

  /** The state of a mint according to what is stored. */
  async headOf(mint: string): Promise<MintHead | null> {
    const undecided = (await this.market.undecided()).get(mint) ?? nothingUndecided;
    return currentHead((await this.market.heads([mint])).get(mint) ?? null, undecided.trades);
  }

  async #begin(): Promise<MarketLedger> {
    const undecided = await this.market.undecided();
    return new MarketLedger(undecided, await this.market.heads([...undecided.keys()]));
  }
}
