import type { DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { isVenue, openedSol, readTrade, type Trade } from '../../signer/checks/trade-instruction.ts';

/**
 * The trade of a transaction by its fee payer; null if it does not contain exactly one. Instructions with accounts of lookup tables are not
 * read, because the tables are unknown here.
 */
export function onlyTradeOf({ accountKeys, instructions }: DecodedTransaction): Trade | null {
  const [wallet = ''] = accountKeys;
  const named = instructions.map(({ programIdIndex, accountIndexes, data }) => ({
    programId: accountKeys[programIdIndex] ?? '',
    accounts: accountIndexes.map((index) => accountKeys[index] ?? ''),
    data,
  }));
  const opened = openedSol(named, wallet);
  const trades = named.flatMap((instruction) => {
    const trade = isVenue(instruction.programId) ? readTrade(instruction, { wallet, opened, poolAccount: null }) : null;
    return trade !== null && 'baseMint' in trade ? [trade] : [];
  });
  return trades.length === 1 ? trades[0]! : null;
}
