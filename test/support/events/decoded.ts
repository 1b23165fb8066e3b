import { zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { decodeData, feeOfKind } from './decode-data.ts';
import type { Quote } from '@sluice/venues/seam/quoting.ts';
import { initialRealToken } from '@sluice/venues/pump/curve/program.ts';
import type { PumpAmmPool } from '../../../venues/src/pump/amm/decode.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import type {
  DecodedAccount,
  DecodeOutcome,
  Fee,
  FeePart,
  PoolReserves,
  TokenCreated,
  Venue,
  VenueEvent,
  VenueTrade,
} from '@sluice/venues/seam/venue.ts';

/** Fees by kind in the form that tests write; each in the quote coin. */
export interface FeesByKind {
  readonly protocol: FeePart;
  readonly creator: FeePart;
  readonly lp: FeePart;
  readonly cashback: FeePart;
  readonly holderRewards: FeePart;
  readonly total: bigint;
}

interface Flags {
  readonly mayhemMode: boolean;
  readonly cashback: boolean;
  readonly holderReward: boolean;
}

/** A trade in the form that tests write: with its reserves, from which the price must follow, and its fees by kind. */
export type PlainTrade = Omit<VenueTrade, 'fees' | 'feeTotal' | 'reserves' | 'priceQuote' | 'priceBase' | 'depth'> & {
  readonly reserves: PoolReserves;
  readonly fees: FeesByKind;
};
type PlainCreated = Omit<TokenCreated, 'traits' | 'supplyByMint'> & Flags;
export type PlainEvent = PlainTrade | PlainCreated | Exclude<VenueEvent, VenueTrade | TokenCreated>;
export type PlainDecoded = { readonly kind: 'decoded'; readonly event: PlainEvent } | Exclude<DecodeOutcome, { readonly kind: 'decoded' }>;

function feesByKind(fees: readonly Fee[], total: bigint): FeesByKind {
  if (fees.some(({ coin }) => coin !== 'quote')) throw new Error('A fee is not in the quote coin.');
  const part = (kind: Fee['kind']): FeePart => {
    const { amount, bps } = feeOfKind(fees, kind);
    return { amount, bps };
  };
  return {
    protocol: part('protocol'),
    creator: part('creator'),
    lp: part('lp'),
    cashback: part('cashback'),
    holderRewards: part('holderRewards'),
    total,
  };
}

/** A quote in the form that tests write, of a pool with reserves; its fees by kind. */
export type PlainQuote = Omit<Quote, 'fees' | 'feeTotal' | 'before' | 'after' | 'priceQuote' | 'priceBase'> & {
  readonly fees: FeesByKind;
  readonly before: PoolReserves;
  readonly after: PoolReserves;
};

export function plainQuote(quote: Quote): PlainQuote {
  const { fees, feeTotal, before, after, priceQuote, priceBase, ...others } = quote;
  if (before === null || after === null) throw new Error('The pool has no reserves.');
  if (priceQuote !== before.virtualQuote || priceBase !== before.virtualBase) throw new Error('The price is not that of the reserves.');
  return { ...others, fees: feesByKind(fees, feeTotal), before, after };
}

function flagsOf(traits: readonly string[]): Flags {
  const known = ['mayhemMode', 'cashback', 'holderReward'];
  if (traits.some((trait) => !known.includes(trait))) throw new Error(`Unknown traits: ${traits.join(', ')}.`);
  const [mayhemMode, cashback, holderReward] = known.map((trait) => traits.includes(trait));
  return { mayhemMode: mayhemMode!, cashback: cashback!, holderReward: holderReward! };
}

function plainTrade(trade: VenueTrade): PlainTrade {
  const { fees, feeTotal, reserves, priceQuote, priceBase, depth, ...others } = trade;
  if (reserves === null || depth !== null) throw new Error('The trade has no reserves.');
  if (priceQuote !== reserves.virtualQuote || priceBase !== reserves.virtualBase) throw new Error('The price is not that of the reserves.');
  return { ...others, reserves, fees: feesByKind(fees, feeTotal) };
}

function plainEvent(event: VenueEvent): PlainEvent {
  if (event.type === 'trade') return plainTrade(event);
  if (event.type !== 'created') return event;
  const { traits, supplyByMint, ...others } = event;
  const flags = flagsOf(traits);
  if (supplyByMint !== flags.mayhemMode) throw new Error('The supply of a mayhem coin, and of no other, is the mint’s.');
  return { ...others, ...flags };
}

/** Decodes bytes of one event. */
export function decodeEvent(venue: Venue, data: Uint8Array): PlainDecoded {
  const { outcome, events } = decodeData(venue, data);
  if (outcome.kind !== 'decoded') {
    if (events.length > 0) throw new Error('An event together with a refusal.');
    return outcome;
  }
  const [event] = events;
  if (event === undefined || events.length > 1) throw new Error(`${events.length} events, but one was expected.`);
  return { kind: 'decoded', event: plainEvent(event) };
}

/** The same with the id of the program; undefined if it is not a venue. */
export function decodeWith(programId: string, data: Uint8Array): PlainDecoded | undefined {
  const venue = venueByProgram.get(programId);
  return venue === undefined ? undefined : decodeEvent(venue, data);
}

/** A trade with what the account that it needs adds to it. */
export function completed(venue: Venue, trade: VenueTrade, account: Uint8Array): VenueTrade {
  if (trade.needs === undefined) return trade;
  const read = venue.constantsOf!(account, () => null, trade.needs.account);
  if (read.kind !== 'decoded') throw new Error(JSON.stringify(read));
  const { needs: _, ...complete } = venue.completeTrade!(trade, read.constants);
  return complete;
}

/** Decodes an account of pump or PumpSwap; without fields that follow from others. */
export function decodeAccount(venue: Venue, data: Uint8Array): unknown {
  const decoded: DecodedAccount = venue.decodeAccount(data);
  if (decoded.kind !== 'decoded') return decoded;
  const { traits, supplyByMint, ...others } = decoded.account;
  const flags = flagsOf(traits);
  if (supplyByMint !== flags.mayhemMode) throw new Error('The supply of a mayhem coin, and of no other, is the mint’s.');
  if (others.type !== 'pool') {
    const { baseMint, goal, ...curve } = others;
    if (baseMint !== null) throw new Error('The account of a curve names no coin.');
    if (goal.reserve !== 'realBase' || goal.from !== initialRealToken || goal.to !== 0n)
      throw new Error('The goal of a curve is another one.');
    return { kind: 'decoded', account: { ...curve, ...flags } };
  }
  const { price, tokenCreator, vaultOwner, virtualBase, ...pool } = others;
  const { coinCreator } = others as PumpAmmPool;
  if (tokenCreator !== (coinCreator === zeroAddress ? null : coinCreator)) throw new Error('The pool has two creators of its token.');
  if (vaultOwner !== null) throw new Error('A pump pool owns its vaults.');
  if (virtualBase !== 0n) throw new Error('A pump pool adds nothing to its base vault.');
  if (price !== null) throw new Error('A pool of vaults has a price of its own.');
  return { kind: 'decoded', account: { ...pool, ...flags } };
}
