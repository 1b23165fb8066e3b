/** How long an endpoint is not used after its first offence; doubled with each further one. */
const firstRestMs = 2_000;
const maxRestMs = 300_000;
/** After this time without an offence, the doubling starts from the beginning. */
const forgivenAfterMs = 600_000;

/** An answer that is longer, or nested deeper, than any correct one. */
export interface Offence {
  readonly method: string;
  readonly what: 'too_long' | 'too_deep';
  readonly restMs: number;
}

/** The offences of one endpoint, over all clients of this process. Times are those of `performance.now`. */
export class EndpointRest {
  /** Offences since the process started. */
  offences = 0;
  /** Called for each rest that starts; must not throw. */
  onRest: (offence: Offence) => void = () => undefined;
  #inARow = 0;
  #lastMs = -Infinity;
  #untilMs = -Infinity;

  isResting(nowMs: number): boolean {
    return nowMs < this.#untilMs;
  }

  /** Milliseconds until the endpoint may be used; 0 if it may be used now. */
  restMs(nowMs: number): number {
    return Math.ceil(Math.max(0, this.#untilMs - nowMs));
  }

  /** Answers to calls that were made before the rest began do not prolong it. */
  offend(method: string, what: Offence['what'], nowMs: number): void {
    this.offences++;
    if (this.isResting(nowMs)) return;
    if (nowMs - this.#lastMs > forgivenAfterMs) this.#inARow = 0;
    const restMs = Math.min(maxRestMs, firstRestMs * 2 ** this.#inARow++);
    [this.#lastMs, this.#untilMs] = [nowMs, nowMs + restMs];
    this.onRest({ method, what, restMs });
  }
}

/** By address. The addresses come from the settings, so there are few. */
const rests = new Map<string, EndpointRest>();

export function restOf(url: string): EndpointRest {
  const known = rests.get(url) ?? new EndpointRest();
  rests.set(url, known);
  return known;
}

/** Logs the rests of these endpoints, by their numbers, because addresses may contain keys. */
export function logRests(urls: readonly string[], log: { error(data: object, event: string): void }): void {
  for (const [index, url] of urls.entries()) {
    restOf(url).onRest = (offence) => log.error({ endpoint: index + 1, ...offence }, 'rpc_endpoint_rested');
  }
}
