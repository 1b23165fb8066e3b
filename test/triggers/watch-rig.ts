import { WatchIndex } from '../../followers/src/index.ts';
import type { AccountTrade, Met, PriceRead, PriceTick, Watch } from '../../followers/src/triggers/watch.ts';
import type { SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';

export const mint = 'mint';
export const wallet = 'wallet';
/** Unix ms when the rig begins; its steady clock begins at 0. */
const startMs = 1_795_248_000_000;
export const slotMs = 400;

/** A stop of a sell: at or below 0.5 SOL, with the defaults of a trigger. */
export function watchOf(id: string, changes: Partial<Watch> = {}): Watch {
  return {
    id,
    mint,
    side: 'sell',
    when: { kind: 'level', metric: 'priceSol', op: '<=', value: 0.5 },
    confirm: 'processed',
    minDepthSol: 1,
    holdMs: 500,
    watermark: null,
    publicKey: wallet,
    armedAtMs: startMs,
    nextAtMs: null,
    ...changes,
  };
}

/** An index with a clock, and a log that is written by hand. The price of SOL is 100 USD. */
export class WatchRig {
  index = new WatchIndex();
  nowMs = 0;
  slot = 1_000;
  solUsd: number | null = 100;
  #events = 0;

  constructor() {
    this.index.enterEpoch('epoch', false);
    this.index.lose(this.nowMs, this.wallMs);
    this.pass(0);
  }

  get wallMs(): number {
    return startMs + this.nowMs;
  }

  add(id: string, changes: Partial<Watch> = {}): void {
    this.index.add(watchOf(id, { armedAtMs: this.wallMs, ...changes }));
  }

  /** A price in SOL. Returns the id of the tick. */
  tick(price: number, changes: Partial<PriceTick> = {}): string {
    const tick = this.tickOf(price, changes);
    this.index.note(tick, this.nowMs, this.wallMs);
    return tick.id;
  }

  tickOf(price: number, changes: Partial<PriceTick> = {}): PriceTick {
    const atUs = this.wallMs * 1000;
    return {
      kind: 'price',
      mint,
      id: `tick ${this.#events++}`,
      slot: this.slot,
      isSettled: false,
      price,
      unit: 'sol',
      heldSol: 50,
      curve: null,
      receivedUs: atUs,
      publishedUs: atUs,
      ...changes,
    };
  }

  /** A trade of the leader, of 2 SOL. */
  trade(changes: Partial<AccountTrade> & { readonly offset?: number } = {}): string {
    const id = `trade ${this.#events++}`;
    const amounts = { side: 'buy', sizeSol: 2, baseAmount: '7000', lamports: '2000000000' } as const;
    const seen = { slot: this.slot, isSettled: false, atMs: this.wallMs, receivedUs: this.wallMs * 1000, publishedUs: this.wallMs * 1000 };
    const trade = { kind: 'trade', mint, id, account: 'leader', ...amounts, ...seen, offset: this.#events, ...changes } as const;
    this.index.note(trade, this.nowMs, this.wallMs);
    return trade.id;
  }

  retract(id: string, of: 'price' | 'event' = 'price'): void {
    this.index.note({ kind: 'retract', mint: of === 'price' ? mint : null, id, of }, this.nowMs, this.wallMs);
  }

  verdict(verdict: Partial<SlotVerdict>): void {
    this.index.note({ kind: 'slots', verdict: { alive: [], dead: [], ...verdict } }, this.nowMs, this.wallMs);
  }

  read(tick: PriceTick | null, facts: Partial<PriceRead> = {}): void {
    this.index.takeRead(mint, { tick, supply: 1_000, goal: null, ...facts }, this.nowMs, this.wallMs);
  }

  /** Time passes, in turns of 20 ms. */
  pass(ms: number): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs;) {
      this.nowMs = Math.min(endMs, this.nowMs + 20);
      this.index.tick(this.nowMs, this.wallMs, this.solUsd);
    }
    this.index.tick(this.nowMs, this.wallMs, this.solUsd);
  }

  /** The next slot begins. */
  nextSlot(): void {
    this.pass(slotMs);
    this.slot++;
  }

  /** Takes all that is met. */
  take(): Met[] {
    return this.index.takeMet(1_000);
  }

  fired(): string[] {
    return this.take().map(({ id }) => id);
  }

  reasons(): Record<string, string | null> {
    return Object.fromEntries(this.index.reasons());
  }
}
