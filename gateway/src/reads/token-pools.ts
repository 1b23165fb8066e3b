import { depthInSol, inSol } from '@sluice/shared/money.ts';
import { toUi } from '@sluice/shared/solana/amounts.ts';
import type { PriceEvent } from '@sluice/shared/wire/events.ts';
import { maxTokenPools } from '@sluice/shared/wire/rest/token.ts';
import type { PoolFacts } from '../pools/pool-accounts.ts';
import { heldUi, isFollowedBy, isOutdated, stateAtRead, stateOfPrice, type PoolState } from './pool-state.ts';
import type { TokenFacts } from './token-facts.ts';
import type { TokenMarket } from './token-market.ts';

/**
 * The pools of a token by their last price events, the main one included. At most `maxTokenPools`; above this limit the one with the least of its
 * quote coin is dropped, which may be the new one.
 */
export class TokenPools {
  /** Null before the first event: most tokens in memory have none. */
  #byEvents: Map<string, { readonly state: PoolState; readonly depthSol: number }> | null = null;

  onPrice(event: PriceEvent): void {
    const pools = (this.#byEvents ??= new Map<string, { readonly state: PoolState; readonly depthSol: number }>());
    const { poolAddress, quoteMint, priceQuote, priceSol, reserves } = event;
    const known = pools.get(poolAddress);
    if (known !== undefined && isOutdated(event, known.state)) return;
    const depthSol = depthInSol(Number(reserves?.realQuote ?? 0), quoteMint, priceQuote, priceSol);
    pools.set(poolAddress, { state: stateOfPrice(event), depthSol });
    if (pools.size <= maxTokenPools) return;
    // Of equal ones the newest, so that a flood of new pools does not remove known ones.
    const [shallowest] = [...pools].reduce((least, one) => (one[1].depthSol <= least[1].depthSol ? one : least));
    pools.delete(shallowest);
  }

  /** All known pools: the main one, then the others, the deepest first. `solUsd` makes depths in USD comparable. */
  states(facts: TokenFacts, { main }: TokenMarket, solUsd: number | null): readonly PoolState[] {
    const states = new Map<string, PoolState>();
    const held = new Map<string, bigint | null>();
    if (facts.curve !== null) states.set(facts.curve.address, stateAtRead(facts, facts.curve, facts.curve.account.reserves));
    for (const pool of facts.pools) {
      states.set(pool.address, stateOfAccount(facts, pool));
      held.set(pool.address, pool.quoteHeld);
    }
    for (const [address, { state }] of this.#byEvents ?? []) {
      const read = states.get(address);
      if (read === undefined || isFollowedBy(read, state)) states.set(address, state);
    }
    if (main !== null) states.set(main.address, main);
    const depth = (state: PoolState): number => inSol(heldUi(state, held.get(state.address) ?? null) ?? 0, state.quoteMint, solUsd) ?? 0;
    return [...states.values()]
      .toSorted((a, b) => Number(b === main) - Number(a === main) || depth(b) - depth(a) || (a.address < b.address ? -1 : 1))
      .slice(0, maxTokenPools);
  }
}

/** The account of a pool of concentrated liquidity states its price. */
function stateOfAccount(facts: TokenFacts, pool: PoolFacts): PoolState {
  const state = stateAtRead(facts, pool, pool.reserves);
  const { price } = pool.account;
  if (price === null || price.priceBase <= 0n || price.priceQuote <= 0n || state.quoteDecimals === null) return state;
  const priceQuote = toUi(price.priceQuote, state.quoteDecimals) / toUi(price.priceBase, facts.token.decimals);
  return { ...state, priceQuote: Number.isFinite(priceQuote) ? priceQuote : null };
}
