import { Recent } from '../../runtime/collections/recent.ts';
import { associatedTokenAddress } from './pda.ts';

/** Addresses that one derivation caches, about 0.4 KB each. An address that was dropped is derived again. */
const maxDerived = 20_000;

/** Derives each address once, in about 30 µs. `derive` must depend on nothing but its arguments, which are addresses; its errors are passed on. */
export function keepDerived<Parts extends readonly string[]>(
  derive: (...parts: Parts) => string,
  max = maxDerived,
): (...parts: Parts) => string {
  const cache = new Recent<string>(max);
  return (...parts) => {
    const key = parts.length === 1 ? parts[0]! : parts.join(' ');
    const known = cache.get(key);
    if (known !== undefined) return known;
    const address = derive(...parts);
    cache.set(key, address);
    return address;
  };
}

/** Associated token account of (owner, mint, token program), derived once. */
export const tokenAddress = keepDerived(associatedTokenAddress);
