import type { LiveTrigger } from '../life/open-triggers.ts';
import type { ConditionWatch } from '../life/watch.ts';

/** Positions that one look compares. */
const maxLooked = 200;

/** Where the average costs of positions come from. */
export interface CostSource {
  /** `averageCostSol`: SOL for one whole bought token. Null: it holds no bought tokens. `unknown`: trades of the wallet are still being read. */
  of(publicKey: string, mint: string): { readonly averageCostSol: number } | null | 'unknown';
  /** Calls the listener when the position of a wallet changes. Returns a function that stops it. */
  onChange(listener: (publicKey: string, mint: string) => void): () => void;
}

/** Passes the average cost of positions to the conditions on their profit. */
export class ProfitPositions {
  readonly #source: CostSource;
  readonly #watch: () => Pick<ConditionWatch, 'setPosition'> | null;
  /** Watched, the one that was compared longest ago first. */
  readonly #lives = new Set<LiveTrigger>();
  readonly #stop: () => void;

  constructor(source: CostSource, watch: () => Pick<ConditionWatch, 'setPosition'> | null) {
    this.#source = source;
    this.#watch = watch;
    this.#stop = source.onChange((publicKey, mint) => this.#set(publicKey, mint));
  }

  /** Call it after the watch of a profit was added. */
  add(live: LiveTrigger): void {
    this.#lives.add(live);
    this.#compare(live);
  }

  remove(live: LiveTrigger): void {
    this.#lives.delete(live);
  }

  /** Compares some: a position that becomes known without a change is not reported. */
  look(): void {
    for (const live of [...this.#lives].slice(0, maxLooked)) {
      this.#lives.delete(live);
      this.#lives.add(live);
      this.#compare(live);
    }
  }

  close(): void {
    this.#stop();
  }

  #compare({ trigger: { terms, progress } }: LiveTrigger): void {
    const mint = terms.order.mint ?? progress.cause?.mint;
    if (mint !== undefined) this.#set(terms.order.publicKey, mint);
  }

  #set(publicKey: string, mint: string): void {
    const position = this.#source.of(publicKey, mint);
    this.#watch()?.setPosition(publicKey, mint, position === null || position === 'unknown' ? null : position.averageCostSol);
  }
}
