/** A connection that has not answered for this long is reported, although it may still open. */
export const slowMs = 1_000;

/** Prints once that a gateway cannot be reached, until it is reached again. */
export class Outage {
  #isPrinted = false;

  begin(reason: string, advice = ''): void {
    if (this.#isPrinted) return;
    this.#isPrinted = true;
    // oxlint-disable-next-line no-console -- the client has no logger
    console.warn(`sluice: ${reason}, retrying.${advice}`);
  }

  end(): void {
    this.#isPrinted = false;
  }
}

/** `cannot reach ws://127.0.0.1:8080/api/data (connect ECONNREFUSED 127.0.0.1:8080)`. Without the user and the password of the URL. */
export function cannotReach(url: string, why: string): string {
  return `cannot reach ${url.replace(/\/\/[^/?#]*@/, '//')} (${why})`;
}

/** What a failed `fetch` or WebSocket says about its cause: Node.js hides the cause of a `fetch` behind "fetch failed". */
export function causeOf(fault: unknown): string {
  const { cause } = (fault ?? {}) as { readonly cause?: unknown };
  const { message, code } = (cause ?? fault ?? {}) as { readonly message?: unknown; readonly code?: unknown };
  // The errors of several addresses have no message of their own.
  if (typeof message === 'string' && message !== '') return message;
  return typeof code === 'string' ? code : String(fault);
}
