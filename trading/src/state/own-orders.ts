import { readUntil } from '../quote/sole-sources.ts';
import type { ChainView } from './chain/chain-view.ts';

/** Wallets whose last order is remembered. Beyond that, the wallet whose note is oldest is forgotten. */
const maxWallets = 4_096;
/** After this long, every endpoint reports what landed, or none does. */
const forgetAfterMs = 30_000;
/** An order that was sent longer ago cannot land any more. */
const mayLandForMs = 120_000;
/** How long an order waits for state that includes the order before it, and how often it checks. */
const withinMs = 1_000;
const stepMs = 5;

const landedStates: ReadonlySet<string> = new Set(['processed', 'confirmed', 'finalized']);

/** The fields of an order that are read here. */
export interface OwnOrder {
  readonly terms: { readonly publicKey: string } | null;
  readonly state: string;
  readonly fill: { readonly slot: number } | null;
}

interface Landed {
  readonly slot: number;
  readonly atMs: number;
}

/** In which slot the newest order of each wallet landed, as far as this gateway knows: an order that follows it needs that state. */
export class OwnOrders {
  readonly #landed = new Map<string, Landed>();
  /** When an order of the wallet was last sent or changed. */
  readonly #changedAtMs = new Map<string, number>();

  /** An order was sent, or its state changed. If it does not say in which slot it landed, that is at most the slot known now. */
  noteChange({ terms, state, fill }: OwnOrder, landedSlot: number | null, chain: Pick<ChainView, 'slot' | 'newestSlot'>): void {
    if (terms === null) return;
    this.changed(terms.publicKey);
    if (landedStates.has(state)) this.landed(terms.publicKey, Math.min(fill?.slot ?? landedSlot ?? chain.slot, chain.newestSlot));
  }

  changed(publicKey: string): void {
    this.#changedAtMs.delete(publicKey);
    this.#changedAtMs.set(publicKey, performance.now());
    if (this.#changedAtMs.size > maxWallets) this.#changedAtMs.delete(this.#changedAtMs.keys().next().value!);
  }

  /** Whether an order of the wallet may have landed that is not noted here yet: a client can read from the store that it did. */
  mayHaveLanded(publicKey: string): boolean {
    const changedAtMs = this.#changedAtMs.get(publicKey);
    return changedAtMs !== undefined && performance.now() - changedAtMs <= mayLandForMs;
  }

  landed(publicKey: string, slot: number): void {
    const known = this.#landed.get(publicKey);
    if (known !== undefined && known.slot >= slot && performance.now() - known.atMs <= forgetAfterMs) return;
    this.#landed.delete(publicKey);
    this.#landed.set(publicKey, { slot, atMs: performance.now() });
    if (this.#landed.size > maxWallets) this.#landed.delete(this.#landed.keys().next().value!);
  }

  /** 0 if none landed recently. */
  landedIn(publicKey: string): number {
    const known = this.#landed.get(publicKey);
    return known === undefined || performance.now() - known.atMs > forgetAfterMs ? 0 : known.slot;
  }
}

/** Until when an order that arrives now waits. */
export function ownOrdersDeadlineMs(): number {
  return performance.now() + withinMs;
}

/** Reads until the result is of `slot` or a later one. At the deadline, returns the last result. Rejects as `read` does. */
export function awaitOwnOrders<T extends { readonly slot: number }>(
  read: () => T | Promise<T>,
  slot: number,
  endMs = ownOrdersDeadlineMs(),
): Promise<T> {
  return readUntil(read, (found) => found.slot >= slot, { endMs, pauseMs: stepMs });
}
