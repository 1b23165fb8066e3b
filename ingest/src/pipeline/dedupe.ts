import { standardMemory } from '@sluice/shared/config/memory-bounds.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';

/** The first sighting of every transaction, over all endpoints and subscriptions. The pipeline knows whether it was complete. */
export class Dedupe {
  readonly #seen: Recent<number>;

  /** `capacity`: signatures remembered, 100 s at 4,000 transactions a second by default; a later repeat would be published again. */
  constructor(capacity = standardMemory.signatures) {
    this.#seen = new Recent(capacity);
  }

  /** Null for the first sighting of a signature; later the slot of the first one, as long as it is remembered. */
  see(signature: string, slot: number): number | null {
    const seen = this.#seen.peek(signature);
    if (seen !== undefined) return seen;
    this.#seen.set(signature, slot);
    return null;
  }

  /** Slot of the first sighting; null if there was none. */
  slotOf(signature: string): number | null {
    return this.#seen.peek(signature) ?? null;
  }

  forget(signature: string): void {
    this.#seen.delete(signature);
  }
}
