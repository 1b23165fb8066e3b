import { Recent } from '../collections/recent.ts';
import { associatedTokenAddress } from './pda.ts';

/** Addresses that one derivation remembers, about 0.4 KB each. A forgotten one is derived again. */
const maxDerived = 20_000;

/**
 * Derives each address once: about 30 µs the first time, a look-up after that. The arguments are addresses; `derive` must depend on
 * nothing else. What it throws is thrown on, and nothing is kept.
 */
export function keepDerived<Parts extends readonly string[]>(
  derive: (...parts: Parts) => string,
  max = maxDerived,
): (...parts: Parts) => string {
  const kept = new Recent<string>(max);
  return (...parts) => {
    const key = parts.length === 1 ? parts[0]! : parts.join(' ');
    const known = kept.get(key);
    if (known !== undefined) return known;
    const address = derive(...parts);
    kept.set(key, address);
    return address;
  };
}

/** Associated token account of (owner, mint, token program), derived once. */
export const tokenAddress = keepDerived(associatedTokenAddress);
