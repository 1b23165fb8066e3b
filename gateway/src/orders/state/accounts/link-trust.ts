import type { Logger } from '@sluice/shared/log/log.ts';

/** How long an endpoint that was found wrong is not believed; twice as long each time, until it was right for `regainedAfterMs`. */
const firstDistrustMs = 10_000;
const maxDistrustMs = 600_000;
const regainedAfterMs = 600_000;
/** Whether what one endpoint tells of accounts is believed. Times are Unix milliseconds. */
export class LinkTrust {
  readonly #endpoint: number;
  readonly #log: Logger;
  #untilMs = 0;
  #times = 0;

  constructor(endpoint: number, log: Logger) {
    [this.#endpoint, this.#log] = [endpoint, log];
  }

  isTrusted(nowMs: number): boolean {
    return nowMs >= this.#untilMs;
  }

  /** It left out a change, or told one that never was. Reported once, until it is believed again for long. */
  distrust(address: string, event: 'account_update_lost' | 'account_update_false', nowMs: number): void {
    if (nowMs - this.#untilMs > regainedAfterMs) this.#times = 0;
    if (this.#times === 0) this.#log.warn({ endpoint: this.#endpoint + 1, address }, event);
    this.#untilMs = nowMs + Math.min(maxDistrustMs, firstDistrustMs * 2 ** Math.min(this.#times++, 10));
  }
}
