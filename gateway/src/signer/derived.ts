import { associatedTokenAddress } from '@sluice/shared/solana/pda.ts';
import { canonicalPoolAddress } from '@sluice/shared/venues/pump-amm/program.ts';
import { bondingCurveAddress } from '@sluice/shared/venues/pump/program.ts';

/** Addresses kept; when full, the one that was derived first goes. Deriving takes a tenth of a millisecond. */
const maxKept = 50_000;

/** Derived addresses, each derived once. What is no address has none. */
export interface DerivedAddresses {
  tokenAccount(owner: string, mint: string, tokenProgram: string): string;
  curve(mint: string): string;
  pool(mint: string, quoteMint: string): string;
}

export function derivedAddresses(): DerivedAddresses {
  const kept = new Map<string, string>();
  const keep = (name: string, derive: () => string): string => {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const address = derive();
    if (kept.size >= maxKept) {
      const oldest = kept.keys().next();
      if (!oldest.done) kept.delete(oldest.value);
    }
    kept.set(name, address);
    return address;
  };
  return {
    tokenAccount: (owner, mint, program) => keep(`${owner} ${mint} ${program}`, () => associatedTokenAddress(owner, mint, program)),
    curve: (mint) => keep(mint, () => bondingCurveAddress(mint)),
    pool: (mint, quoteMint) => keep(`${mint} ${quoteMint}`, () => canonicalPoolAddress(mint, quoteMint)),
  };
}
