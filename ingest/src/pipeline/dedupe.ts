import { Recent } from './recent.ts';

/** Signatures remembered: 100 s at 2,000 transactions a second and at least; a later repeat would be published again. */
const maxSignatures = 400_000;

/** The first sight of every transaction, over all endpoints and subscriptions. Whether it was told whole is the pipeline's to know. */
export class Dedupe {
  readonly #seen: Recent<true>;

  constructor(capacity = maxSignatures) {
    this.#seen = new Recent(capacity);
  }

  /** True exactly once for a signature as long as it is remembered. */
  first(signature: string): boolean {
    if (this.#seen.has(signature)) return false;
    this.#seen.set(signature, true);
    return true;
  }

  forget(signature: string): void {
    this.#seen.delete(signature);
  }
}
