import type { OffChainMetadata } from '@sluice/shared/metadata/outcome.ts';
import type { ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import { minPriceDepthSol } from '@sluice/shared/market/pools/main-pool.ts';
import { inSolAndUsd, type Rates } from '@sluice/shared/wire/values/money.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { transferFeeAt, type MintExtensions, type TransferFees } from '@sluice/shared/solana/tokens/token-extensions.ts';
import { isCurveVenue } from '@sluice/shared/wire/venues.ts';
import type { NewTokenEvent } from '@sluice/shared/wire/events/events.ts';
import type { PriceNullReason } from '@sluice/shared/wire/rest/fields.ts';
import type { TokenInfo } from '@sluice/shared/wire/rest/tokens/token.ts';
import type { MarketHealth } from '../market-health.ts';
import type { CurveGoal } from '@sluice/venues/seam/venue.ts';
import { bounded, creatorOf, traitsOf, type TokenFacts, type TokenIdentity, type TokenTraits } from './token-facts.ts';
import { depthOf, heldUi, type PoolState } from './pool-state.ts';
import type { MintView } from './mint-view.ts';

/** What only the creation event of a token contains. */
export interface Creation {
  readonly identity: TokenIdentity;
  readonly creator: string;
  readonly traits: TokenTraits;
}

export function creationOf({ name, symbol, uri, creator, traits, creatorFeeBps }: NewTokenEvent): Creation {
  return { identity: bounded({ name, symbol, uri, source: 'event', updateAuthority: null }), creator, traits: { traits, creatorFeeBps } };
}

export interface RenderContext {
  readonly health: MarketHealth;
  readonly creation: Creation | null;
  readonly offChain: OffChainMetadata | null;
  readonly slots: Pick<ConfirmedSlots, 'fateOfSlot'>;
  readonly nowMs: number;
}

/** The price that counts, of the main pool. If `reason` is set, all numbers are null. */
export interface PriceNow {
  readonly quote: number | null;
  readonly sol: number | null;
  readonly usd: number | null;
  readonly reason: PriceNullReason | null;
}

export function priceNow(view: MintView, health: MarketHealth, rates: Rates, nowMs: number): PriceNow {
  const none = (reason: PriceNullReason): PriceNow => ({ quote: null, sol: null, usd: null, reason });
  const { main } = view;
  if (main === null) return none('no_market');
  if (isCompleteCurve(view, main)) return none('no_liquidity');
  if (main.priceQuote === null) return none(main.reserves === null || main.quoteDecimals === null ? 'unknown' : 'no_liquidity');
  if (isTooShallow(main, rates)) return none('no_liquidity');
  const fault = health.fault();
  if (fault !== null) return none(fault);
  const quote = view.counted(nowMs)!;
  return { quote, ...inSolAndUsd(quote, main.quoteMint, rates), reason: null };
}

function confirmedPriceOf(state: PoolState | null, rates: Rates): TokenInfo['confirmedPrice'] {
  if (state === null || state.priceQuote === null) return null;
  const { priceQuote, quoteMint, slot } = state;
  const { sol: priceSol, usd: priceUsd } = inSolAndUsd(priceQuote, quoteMint, rates);
  return { priceQuote, priceSol, priceUsd, slot };
}

function isCompleteCurve({ curveComplete, facts }: MintView, { address }: PoolState): boolean {
  return curveComplete && address === facts.curve?.address;
}

/** Whether the price of an ordinary pool does not count, because so little is in the pool that anybody can set any price. */
function isTooShallow(main: PoolState, rates: Rates): boolean {
  const depth = depthOf(main, rates);
  return depth !== null && depth < minPriceDepthSol && !isCurveVenue(main.venue);
}

/** The answer of `/token/info`. A pure function: the time and all data are arguments. */
export function renderToken(token: MintView, { health, creation, offChain, slots, nowMs }: RenderContext): TokenInfo {
  const { facts, main, minutes, mint } = token;
  const { decimals, supply, tokenProgram, mintAuthority, freezeAuthority, extensions } = facts.token;
  const identity = facts.identity ?? creation?.identity ?? null;
  const known = traitsOf(facts) ?? creation?.traits ?? null;
  const solUsd = health.solUsd();
  const rates = health.rates();
  const price = priceNow(token, health, rates, nowMs);
  const isPriced = price.reason === null;
  // An old price could be computed from the reserves of that time, so they are withheld together with the price.
  const isOfNow = health.fault() === null;
  const supplyUi = toUi(supply, decimals);
  const quoteRate = health.coins.get(main?.quoteMint ?? '');
  const liquidity = isPriced ? liquidityOf(main!, facts, rates) : unknownValue;
  return {
    mint,
    asOfMs: nowMs,
    ...(health.simulated === true ? { simulated: true as const } : {}),
    name: identity?.name ?? null,
    symbol: identity?.symbol ?? null,
    uri: identity?.uri ?? null,
    metadataSource: identity?.source ?? null,
    updateAuthority: identity?.updateAuthority ?? null,
    offChain: offChain === null ? null : offChainOf(offChain),
    tokenProgram,
    decimals,
    supply: supply.toString(),
    supplyUi,
    mintAuthority,
    freezeAuthority,
    extensions: extensionsOf(extensions, facts.slot, nowMs),
    chain: { slot: facts.slot, ageMs: Math.max(0, nowMs - facts.askedAtMs) },
    creator: creatorOf(facts) ?? creation?.creator ?? null,
    traits: known === null ? null : [...known.traits],
    creatorFeeBps: known?.creatorFeeBps ?? null,
    venue: main?.venue ?? null,
    poolAddress: main?.address ?? null,
    quoteMint: main?.quoteMint ?? null,
    pools: poolsOf(token, isOfNow, rates),
    curve: curveOf(token, isOfNow),
    reserves: isOfNow ? (main?.reserves ?? null) : null,
    priceQuote: price.quote,
    priceSol: price.sol,
    priceUsd: price.usd,
    priceNullReason: price.reason,
    priceSlot: isPriced ? main!.slot : null,
    priceAgeMs: isPriced ? Math.max(0, nowMs - main!.atMs) : null,
    confirmedPrice: isPriced ? confirmedPriceOf(token.confirmed(slots), rates) : null,
    solUsd,
    ...(quoteRate === undefined ? {} : { quoteRate }),
    // The mint of wrapped SOL states a supply of 0: such a coin has no market cap.
    marketCapSol: price.sol === null || supplyUi === 0 ? null : price.sol * supplyUi,
    marketCapUsd: price.usd === null || supplyUi === 0 ? null : price.usd * supplyUi,
    liquiditySol: liquidity.sol,
    liquidityUsd: liquidity.usd,
    windows: minutes?.sums(Math.floor(nowMs / 1000)) ?? null,
  };
}

function curveOf(view: MintView, isOfNow: boolean): TokenInfo['curve'] {
  const { curve } = view.facts;
  if (curve === null) return null;
  const { address: poolAddress, account } = curve;
  const complete = view.curveComplete;
  const reserve = view.stateOf(poolAddress)?.reserves?.[account.goal.reserve] ?? account.reserves[account.goal.reserve];
  return { poolAddress, progressPercent: complete ? 100 : isOfNow ? progressOf(account.goal, BigInt(reserve)) : null, complete };
}

function progressOf({ from, to }: CurveGoal, reserve: bigint): number {
  const done = from === to ? 1_000_000n : ((reserve - from) * 1_000_000n) / (to - from);
  return Math.min(100, Math.max(0, Number(done) / 10_000));
}

const unknownValue = { sol: null, usd: null } as const;

function poolsOf(view: MintView, isOfNow: boolean, rates: Rates): TokenInfo['pools'] {
  return view.pools(rates).map((state) => {
    const isOver = isCompleteCurve(view, state);
    const priceQuote = isOfNow && !isOver ? state.priceQuote : null;
    const price = priceQuote === null ? unknownValue : inSolAndUsd(priceQuote, state.quoteMint, rates);
    const liquidity = isOfNow && !isOver ? liquidityOf(state, view.facts, rates) : unknownValue;
    return {
      venue: state.venue,
      poolAddress: state.address,
      quoteMint: state.quoteMint,
      slot: state.slot,
      priceQuote,
      priceSol: price.sol,
      priceUsd: price.usd,
      liquiditySol: liquidity.sol,
      liquidityUsd: liquidity.usd,
    };
  });
}

function liquidityOf(state: PoolState, { pools }: TokenFacts, rates: Rates): Pick<PriceNow, 'sol' | 'usd'> {
  // The events of concentrated liquidity have no reserves.
  const held = heldUi(state, pools.find(({ address }) => address === state.address)?.quoteHeld ?? null);
  return held === null ? unknownValue : inSolAndUsd(held, state.quoteMint, rates);
}

function offChainOf({ description, image, twitter, telegram, website }: OffChainMetadata): TokenInfo['offChain'] {
  return { description, image, twitter, telegram, website };
}

function extensionsOf(extensions: MintExtensions, slot: number, nowMs: number): TokenInfo['extensions'] {
  const { transferFee, scaledUiAmount: scaled } = extensions;
  return {
    transferFee: transferFee === null ? null : transferFeeOf(transferFee, slot),
    transferHook: extensions.transferHook,
    permanentDelegate: extensions.permanentDelegate,
    defaultAccountState: extensions.defaultAccountState,
    nonTransferable: extensions.nonTransferable,
    pausable: extensions.pausable,
    confidentialTransfer: extensions.confidentialTransfer,
    interestBearing: extensions.interestBearing,
    scaledUiAmount: scaled && {
      multiplier: nowMs / 1000 >= scaled.newFromS ? scaled.newMultiplier : scaled.multiplier,
      authority: scaled.authority,
    },
    closeAuthority: extensions.closeAuthority,
    others: [...extensions.others],
  };
}

function transferFeeOf(
  { older, newer, configAuthority, withdrawAuthority }: TransferFees,
  slot: number,
): NonNullable<TokenInfo['extensions']['transferFee']> {
  const holds = transferFeeAt({ older, newer }, slot);
  const next = holds === newer || (newer.bps === older.bps && newer.maxFee === older.maxFee) ? null : newer;
  return {
    bps: holds.bps,
    maxFee: holds.maxFee.toString(),
    nextBps: next?.bps ?? null,
    nextMaxFee: next?.maxFee.toString() ?? null,
    nextEpoch: next === null ? null : Number(next.epoch),
    configAuthority,
    withdrawAuthority,
  };
}
