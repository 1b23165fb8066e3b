import type { Trade } from '@sluice/client';
import { useState } from 'preact/hooks';
import { soon } from '../state/bounded.ts';
import { faultText, sluice } from '../state/server.ts';
import { explorerTx, OutLink, WalletLink } from './links.tsx';
import { useSignal } from './hooks.ts';
import { Card, Empty, Reading } from './parts.tsx';
import { Table, type Column } from './table.tsx';
import { shortUsd, short } from '../format/price.ts';
import { inQuoteCoin, tradePrice } from '../format/quote-coin.ts';
import { clockTime } from '../format/text.ts';

/** Trades that are remembered. */
export const maxTrades = 200;
const drawEveryMs = 250;

/**
 * Recent trades of a mint or an account, and further ones as they happen: the newest first, in the order of the chain. `breaks`: how often trades went
 * missing, or were retracted; what was read before may count them.
 */
export function useTrades(what: { readonly mint?: string; readonly account?: string }) {
  const [trades, setTrades] = useState<readonly Trade[] | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [breaks, setBreaks] = useState(0);
  const { mint, account } = what;
  useSignal([mint, account], (signal) => {
    /** Oldest first. Trades of one slot that arrived together keep their order. */
    const list = new Map<string, Trade>();
    const show = (): void => {
      const sorted = [...list.values()].toSorted((a, b) => a.slot - b.slot || a.ts.received - b.ts.received).slice(-maxTrades);
      list.clear();
      for (const trade of sorted) list.set(trade.id, trade);
      setTrades(sorted.toReversed());
    };
    const showSoon = soon(show, drawEveryMs, signal);
    const fail = (error: unknown): void => {
      if (!signal.aborted) setFault(faultText(error));
    };
    const read = async (): Promise<void> => {
      if (mint === undefined) return;
      const page = await sluice.trades(mint, { limit: 60 }, { signal });
      for (const trade of page.trades.toReversed()) list.set(trade.id, trade);
      show();
    };
    const noteBreak = (): void => setBreaks((count) => count + 1);
    sluice.subscribe('trades', {
      ...(mint !== undefined && { mints: [mint] }),
      ...(account !== undefined && { accounts: [account], last: maxTrades }),
      signal,
      onEvent: (event) => {
        if (event.type === 'retract') {
          list.delete(event.id);
          noteBreak();
        } else list.set(event.id, event);
        showSoon();
      },
      // Trades are missing: read them again.
      onGap: () => {
        noteBreak();
        void read().catch(fail);
      },
      // There is no list of the trades of an account. The first ones arrive at once, if there are any.
      onStatus: ({ state }) => {
        if (account !== undefined && state === 'live') showSoon();
      },
      onError: fail,
    });
    void read().catch(fail);
  });
  return { trades, fault, breaks };
}

export function Tape(props: {
  readonly trades: readonly Trade[] | null;
  readonly fault: string | null;
  readonly isOwn: (trade: Trade) => boolean;
  readonly isSimulated: boolean;
}) {
  const { trades, fault, isOwn, isSimulated } = props;
  const columns: readonly Column<Trade>[] = [
    {
      head: 'Time',
      class: 'faint',
      cell: ({ ts }) => clockTime(ts.received / 1_000),
      second: { head: 'Trader', cell: ({ trader }) => <WalletLink address={trader} /> },
    },
    { head: 'Side', cell: (trade) => <SideOf trade={trade} isOwn={isOwn(trade)} /> },
    { head: 'Size', class: 'number', second: 'Tokens', cell: ({ quoteUiAmount, quoteMint }) => inQuoteCoin(quoteUiAmount, quoteMint) },
    { head: 'Tokens', class: 'number wide-only', cell: ({ tokenAmount }) => short(tokenAmount) },
    { head: 'Price', class: 'number', second: 'Market cap', cell: tradePrice },
    { head: 'Market cap', class: 'number wide-only', cell: ({ marketCapUsd }) => shortUsd(marketCapUsd) },
    { head: 'Trader', class: 'wide-only', cell: (trade) => <Trader of={trade} isOwn={isOwn(trade)} /> },
    ...(isSimulated ? [] : [{ head: 'Transaction', class: 'wide-only', cell: TransactionOf }]),
  ];
  return (
    <Card id="token-trades" title="Trades" class="trades">
      <Reading fault={fault} isRead={trades !== null} />
      {trades?.length === 0 && <Empty>Quiet: no trade of this token is stored.</Empty>}
      <div class="scroll" tabIndex={0} role="region" aria-label="Trades, the newest first">
        <Table columns={columns} rows={trades ?? []} keyOf={({ id }) => id} classOf={(trade) => (isOwn(trade) ? 'own' : '')} />
      </div>
    </Card>
  );
}

function TransactionOf({ signature }: Trade) {
  return signature === null ? null : <OutLink href={explorerTx(signature)}>Solscan</OutLink>;
}

/** The side of a trade. On a phone, the mark of an own trade is below it. */
export function SideOf({ trade: { side }, isOwn }: { readonly trade: Trade; readonly isOwn: boolean }) {
  return (
    <>
      <span class={`side ${side}`}>{side}</span>
      {isOwn && (
        <span class="second-line">
          <span class="badge">you</span>
        </span>
      )}
    </>
  );
}

export function Trader({ of: { trader }, isOwn }: { readonly of: Trade; readonly isOwn: boolean }) {
  return (
    <>
      <WalletLink address={trader} /> {isOwn && <span class="badge">you</span>}
    </>
  );
}
