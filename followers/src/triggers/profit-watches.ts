import type { ArmedLevel } from './armed.ts';
import type { WatchCondition } from '@sluice/shared/market/trigger-condition.ts';
import type { Watch } from './watch.ts';

type ProfitCondition = Extract<WatchCondition, { kind: 'profit' }>;

/** A watch of the profit of a position. It watches a price in SOL that follows from the average cost. */
export interface ProfitWatch {
  readonly kind: 'profit';
  readonly watch: Watch & { readonly when: ProfitCondition };
  /** On the steady clock. */
  holdsFromMs: number;
  /** Null while the average cost is not known. */
  armed: ArmedLevel | null;
  /** As reported last, while it is not armed. */
  reason: string | null;
}

interface Position {
  costSol: number | null;
  readonly watches: Set<ProfitWatch>;
}

/** The average costs of the positions that are watched. */
export class ProfitWatches {
  readonly #positions = new Map<string, Position>();

  /** Returns the average cost of its position, in SOL for one token; null if it is not known. */
  add(profit: ProfitWatch): number | null {
    const key = keyOf(profit.watch.publicKey, profit.watch.mint!);
    const position = this.#positions.get(key) ?? { costSol: null, watches: new Set() };
    this.#positions.set(key, position);
    position.watches.add(profit);
    return position.costSol;
  }

  remove(profit: ProfitWatch): void {
    const key = keyOf(profit.watch.publicKey, profit.watch.mint!);
    const position = this.#positions.get(key);
    position?.watches.delete(profit);
    if (position?.watches.size === 0) this.#positions.delete(key);
  }

  /** The watches whose price has changed. */
  set(publicKey: string, mint: string, costSol: number | null): Iterable<ProfitWatch> {
    const position = this.#positions.get(keyOf(publicKey, mint));
    if (position === undefined || position.costSol === costSol) return [];
    position.costSol = costSol;
    return position.watches;
  }
}

const keyOf = (publicKey: string, mint: string): string => `${publicKey}\n${mint}`;

/** The price in SOL at which a position has this profit. */
export function priceAtProfit({ percent }: ProfitCondition, costSol: number): number {
  return costSol * (1 + percent / 100);
}
