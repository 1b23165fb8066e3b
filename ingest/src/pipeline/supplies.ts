import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Pool } from './pools.ts';
import type { PoolResolver } from './resolve.ts';

/** Concurrent requests for supplies. Above this limit, a supply is requested at its next trade. */
const maxQuestions = 2_000;
/** How long a supply is valid that only the mint's account shows. */
const freshForMs = 60_000;

/** Reads supplies that no event shows, from the account of the curve or the mint. No trade waits for them. */
export class Supplies {
  readonly #resolver: PoolResolver;
  readonly #log: Logger;
  #questions = 0;

  constructor(resolver: PoolResolver, log: Logger) {
    this.#resolver = resolver;
    this.#log = log;
  }

  /** Requests the supply of a pool's token if it is unknown or too old. `atMs` is the time of a trade in the pool. */
  requestIfDue(pool: Pool, atMs: number): void {
    const token = pool.token!;
    if (token.supplyByMint ? atMs - token.supplyAtMs < freshForMs : token.supply !== null) return;
    if (pool.supplyAsked || this.#questions >= maxQuestions || this.#resolver.isHopeless(pool)) return;
    void this.#ask(pool, pool.isCurve && !token.supplyByMint ? pool.address : token.mint, atMs);
  }

  async #ask(pool: Pool, address: string, atMs: number): Promise<void> {
    pool.supplyAsked = true;
    this.#questions++;
    const fault = await this.#resolver.learn({ pool, addresses: [address] });
    this.#questions--;
    pool.supplyAsked = false;
    // A curve's account may refer to the mint's account.
    if (fault === null) this.requestIfDue(pool, atMs);
    else this.#log.debug({ pool: pool.address, reason: fault }, 'supply_unknown');
  }
}
