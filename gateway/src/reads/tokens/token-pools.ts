import { depthInSol } from '@sluice/shared/market/depth.ts';
import type { PriceEvent } from '@sluice/shared/wire/events.ts';
import { maxTokenPools } from '@sluice/shared/wire/rest/token.ts';
import { depthOf, isFollowedBy, isOutdated, stateAtRead, stateOfPool, stateOfPrice, type PoolState } from './pool-state.ts';
import type { TokenFacts } from './token-facts.ts';
import type { TokenMarket } from './token-market.ts';

/**
 * The pools of a token by their last price events, the main one included. At most `maxTokenPools`; above this limit the one with the least depth
 * is dropped, which may be the new one.
 */
export class TokenPools {
  /** Null before the first event: most tokens in memory have none. */
  #byEvents: Map<string, { readonly state: PoolState; readonly depthSol: number }> | null = null;

  onPrice(event: PriceEvent): void {
    const pools = (this.#byEvents ??= new Map<string, { readonly state: PoolState; readonly depthSol: number }>());
    const { poolAddress } = event;
    const known = pools.get(poolAddress);
    if (known !== undefined && isOutdated(event, known.state)) return;
    pools.set(poolAddress, { state: stateOfPrice(event), depthSol: depthInSol(event) ?? 0 });
    if (pools.size <= maxTokenPools) return;
    // Of equal ones the newest, so that a flood of new pools does not remove known ones.
    const [shallowest] = [...pools].reduce((least, one) => (one[1].depthSol <= least[1].depthSol ? one : least));
    pools.delete(shallowest);
  }

  /** All known pools: the main one, then the others, the deepest first. `solUsd` makes depths in USD comparable. */
  states(facts: TokenFacts, { main }: TokenMarket, solUsd: number | null): readonly PoolState[] {
    const states = new Map<string, PoolState>();
    if (facts.curve !== null) states.set(facts.curve.address, stateAtRead(facts, facts.curve, facts.curve.account.reserves));
    for (const pool of facts.pools) states.set(pool.address, stateOfPool(facts, pool));
    for (const [address, { state }] of this.#byEvents ?? []) {
      const read = states.get(address);
      if (read === undefined || isFollowedBy(read, state)) states.set(address, state);
    }
    if (main !== null) states.set(main.address, main);
    return [...states.values()]
      .toSorted(
        (a, b) =>
          Number(b === main) - Number(a === main) ||
          (depthOf(b, solUsd) ?? 0) - (depthOf(a, solUsd) ?? 0) ||
          (a.address < b.address ? -1 : 1),
      )
      .slice(0, maxTokenPools);
  }
}
