import type { Logger } from '@sluice/shared/runtime/log/log.ts';

/** How long an endpoint is not trusted after a false report. Doubled each time, until it was right for `regainedAfterMs`. */
const firstDistrustMs = 10_000;
const maxDistrustMs = 600_000;
const regainedAfterMs = 600_000;

/** Whether the account reports of one endpoint are trusted. Times are those of `performance.now`. */
export class LinkTrust {
  readonly #endpoint: number;
  readonly #log: Logger;
  #untilMs = Number.NEGATIVE_INFINITY;
  #times = 0;

  constructor(endpoint: number, log: Logger) {
    [this.#endpoint, this.#log] = [endpoint, log];
  }

  isTrusted(nowMs: number): boolean {
    return nowMs >= this.#untilMs;
  }

  /** Call when the endpoint omitted a change (`lost`), or reported one that never happened (`false`). Only the first time in a row is logged. */
  distrust(address: string, event: 'account_update_lost' | 'account_update_false', nowMs: number): void {
    if (nowMs - this.#untilMs > regainedAfterMs) this.#times = 0;
    if (this.#times === 0) this.#log.warn({ endpoint: this.#endpoint + 1, address }, event);
    this.#untilMs = nowMs + Math.min(maxDistrustMs, firstDistrustMs * 2 ** Math.min(this.#times++, 10));
  }
}
