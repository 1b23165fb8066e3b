import { legsOf, isMoney, type WalletTrade } from '@sluice/followers/positions/wallet-trade.ts';
import type { TokenBalance, TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { isReversedPair, quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import { decodeEvents } from '@sluice/venues/seam/decode-data.ts';
import { feesIn } from '@sluice/venues/seam/fee.ts';
import type { Pair, VenueTrade } from '@sluice/venues/seam/venue.ts';

/**
 * The trades of a wallet in a transaction of the chain's history, as its events in the log would count. What cannot be decoded is left out. A quote coin
 * other than SOL has no known value, because nothing shows its price at that time.
 */
export function tradesIn(view: TransactionView, wallet: string, slot: number): WalletTrade[] {
  const emitted = decodeEvents(view, venueByProgram);
  if (typeof emitted === 'string') return [];
  const trades: WalletTrade[] = [];
  for (const { venue, event } of emitted) {
    if (event.type !== 'trade' || event.trader !== wallet) continue;
    const pair = event.pair ?? pairOf(event, view.tokenBalances ?? []);
    const legs = pair === null ? null : legsIn(event, pair, venue.curves !== null, view);
    if (legs === null) continue;
    const id = `${view.signature}:${trades.length}`;
    trades.push({ id, signature: view.signature, slot, index: view.index, commitment: 'confirmed', legs });
  }
  return trades;
}

/** The mints of a pool that owns its vaults: the base is the one of which the traded amount moved. Null if that is not clear. */
function pairOf({ pool, baseAmount }: VenueTrade, balances: readonly TokenBalance[]): Pair | null {
  const vaults = balances.filter(({ owner }) => owner === pool);
  const isBase = ({ before, after }: TokenBalance): boolean => after - before === baseAmount || before - after === baseAmount;
  const [base, ...more] = vaults.filter((vault) => isBase(vault) && !isMoney(vault.mint));
  const quote = vaults.find(({ mint }) => mint !== base?.mint);
  return base === undefined || more.length > 0 || quote === undefined ? null : { baseMint: base.mint, quoteMint: quote.mint };
}

function legsIn(trade: VenueTrade, { baseMint, quoteMint }: Pair, isCurve: boolean, view: TransactionView): WalletTrade['legs'] | null {
  const coinOf = (mint: string, amount: bigint, side: 'base' | 'quote') => {
    const decimals = decimalsOf(mint, view.tokenBalances ?? []);
    return decimals === null ? null : { mint, amount, fees: feesIn(side, trade.fees), decimals };
  };
  const [first, second] = [coinOf(baseMint, trade.baseAmount, 'base'), coinOf(quoteMint, trade.quoteAmount, 'quote')];
  if (first === null || second === null) return null;
  const isFlipped = !isCurve && isReversedPair(baseMint, quoteMint);
  const [base, quote] = isFlipped ? [second, first] : [first, second];
  if (isMoney(base.mint)) return null;
  const side = (trade.side === 'buy') === isFlipped ? 'sell' : 'buy';
  const seconds = view.blockTime ?? trade.timestamp ?? 0;
  return legsOf({ side, base, quote, atMs: seconds * 1_000 }, (paid) => (quote.mint === wrappedSolMint ? paid : null));
}

function decimalsOf(mint: string, balances: readonly TokenBalance[]): number | null {
  return quoteCoins.get(mint)?.decimals ?? balances.find((balance) => balance.mint === mint)?.decimals ?? null;
}
