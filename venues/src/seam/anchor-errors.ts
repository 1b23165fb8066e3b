import type { TradeFault } from './trading.ts';

/**
 * Errors that Anchor itself raises before the code of a program runs, in any program written with it. Source: `error.rs` of `anchor-lang`.
 * Each means that an account is not what the program expects at its position.
 */
const anchorFaults: ReadonlyMap<number, TradeFault> = new Map([
  [2003, 'stale_accounts'], // ConstraintRaw
  [2006, 'stale_accounts'], // ConstraintSeeds: the creator changed, and the vault with it
  [2009, 'stale_accounts'], // ConstraintAssociated
  [2012, 'stale_accounts'], // ConstraintAddress
  [2014, 'invalid_mint'], // ConstraintTokenMint
  [2015, 'stale_accounts'], // ConstraintTokenOwner: the token account belongs to another recipient
  [2022, 'invalid_mint'], // ConstraintMintTokenProgram
  [3002, 'invalid_mint'], // AccountDiscriminatorMismatch
  [3003, 'invalid_mint'], // AccountDidNotDeserialize
  [3007, 'invalid_mint'], // AccountOwnedByWrongProgram
  [3012, 'invalid_mint'], // AccountNotInitialized
]);

/** The meaning of an Anchor error code, for codes to which the program gives no other meaning. */
export function anchorFault(code: number): TradeFault {
  return anchorFaults.get(code) ?? 'other';
}
