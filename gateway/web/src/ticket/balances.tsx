import type { Portfolio } from '@sluice/client';
import { useEffect, useState } from 'preact/hooks';
import { short } from '../format/price.ts';
import { inQuoteCoin, wrappedSol } from '../format/quote-coin.ts';
import { sluice } from '../state/server.ts';

/** An answer may be older than the trade. It is then requested again, this often. */
const againMs = 1_000;
const maxReads = 12;

/** What the wallet holds of both coins of the ticket. `landed`: the slot of the last own trade, which the shown balances include. */
export function Balances(props: {
  readonly publicKey: string;
  readonly mint: string;
  readonly symbol: string;
  readonly quoteMint: string | null;
  readonly landed: { readonly slot: number } | null;
}) {
  const { publicKey, mint, symbol, quoteMint, landed } = props;
  const [read, setRead] = useState<{ readonly portfolio: Portfolio; readonly of: string } | null>(null);
  useEffect(() => {
    if (publicKey === '') return;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readAgain = async (left: number): Promise<void> => {
      const portfolio = await sluice.portfolio(publicKey, { signal: ended.signal }).catch(() => null);
      if (ended.signal.aborted) return;
      const isCurrent = portfolio !== null && portfolio.slot >= (landed?.slot ?? 0);
      if (isCurrent) setRead({ portfolio, of: publicKey });
      else if (left > 0) timer = setTimeout(() => void readAgain(left - 1), againMs);
      // Rather no balance than one of before the trade.
      else setRead(null);
    };
    void readAgain(maxReads);
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [publicKey, landed]);
  if (read === null || read.of !== publicKey) return null;
  const { portfolio } = read;
  const held = amountOf(portfolio, mint);
  return (
    <p class="hint balances">
      In the wallet: {held === null ? '–' : short(held)} <bdi>{symbol}</bdi>,{' '}
      {inQuoteCoin(amountOf(portfolio, quoteMint ?? wrappedSol), quoteMint)}
    </p>
  );
}

/** Whole coins; null if the answer does not list them all. */
function amountOf({ sol, holdings, omittedHoldings }: Portfolio, mint: string): number | null {
  if (mint === wrappedSol) return sol.uiAmount;
  const holding = holdings.find((one) => one.mint === mint);
  return holding === undefined ? (omittedHoldings > 0 ? null : 0) : holding.uiAmount;
}
