import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import type { DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { OrderTerms } from '@sluice/gateway/store/order-model/order.ts';
import { onlyTradeOf } from '../signer/checks/trade-instruction.ts';
import type { HotState } from '../state/hot-state.ts';

/** Longest wait for the decimals of the coin. */
const withinMs = 400;

/** What a caller's transaction trades. Null if that is not exactly one trade in a known pool, or if the decimals cannot be read in time. */
export async function termsOfTransaction(transaction: DecodedTransaction, state: Pick<HotState, 'markets'>): Promise<OrderTerms | null> {
  const trade = onlyTradeOf(transaction, (address) => state.markets.bytesOf(address));
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

async function marketOf(mint: string, state: Pick<HotState, 'markets'>) {
  const late = new AbortController();
  try {
    const read = await Promise.race([state.markets.read(mint), pause(withinMs, late.signal, { ref: false })]);
    return read?.result.kind === 'market' ? read.result.market : null;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // The transaction is sent anyway.
    return null;
  } finally {
    late.abort();
  }
}
