/** How long an endpoint is left alone after its first offence; doubled with each further one. */
const firstRestMs = 2_000;
const maxRestMs = 300_000;
/** After so long without an offence it begins anew. */
const forgivenAfterMs = 600_000;

/** An answer that is longer than any true one, or nested deeper. */
export interface Offence {
  readonly method: string;
  readonly what: 'too_long' | 'too_deep';
  readonly restMs: number;
}

/** Which offences one endpoint committed, whichever client of this process asked it. Times are those of `performance.now`. */
export class EndpointRest {
  /** Since the process began. */
  offences = 0;
  /** Is called for each rest that begins; must not throw. */
  onRest: (offence: Offence) => void = () => undefined;
  #inARow = 0;
  #lastMs = -Infinity;
  #untilMs = -Infinity;

  isResting(nowMs: number): boolean {
    return nowMs < this.#untilMs;
  }

  /** Milliseconds until it may be asked again; 0 where it may be asked. */
  restMs(nowMs: number): number {
    return Math.ceil(Math.max(0, this.#untilMs - nowMs));
  }

  /** Answers to questions that were asked before the rest began prolong nothing. */
  offend(method: string, what: Offence['what'], nowMs: number): void {
    this.offences++;
    if (this.isResting(nowMs)) return;
    if (nowMs - this.#lastMs > forgivenAfterMs) this.#inARow = 0;
    const restMs = Math.min(maxRestMs, firstRestMs * 2 ** this.#inARow++);
    [this.#lastMs, this.#untilMs] = [nowMs, nowMs + restMs];
    this.onRest({ method, what, restMs });
  }
}

/** By address. The addresses are those of the settings, so there are few. */
const rests = new Map<string, EndpointRest>();

export function restOf(url: string): EndpointRest {
  const known = rests.get(url) ?? new EndpointRest();
  rests.set(url, known);
  return known;
}

/** Has the rests of these endpoints logged, by their numbers: addresses may hold keys. */
export function logRests(urls: readonly string[], log: { error(data: object, event: string): void }): void {
  for (const [index, url] of urls.entries()) {
    restOf(url).onRest = (offence) => log.error({ endpoint: index + 1, ...offence }, 'rpc_endpoint_rested');
  }
}
