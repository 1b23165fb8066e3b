import type { TradeFault } from './trading.ts';

/**
 * Errors that Anchor raises itself, before a program's own code, in any program written with it. Source: `anchor-lang`
 * `error.rs`. Each says that an account is not what the program expects in its place.
 */
const anchorFaults: ReadonlyMap<number, TradeFault> = new Map([
  [2003, 'stale_accounts'], // ConstraintRaw
  [2006, 'stale_accounts'], // ConstraintSeeds: the creator changed, and with it the vault
  [2009, 'stale_accounts'], // ConstraintAssociated
  [2012, 'stale_accounts'], // ConstraintAddress
  [2014, 'invalid_mint'], // ConstraintTokenMint
  [2015, 'stale_accounts'], // ConstraintTokenOwner: a token account of another recipient
  [2022, 'invalid_mint'], // ConstraintMintTokenProgram
  [3002, 'invalid_mint'], // AccountDiscriminatorMismatch
  [3003, 'invalid_mint'], // AccountDidNotDeserialize
  [3007, 'invalid_mint'], // AccountOwnedByWrongProgram
  [3012, 'invalid_mint'], // AccountNotInitialized
]);

/** What an error code of an Anchor program means, where the program has no meaning of its own for it. */
export function anchorFault(code: number): TradeFault {
  return anchorFaults.get(code) ?? 'other';
}
