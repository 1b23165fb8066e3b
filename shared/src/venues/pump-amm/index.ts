import { isAddress } from '../../solana/base58.ts';
import { associatedTokenAddress } from '../../solana/pda.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '../../solana/well-known.ts';
import type { DerivedPool, Venue } from '../venue.ts';
import { decode, decodeAccount } from './decode.ts';
import { accountDiscriminators, canonicalPoolAddress, eventAuthority, programId } from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';
import { tradeFault } from './errors.ts';

/** Quote coins that curves move to a pool with. Curves in another coin do so too; their pool is known once it is told. */
const canonicalQuotes = [wrappedSolMint, usdcMint] as const;

/** The pool that a curve's coin moves to, with its vaults: the quote coins are of SPL Token, the coin of either program. */
function canonicalPool(mint: string, quoteMint: string): DerivedPool {
  const address = canonicalPoolAddress(mint, quoteMint);
  const vaults = [
    associatedTokenAddress(address, mint, tokenProgram),
    associatedTokenAddress(address, mint, token2022Program),
    associatedTokenAddress(address, quoteMint, tokenProgram),
  ];
  return { address, vaults };
}

/** PumpSwap. A mint may have several pools, so `poolOfMint` is null. */
export const pumpAmm: Venue = {
  name: 'pump-amm',
  programId,
  reveals: 'logs',
  textPrefix: null,
  eventAuthority,
  watchedAccountPrefixes: [accountDiscriminators.pool],
  decode,
  decodeAccount,
  poolOfMint: () => null,
  derivedPools: (mint) => (isAddress(mint) ? canonicalQuotes.map((quote) => canonicalPool(mint, quote)) : []),
  curveProgress: () => null,
  quoting,
  signing,
  tradeFault,
};
