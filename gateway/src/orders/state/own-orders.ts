import { setTimeout as pause } from 'node:timers/promises';

/** Wallets whose last order is remembered; the one that was noted longest ago is forgotten. */
const maxWallets = 4_096;
/** By then every endpoint tells what landed, or none does. */
const forgetAfterMs = 30_000;
/** How long an order waits for the state that an order before it brought about, and how often it looks. */
const withinMs = 1_000;
const stepMs = 5;

interface Landed {
  readonly slot: number;
  readonly atMs: number;
}

/** In which slot the newest order of each wallet landed, as far as this gateway knows: an order that follows it needs that state. */
export class OwnOrders {
  readonly #landed = new Map<string, Landed>();

  landed(publicKey: string, slot: number): void {
    const known = this.#landed.get(publicKey);
    if (known !== undefined && known.slot >= slot && performance.now() - known.atMs <= forgetAfterMs) return;
    this.#landed.delete(publicKey);
    this.#landed.set(publicKey, { slot, atMs: performance.now() });
    if (this.#landed.size > maxWallets) this.#landed.delete(this.#landed.keys().next().value!);
  }

  /** 0 where none landed of late. */
  landedIn(publicKey: string): number {
    const known = this.#landed.get(publicKey);
    return known === undefined || performance.now() - known.atMs > forgetAfterMs ? 0 : known.slot;
  }
}

/** Until when an order that comes now waits. */
export function ownOrdersDeadlineMs(): number {
  return performance.now() + withinMs;
}

/** What is read, as of `slot` or a later one; as it is known at the deadline, where no endpoint has come so far. Rejects as `read` does. */
export async function awaitOwnOrders<T extends { readonly slot: number }>(
  read: () => T | Promise<T>,
  slot: number,
  deadlineMs = ownOrdersDeadlineMs(),
): Promise<T> {
  for (;;) {
    const found = await read();
    if (found.slot >= slot || performance.now() >= deadlineMs) return found;
    await pause(stepMs);
  }
}
