import { setTimeout as pause } from 'node:timers/promises';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import type { DecodedTransaction } from '@sluice/shared/solana/transaction.ts';
import { isVenue, readTrade, type Trade } from '../../signer/trade-instruction.ts';
import type { OrderTerms } from '../model/order.ts';
import type { HotState } from '../state/hot-state.ts';

/** A transaction waits for its coin's decimals no longer than this. */
const withinMs = 400;

/**
 * What a caller's own transaction trades, so that its fill can be told. Null where it is not one trade of its fee payer's, on the coin's
 * own pool, or where nobody tells the coins' decimals: the order is then followed without a fill.
 */
export async function termsOfTransaction(transaction: DecodedTransaction, state: Pick<HotState, 'market'>): Promise<OrderTerms | null> {
  const trade = tradeOf(transaction);
  const [publicKey] = transaction.accountKeys;
  if (trade === null || publicKey === undefined) return null;
  const market = await marketOf(trade.baseMint, state);
  const traded = market?.pools.find(({ pool }) => pool.address === trade.pool);
  if (market === null || traded === undefined) return null;
  return {
    side: trade.side,
    mint: trade.baseMint,
    pool: traded.venue.name,
    poolAddress: trade.pool,
    quoteMint: traded.pool.quoteMint,
    baseDecimals: market.decimals,
    quoteDecimals: traded.quoteDecimals,
    publicKey,
  };
}

/** The one trade in it. Accounts of lookup tables are not known here: an instruction that names some is none that can be read. */
function tradeOf({ accountKeys, instructions }: DecodedTransaction): Trade | null {
  const [wallet = ''] = accountKeys;
  const trades = instructions.flatMap(({ programIdIndex, accountIndexes, data }) => {
    const programId = accountKeys[programIdIndex] ?? '';
    if (!isVenue(programId)) return [];
    const trade = readTrade({ programId, accounts: accountIndexes.map((index) => accountKeys[index] ?? ''), data }, wallet);
    return 'baseMint' in trade ? [trade] : [];
  });
  return trades.length === 1 ? trades[0]! : null;
}

async function marketOf(mint: string, state: Pick<HotState, 'market'>) {
  const late = new AbortController();
  try {
    const read = await Promise.race([state.market(mint), pause(withinMs, null, { signal: late.signal, ref: false })]);
    return read?.result.kind === 'market' ? read.result.market : null;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // It is sent all the same: that its fill is told matters less.
    return null;
  } finally {
    late.abort();
  }
}
