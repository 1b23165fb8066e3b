import { dateTime, isAddress, shortAddress } from '../../format/text.ts';
import { Icon } from '../../parts/icon.tsx';
import { explorerAccount, OutLink } from '../../parts/links.tsx';
import { Card, Copy, Empty, Fault, Reading } from '../../parts/parts.tsx';
import { useStore } from '../../state/store.ts';
import { me, readStatus, simulated } from '../../state/server.ts';
import { useLoaded } from '../../parts/hooks.ts';
import { maxTrades, useTrades } from '../../parts/tape.tsx';
import { TradeTable } from '../../parts/trade-table.tsx';
import type { Trade } from '@sluice/client';
import { OrderList } from '../../trading/orders/orders.tsx';
import { Holdings } from './holdings.tsx';
import { useOwnWallets } from '../../parts/own-wallets.ts';

/** Any wallet: what it holds and its trades; also the orders of an own one. */
export function WalletPage({ id: address }: { readonly id: string }) {
  return isAddress(address) ? (
    <KnownWallet address={address} />
  ) : (
    <>
      <h1>Wallet {shortAddress(address)}</h1>
      <Fault text="Not an address of a wallet." />
    </>
  );
}

function KnownWallet({ address }: { readonly address: string }) {
  const { trades, fault } = useTrades({ account: address });
  const isSimulated = useStore(simulated) === true;
  const isPaper = useStore(me)?.trading === 'paper';
  const own = useOwnWallets().value?.find(({ publicKey }) => publicKey === address);
  return (
    <>
      <div class="token-head">
        <Icon of={address} size={52} />
        <div class="titles">
          <h1>
            Wallet {shortAddress(address)} {own !== undefined && <small>{own.label === null ? 'yours' : `yours: ${own.label}`}</small>}
          </h1>
          <p class="faint">
            <code class="whole">{address}</code> <Copy text={address} />{' '}
            {!isSimulated && <OutLink href={explorerAccount(address)}>Solscan</OutLink>}
          </p>
        </div>
      </div>
      <section class="card" aria-label="Holdings">
        <Holdings publicKey={address} isOwn={own !== undefined} />
      </section>
      {own !== undefined && (
        <Card id="wallet-orders" title="Orders">
          <OrderList wallet={address} />
        </Card>
      )}
      <Card id="wallet-trades" title="Trades">
        <Reading fault={fault} isRead={trades !== null} />
        {isPaper && own !== undefined ? (
          <Empty>An order on paper is no trade on the chain. The orders above are all that this wallet has done.</Empty>
        ) : (
          trades !== null && <Reach trades={trades} explorer={isSimulated ? null : explorerAccount(address)} />
        )}
        {trades !== null && trades.length > 0 && <TradeTable trades={trades} />}
      </Card>
    </>
  );
}

const readHistoryMs = 60_000;

/** How far back the list reaches: the stream has only the newest events. */
function Reach({ trades, explorer }: { readonly trades: readonly Trade[]; readonly explorer: string | null }) {
  const start = useLoaded(readStatus, 'history', readHistoryMs).value?.stream.history.oldestAtMs ?? null;
  const sinceMs = trades.length < maxTrades ? start : trades.at(-1)!.ts.received / 1_000;
  const since = sinceMs === null ? 'among the newest events' : `since ${dateTime(sinceMs)}`;
  return (
    <p class={trades.length === 0 ? 'empty' : 'hint'}>
      {trades.length === 0 ? `None ${since}. New ones appear here.` : `All ${since}.`} The server stores no older trades of a wallet.{' '}
      {explorer !== null && <OutLink href={explorer}>Older trades on Solscan</OutLink>}
    </p>
  );
}
