import type { Portfolio } from '@sluice/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { short } from '../../format/price.ts';
import { inQuoteCoin, quoteSymbol, wrappedSol } from '../../format/quote-coin.ts';
import { useLoaded } from '../../parts/hooks.ts';
import { AsOf } from '../../parts/parts.tsx';
import { me, simulated, sluice } from '../../state/server.ts';
import { useStore } from '../../state/store.ts';

/** Coins may also come from elsewhere. */
const refreshMs = 5_000;
/** An answer may be older than the trade. It is then requested again, this often. */
const againMs = 1_000;

/** What the wallet of the ticket holds, in whole coins. */
export interface Balances {
  /** Null if the answer does not list it. */
  readonly tokens: number | null;
  readonly quoteCoins: number | null;
  readonly readAtMs: number;
}

export interface BalancesOf {
  /** Empty without a wallet. */
  readonly publicKey: string;
  readonly mint: string;
  readonly quoteMint: string | null;
  /** The slot of the last own trade, which the balances include. */
  readonly landed: { readonly slot: number } | null;
  /** A trade of the wallet that the stream has shown; null if none has been. */
  readonly lastTrade: string | null;
}

/** Null while they are not known: rather no balance than one of before the last own trade. */
export function useBalances({ publicKey, mint, quoteMint, landed, lastTrade }: BalancesOf): Balances | null {
  const [everyMs, setEveryMs] = useState(refreshMs);
  const load = publicKey === '' ? null : () => sluice.portfolio(publicKey);
  const { value, readAtMs, reload } = useLoaded(load, publicKey, everyMs);
  const trades = `${landed?.slot ?? ''} ${lastTrade ?? ''}`;
  const included = useRef(trades);
  useEffect(() => {
    if (included.current !== trades) reload();
    included.current = trades;
  }, [trades]);
  const isOld = value !== null && value.slot < (landed?.slot ?? 0);
  useEffect(() => setEveryMs(isOld ? againMs : refreshMs), [isOld]);
  if (value === null || isOld) return null;
  return { tokens: heldOf(value, mint), quoteCoins: heldOf(value, quoteMint ?? wrappedSol), readAtMs: Math.min(readAtMs, value.asOfMs) };
}

function heldOf({ sol, holdings, omittedHoldings }: Portfolio, mint: string): number | null {
  if (mint === wrappedSol) return sol.uiAmount;
  const holding = holdings.find((one) => one.mint === mint);
  return holding === undefined ? (omittedHoldings > 0 ? null : 0) : holding.uiAmount;
}

/** `price`: quote coins for one token now. */
export function BalanceLine(props: {
  readonly balances: Balances;
  readonly symbol: string;
  readonly quoteMint: string | null;
  readonly price: number | null;
}) {
  const { balances, symbol, quoteMint, price } = props;
  const { tokens, quoteCoins, readAtMs } = balances;
  return (
    <p class="hint balances">
      <span>
        In the wallet: {tokens === null ? '–' : short(tokens)} <bdi>{symbol}</bdi>, {inQuoteCoin(quoteCoins, quoteMint)}
      </span>
      {tokens !== null && tokens > 0 && price !== null && (
        <span>
          <bdi>{symbol}</bdi> worth {inQuoteCoin(tokens * price, quoteMint)} now,{' '}
        </span>
      )}
      <AsOf readAtMs={readAtMs} />
      {quoteCoins === 0 && <AddCoins quoteMint={quoteMint} />}
    </p>
  );
}

/** Leads to where the wallet gets the coin, if it can. */
function AddCoins({ quoteMint }: { readonly quoteMint: string | null }) {
  const isPaper = useStore(me)?.trading === 'paper';
  const isSimulated = useStore(simulated) === true;
  const symbol = quoteSymbol(quoteMint);
  if (isPaper && symbol !== 'SOL') return <span>A paper balance has only SOL.</span>;
  if (isSimulated && symbol !== 'SOL' && symbol !== 'USDC') return <span>The faucet has only SOL and USDC.</span>;
  return <a href="#/wallets">Add {symbol}</a>;
}
