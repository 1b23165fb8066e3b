import { isSameRequest, type IdempotencyUse } from '@sluice/gateway/store/order-model/order.ts';

/** Most requests at a time with an `Idempotency-Key`. Another one is refused as busy. */
const maxLocks = 10_000;

/** `busy`: another request with this key is running. `other`: it has another body. */
export type KeyLock = { readonly kind: 'held'; release(): void } | { readonly kind: 'busy' } | { readonly kind: 'other' };

/** The keys that requests of this gateway use now. The store does not know them until their orders are inserted. */
export class KeyLocks {
  readonly #held = new Map<string, IdempotencyUse>();

  take(owner: string, use: IdempotencyUse | null): KeyLock {
    if (use === null) return { kind: 'held', release: () => undefined };
    const name = `${owner}\n${use.key}`;
    const known = this.#held.get(name);
    if (known !== undefined) return { kind: isSameRequest(known, use) ? 'busy' : 'other' };
    if (this.#held.size >= maxLocks) return { kind: 'busy' };
    this.#held.set(name, use);
    return { kind: 'held', release: () => void this.#held.delete(name) };
  }
}
