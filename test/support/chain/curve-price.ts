import { curveOf } from '../../simnet/programs/addresses.ts';
import { readCurve } from '../../simnet/programs/pump/state.ts';
import type { SimChain } from '../../simnet/sim-chain.ts';
import { accountBytes } from '../../simnet/support/account-bytes.ts';

const lamportsPerSol = 1e9;
const rawPerToken = 1e6;

/** SOL for one token on the bonding curve of a coin now. */
export function curvePrice(chain: SimChain, mint: string): number {
  const { virtualQuote, virtualToken } = readCurve(accountBytes(chain, curveOf(mint)));
  return Number(virtualQuote) / lamportsPerSol / (Number(virtualToken) / rawPerToken);
}
