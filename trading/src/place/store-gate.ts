import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { reasonOf, StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';

/** A stored order or probe proves for this long that the store accepts orders. */
const provenForMs = 1_000;
/** Longest wait for a probe. */
const probeWithinMs = 1_000;
/** Nothing is signed for this long after a refusal. The time doubles with each order that is refused after it. */
const firstPauseMs = 250;
const maxPauseMs = 10_000;
/** After a refusal one order is tried alone. If it does not reach the store within this time, another one is. */
const trialMs = 2_000;

export interface StoreGateOptions {
  /** Writes as much as an order needs (`OrderTable.probe`). */
  readonly probe: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'error'>;
}

/**
 * Decides whether orders may be signed: only while the store accepts writes. Otherwise an order would be signed that cannot be stored and is
 * never sent. While orders are placed, each stored order is the proof for the next one. After a pause, a probe is. After a refusal nothing is
 * signed until a probe is stored, and then one order alone, until it is stored: a full disk may take a probe and refuse an order.
 */
export class StoreGate {
  readonly #options: StoreGateOptions;
  #provenAtMs = Number.NEGATIVE_INFINITY;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #closedUntilMs = Number.NEGATIVE_INFINITY;
  #trialUntilMs = Number.NEGATIVE_INFINITY;
  /** Orders refused one after the other, each after the pause of the last one. 0: no order was refused since one was stored. */
  #refusals = 0;
  #storing = 0;
  /** Never rejects. Null: none is running. */
  #probing: Promise<void> | null = null;

  constructor(options: StoreGateOptions) {
    this.#options = options;
  }

  /** Begins the probe that the next call of `mayStore` would wait for, if any. */
  prepare(): void {
    if (!this.#isProven && !this.#isClosed) void this.#probe();
  }

  /** Whether an order may be signed now. Returns a promise only if it must wait; it never rejects. */
  mayStore(): boolean | Promise<boolean> {
    return this.#refusals === 0 && this.#isProven ? true : this.#afterProbe();
  }

  /** Runs the insert of signed orders, and notes whether the store took them. */
  async store<Outcome extends { readonly kind: string }>(insert: () => Promise<Outcome>): Promise<Outcome> {
    const beganMs = this.#nowMs;
    this.#storing++;
    try {
      const outcome = await insert();
      if (outcome.kind === 'stored') this.#stored(beganMs);
      return outcome;
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#refused(beganMs, error);
      throw error;
    } finally {
      this.#storing--;
    }
  }

  get #nowMs(): number {
    return this.#options.clock.steadyMs();
  }

  get #isProven(): boolean {
    return this.#provenAtMs > this.#refusedAtMs && this.#nowMs - this.#provenAtMs <= provenForMs;
  }

  get #isClosed(): boolean {
    const nowMs = this.#nowMs;
    return nowMs < this.#closedUntilMs || (this.#refusals > 0 && (nowMs < this.#trialUntilMs || this.#storing > 0));
  }

  async #afterProbe(): Promise<boolean> {
    if (this.#isClosed) return false;
    if (!this.#isProven) await this.#waitFor(this.#probe());
    if (!this.#isProven || this.#isClosed) return false;
    if (this.#refusals > 0) this.#trialUntilMs = this.#nowMs + trialMs;
    return true;
  }

  #waitFor(probe: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(probeWithinMs, resolve);
      void probe.finally(cancel).then(resolve);
    });
  }

  /** One probe at a time, also if the store does not answer. */
  #probe(): Promise<void> {
    return (this.#probing ??= this.#probeNow().finally(() => (this.#probing = null)));
  }

  async #probeNow(): Promise<void> {
    const beganMs = this.#nowMs;
    try {
      await this.#options.probe();
      if (beganMs > this.#refusedAtMs) this.#provenAtMs = this.#nowMs;
    } catch (error) {
      // The next order asks for another probe.
      this.#closedUntilMs = Math.max(this.#closedUntilMs, this.#nowMs + firstPauseMs);
      if (!(error instanceof StoreUnavailableError)) this.#options.log.error({ err: error }, 'store_probe_failed');
    }
  }

  #stored(beganMs: number): void {
    if (beganMs <= this.#refusedAtMs) return;
    if (this.#refusals > 0) this.#options.log.info({}, 'store_accepts_orders');
    this.#provenAtMs = this.#nowMs;
    this.#refusals = 0;
  }

  /** Orders that were on their way during the first refusal count as one with it. */
  #refused(beganMs: number, error: StoreUnavailableError): void {
    if (this.#refusals === 0) this.#options.log.error({ reason: reasonOf(error) }, 'store_refuses_orders');
    if (this.#refusals === 0 || beganMs > this.#refusedAtMs) this.#refusals++;
    this.#refusedAtMs = this.#nowMs;
    this.#trialUntilMs = Number.NEGATIVE_INFINITY;
    this.#closedUntilMs = this.#nowMs + Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#refusals - 1, 10));
  }
}
