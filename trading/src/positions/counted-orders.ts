import type { PositionLedger } from '@sluice/followers/positions/ledger.ts';
import type { WalletState } from '@sluice/followers/positions/wallet-state.ts';
import { legsOf, type WalletTrade } from '@sluice/followers/positions/wallet-trade.ts';
import type { OrderFill, OrderKind, OrderTerms, StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import { inSol } from '@sluice/shared/wire/values/money.ts';

const liveKinds: readonly OrderKind[] = ['lightning', 'sent'];
const paperKinds: readonly OrderKind[] = ['paper'];

export interface OrderCountParts {
  readonly store: Pick<Store, 'walletStates' | 'paper'>;
  readonly genesisHash: string;
  readonly isPaper: boolean;
  readonly ledger: PositionLedger;
  /** Price of SOL in USD; null if it is unknown. */
  readonly solUsd: () => number | null;
  readonly followAll: () => Promise<void>;
}

/**
 * Adds ended orders to the positions: the fees of those on the chain, whose trades are in the log, and all of those on paper. Returns their ids, which must
 * be stored as counted together with the positions.
 */
export async function countOrders(parts: OrderCountParts): Promise<readonly string[]> {
  const { store, genesisHash, isPaper, ledger, followAll } = parts;
  const orders = await store.walletStates.uncounted(genesisHash, isPaper ? paperKinds : liveKinds);
  if (orders.some(({ terms }) => terms !== null && !ledger.has(terms.publicKey))) await followAll();
  for (const order of orders) {
    const { terms, fill } = order;
    const wallet = terms === null ? null : ledger.get(terms.publicKey);
    if (terms === null || fill === null || wallet === null) continue;
    if (wallet.paperSinceMs !== null && !(await isOfThisStart(parts, wallet, order))) continue;
    if (wallet.paperSinceMs !== null) ledger.settle(wallet, paperTrade(order, terms, fill, parts.solUsd()));
    ledger.charge(wallet, terms.mint, fill.networkFee + tipOf(order));
  }
  return orders.map(({ id }) => id);
}

/** Whether an order on paper was made since the balance was last reset. A reset ends all positions. */
async function isOfThisStart({ store, genesisHash, ledger }: OrderCountParts, wallet: WalletState, order: StoredOrder): Promise<boolean> {
  const { startedAtMs } = await store.paper.balance({ wallet: wallet.wallet, genesisHash });
  if (startedAtMs === null) return false;
  if (startedAtMs !== wallet.paperSinceMs) ledger.clear(wallet, startedAtMs);
  return order.createdAtMs >= startedAtMs;
}

function paperTrade({ id, createdAtMs }: StoredOrder, terms: OrderTerms, fill: OrderFill, solUsd: number | null): WalletTrade {
  const { side, mint, quoteMint, baseDecimals, quoteDecimals } = terms;
  const base = { mint, decimals: baseDecimals, amount: fill.baseAmount, fees: 0n };
  const quote = { mint: quoteMint, decimals: quoteDecimals, amount: fill.traderQuote, fees: 0n };
  const valueOf = (paid: bigint): bigint | null => {
    if (quoteMint === wrappedSolMint) return paid;
    const sol = inSol(Number(paid) / 10 ** quoteDecimals, quoteMint, { solUsd });
    return sol === null ? null : BigInt(Math.round(sol * 10 ** solDecimals));
  };
  const legs = legsOf({ side, base, quote, atMs: createdAtMs }, valueOf);
  return { id, signature: id, slot: fill.slot, index: null, commitment: 'finalized', legs };
}

function tipOf({ quoteJson }: StoredOrder): bigint {
  const { tip } = quoteJson === null ? {} : (JSON.parse(quoteJson) as Partial<QuoteObject>);
  return BigInt(tip ?? 0);
}
