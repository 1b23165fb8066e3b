import type { TradeFault } from '../seam/trading.ts';

type Codes = Partial<Record<TradeFault, Readonly<Record<string, number>>>>;

function faultsByCode(codes: Codes): ReadonlyMap<number, TradeFault> {
  return new Map(Object.entries(codes).flatMap(([fault, named]) => Object.values(named).map((code) => [code, fault as TradeFault])));
}

/**
 * Errors that Anchor itself raises before the code of a program runs, in any program written with it. Source: `error.rs` of `anchor-lang`.
 * Each means that an account is not what the program expects at its position: the creator changed, and the vault with it; the token account belongs to
 * another recipient.
 */
const anchorFaults = faultsByCode({
  stale_accounts: {
    ConstraintRaw: 2003,
    ConstraintSeeds: 2006,
    ConstraintAssociated: 2009,
    ConstraintAddress: 2012,
    ConstraintTokenOwner: 2015,
  },
  invalid_mint: {
    ConstraintTokenMint: 2014,
    ConstraintMintTokenProgram: 2022,
    AccountDiscriminatorMismatch: 3002,
    AccountDidNotDeserialize: 3003,
    AccountOwnedByWrongProgram: 3007,
    AccountNotInitialized: 3012,
  },
});

/** `Venue.tradeFault` of a program of Anchor, from the names and numbers of its own errors. In other programs the same numbers have other meanings. */
export function tradeFaultsOf(codes: Codes): (code: number) => TradeFault {
  const faults = plainFaultsOf(codes);
  return (code) => anchorFaults.get(code) ?? faults(code);
}

/** The same of a program without Anchor. */
export function plainFaultsOf(codes: Codes): (code: number) => TradeFault {
  const faults = faultsByCode(codes);
  return (code) => faults.get(code) ?? 'other';
}
