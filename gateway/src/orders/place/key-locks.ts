import type { IdempotencyUse } from '../model/idempotency.ts';

/** Requests that may be under way with an `Idempotency-Key`; one more is told to come back. */
const maxLocks = 10_000;

/** `busy`: a request with this key is under way. `other`: with another body. */
export type KeyLock = { readonly kind: 'held'; release(): void } | { readonly kind: 'busy' } | { readonly kind: 'other' };

/** Which keys are in use by requests of this gateway, before the store knows of them. */
export class KeyLocks {
  readonly #held = new Map<string, Uint8Array>();

  take(owner: string, use: IdempotencyUse | null): KeyLock {
    if (use === null) return { kind: 'held', release: () => undefined };
    const name = `${owner}\n${use.endpoint}\n${use.key}`;
    const known = this.#held.get(name);
    if (known !== undefined) return { kind: Buffer.compare(known, use.fingerprint) === 0 ? 'busy' : 'other' };
    if (this.#held.size >= maxLocks) return { kind: 'busy' };
    this.#held.set(name, use.fingerprint);
    return { kind: 'held', release: () => void this.#held.delete(name) };
  }
}
