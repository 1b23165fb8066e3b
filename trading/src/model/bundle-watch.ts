import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { PublishedOrder } from '@sluice/gateway/store/order-model/order.ts';

/** Bundles whose end is remembered. The oldest is forgotten first. */
const maxRemembered = 2_000;

/**
 * Notices bundles that landed in part. A block engine lands a bundle whole or not at all, but all who see its transactions can land one of
 * them: the engine itself, or a leader whose block is replaced.
 */
export class BundleWatch {
  /** Bundles that landed in part. */
  broken = 0;
  readonly #log: Pick<Logger, 'error'>;
  /** What became of the first order of each bundle, or that it is known to be broken. */
  readonly #ends = new Map<string, 'landed' | 'expired' | 'broken'>();

  constructor(log: Pick<Logger, 'error'>) {
    this.#log = log;
  }

  /** Call for each change of an order. */
  note({ id: orderId, terms, state }: Pick<PublishedOrder, 'id' | 'terms' | 'state'>): void {
    const bundle = terms?.bundle;
    if (bundle === undefined) return;
    const end = state === 'expired' ? 'expired' : state === 'confirmed' || state === 'finalized' || state === 'failed' ? 'landed' : null;
    if (end === null) return;
    const known = this.#ends.get(bundle.id);
    if (known === 'broken' || known === end) return;
    this.#ends.set(bundle.id, known === undefined ? end : 'broken');
    if (known !== undefined) {
      this.broken++;
      this.#log.error({ bundleId: bundle.id, orderId, state }, 'bundle_landed_in_part');
    }
    const oldest = this.#ends.keys().next();
    if (this.#ends.size > maxRemembered && oldest.done !== true) this.#ends.delete(oldest.value);
  }
}
