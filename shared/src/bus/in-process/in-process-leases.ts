import type { Lease } from '../bus.ts';
import { checkLeaseName } from '../entry-checks.ts';

/**
 * The leases of one process. Claims to a name wait in a queue, and the first one holds the name. Nothing expires: a claim ends when it is
 * closed. The process itself bounds the number of claims.
 */
export class InProcessLeases {
  readonly #claims = new Map<string, InProcessLease[]>();
  #lastFence = 0;

  claim(name: string): Lease {
    checkLeaseName(name);
    const claims = this.#claims.get(name) ?? [];
    const leave = (): void => {
      claims.splice(claims.indexOf(claim), 1);
      if (claims.length === 0) this.#claims.delete(name);
      this.#grant(claims);
    };
    const claim = new InProcessLease(name, leave, () => this.renew(name));
    claims.push(claim);
    this.#claims.set(name, claims);
    this.#grant(claims);
    return claim;
  }

  /** Fence of the current term of a name. */
  fenceOf(name: string): number | undefined {
    return this.#claims.get(name)?.[0]?.fence;
  }

  /** Ends the current term of a name, and begins another. */
  renew(name: string): void {
    const claims = this.#claims.get(name) ?? [];
    claims[0]?.report(null);
    this.#grant(claims);
  }

  close(): void {
    // From the last to the first, so that no claim is granted while others close.
    for (const claims of this.#claims.values()) for (const claim of claims.toReversed()) void claim.close();
  }

  #grant(claims: readonly InProcessLease[]): void {
    const [first, ...others] = claims;
    if (first !== undefined && !first.held) first.report('self', (this.#lastFence += 1));
    for (const other of others) other.report('other');
  }
}

class InProcessLease implements Lease {
  readonly name: string;
  holder: Lease['holder'] = null;
  fence = 0;
  readonly #listeners = new Set<() => void>();
  readonly #leave: () => void;
  readonly #renew: () => void;
  #closed = false;

  constructor(name: string, leave: () => void, renew: () => void) {
    this.name = name;
    this.#leave = leave;
    this.#renew = renew;
  }

  get held(): boolean {
    return this.holder === 'self';
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  report(holder: Lease['holder'], fence = this.fence): void {
    if (this.holder === holder) return;
    this.holder = holder;
    this.fence = fence;
    for (const listener of this.#listeners) listener();
  }

  relinquish(fence: number): void {
    if (this.held && this.fence === fence) this.#renew();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.report(null);
    this.#leave();
  }
}
