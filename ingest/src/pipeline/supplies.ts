import type { Logger } from '@sluice/shared/log/log.ts';
import type { Pool } from './pools.ts';
import type { PoolResolver } from './resolve.ts';

/** Supplies that are being asked for beside the stream; beyond it they wait for their next trade. */
const maxQuestions = 2_000;
/** How long a supply holds that only the mint's account tells. */
const freshForMs = 60_000;

/** Learns supplies that no event tells, from the curve's account or the mint's. No trade waits for them. */
export class Supplies {
  readonly #resolver: PoolResolver;
  readonly #log: Logger;
  #questions = 0;

  constructor(resolver: PoolResolver, log: Logger) {
    this.#resolver = resolver;
    this.#log = log;
  }

  /** Asks where the supply of a pool's token is unknown or too old; `atMs` is the time of a trade in it. */
  look(pool: Pool, atMs: number): void {
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
    // A curve's account may say that the mint's tells it.
    if (fault === null) this.look(pool, atMs);
    else this.#log.debug({ pool: pool.address, reason: fault }, 'supply_unknown');
  }
}
