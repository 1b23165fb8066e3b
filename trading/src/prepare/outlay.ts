import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { Quote } from '@sluice/venues/seam/quoting.ts';
import type { ProgramAccount } from '@sluice/venues/seam/trading.ts';
import type { BuiltMessage } from './message-builder.ts';

/** Lamports that a transaction takes from its wallet. */
export interface Outlay {
  /** The network fee, which is taken first. */
  readonly fee: bigint;
  /** The most that is taken before the transaction returns something. */
  readonly most: bigint;
  /** The sum of all that the transaction takes and returns; negative if the wallet gains. */
  readonly all: bigint;
}

export interface OutlayTerms {
  readonly built: Pick<BuiltMessage, 'trade' | 'made' | 'wrapped' | 'tips'>;
  readonly quote: Pick<Quote, 'side' | 'traderQuote'>;
  readonly maxIn: bigint;
  readonly fee: bigint;
  /** Lamports that exempt an account of this many bytes from rent. */
  readonly rent: (bytes: number) => bigint;
}

/** Lamports of an address that belongs to no program; 0 if it has none. Null if it belongs to one: then the account exists already. */
export type LamportsAt = (address: string) => bigint | null;

/** The accounts whose lamports decide what a message takes. */
export function payableAccounts({ trade, made, wrapped }: OutlayTerms['built']): readonly string[] {
  return [...trade.programAccounts, ...made, ...(wrapped === null ? [] : [wrapped])].map(({ address }) => address);
}

/**
 * The outlay of a trade at its quote. Accounts are created before the trade pays out, and the account in which SOL is wrapped holds the most that
 * the trade may take until it is closed.
 */
export function outlayOf({ built, quote, maxIn, fee, rent }: OutlayTerms, lamportsAt: LamportsAt): Outlay {
  const { trade, made, wrapped, tips } = built;
  const lacks = ({ address, bytes, grows }: ProgramAccount): bigint => {
    const held = grows === null ? lamportsAt(address) : grows.rent;
    return held === null || held >= rent(bytes) ? 0n : rent(bytes) - held;
  };
  const isBuy = quote.side === 'buy';
  const accounts = [...trade.programAccounts, ...made].reduce((sum, account) => sum + lacks(account), 0n);
  const traded = trade.quoteMint !== wrappedSolMint ? 0n : isBuy ? quote.traderQuote : -quote.traderQuote;
  const all = accounts + traded + tips.reduce((sum, { lamports }) => sum + lamports, 0n);
  if (wrapped === null) return { fee, most: accounts, all };
  // Closing returns what was at the address before, too.
  return { fee, most: accounts + lacks(wrapped) + (isBuy ? maxIn : 0n), all: all - (lamportsAt(wrapped.address) ?? 0n) };
}

/** The least balance from which every wallet can pay. `ownRent`: what must stay in the wallet. */
export function needOf({ fee, most, all }: Outlay, ownRent: bigint): bigint {
  return fee + [ownRent, most, all + ownRent].reduce((highest, one) => (one > highest ? one : highest));
}

/** Whether a wallet with this balance can pay. After the fee and at the end, it must have its rent, or nothing. */
export function canPay({ fee, most, all }: Outlay, ownRent: bigint, have: bigint): boolean {
  const isAllowed = (left: bigint): boolean => left === 0n || left >= ownRent;
  const afterFee = have - fee;
  return isAllowed(afterFee) && afterFee >= most && isAllowed(afterFee - all);
}
