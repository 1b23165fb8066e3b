/** An endpoint is suspended for this long after its first impossible answer; the time doubles with each further one. */
const firstSuspensionMs = 2_000;
const maxSuspensionMs = 300_000;
/** After this time without an impossible answer, the next suspension is short again. */
const resetAfterMs = 600_000;

/** An answer that is longer, or nested deeper, than any correct one. */
export interface ImpossibleAnswer {
  readonly method: string;
  readonly what: 'too_long' | 'too_deep';
  readonly suspendedForMs: number;
}

/** The impossible answers of one endpoint, over all clients of this process. Times are those of `performance.now`. */
export class EndpointSuspension {
  /** Impossible answers since the process started. */
  impossibleAnswers = 0;
  /** Called when a suspension begins; must not throw. */
  onSuspended: (answer: ImpossibleAnswer) => void = () => undefined;
  /** Suspensions since the last reset. */
  #count = 0;
  #lastMs = -Infinity;
  #untilMs = -Infinity;

  isSuspended(nowMs: number): boolean {
    return nowMs < this.#untilMs;
  }

  /** Milliseconds until the endpoint may be used; 0 if it may be used now. */
  remainingMs(nowMs: number): number {
    return Math.ceil(Math.max(0, this.#untilMs - nowMs));
  }

  /** Suspends the endpoint. If it is suspended already, this answers an earlier call, and does not prolong the suspension. */
  suspend(method: string, what: ImpossibleAnswer['what'], nowMs: number): void {
    this.impossibleAnswers++;
    if (this.isSuspended(nowMs)) return;
    if (nowMs - this.#lastMs > resetAfterMs) this.#count = 0;
    const suspendedForMs = Math.min(maxSuspensionMs, firstSuspensionMs * 2 ** this.#count++);
    [this.#lastMs, this.#untilMs] = [nowMs, nowMs + suspendedForMs];
    this.onSuspended({ method, what, suspendedForMs });
  }
}

/** By address. The addresses come from the settings, so there are few. */
const suspensions = new Map<string, EndpointSuspension>();

export function suspensionOf(url: string): EndpointSuspension {
  const known = suspensions.get(url) ?? new EndpointSuspension();
  suspensions.set(url, known);
  return known;
}

/** Logs the suspensions of these endpoints, by their numbers, because addresses may contain keys. */
export function logSuspensions(urls: readonly string[], log: { error(data: object, event: string): void }): void {
  for (const [index, url] of urls.entries()) {
    suspensionOf(url).onSuspended = (answer) => log.error({ endpoint: index + 1, ...answer }, 'rpc_endpoint_suspended');
  }
}
