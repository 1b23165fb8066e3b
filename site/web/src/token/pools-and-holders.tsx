import type { TokenHolders, TokenInfo } from '@sluice/client';
import { venueLabel } from '@sluice/shared/wire/venues.ts';
import { short, shortUsd } from '../format/price.ts';
import { quoteSymbol, tradePrice } from '../format/quote-coin.ts';
import { shortAddress } from '../format/text.ts';
import { useLoaded } from '../parts/hooks.ts';
import { WalletLink } from '../parts/links.tsx';
import { AsOf, Card, Empty, Reading } from '../parts/parts.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { sluice } from '../state/server.ts';

type Pool = TokenInfo['pools'][number];

/** Where the token trades: its curve and pools, each with its own price. */
export function Pools(props: { readonly info: Pick<TokenInfo, 'pools' | 'poolAddress' | 'curve'>; readonly readAtMs: number }) {
  const { pools, poolAddress, curve } = props.info;
  const kindOf = (address: string): string =>
    address === curve?.poolAddress ? (curve.complete ? 'curve, complete' : 'curve') : address === poolAddress ? 'main' : '';
  const columns: readonly Column<Pool>[] = [
    {
      head: 'Venue',
      title: (pool) => pool.poolAddress,
      cell: ({ venue, poolAddress: address, quoteMint }) => (
        <>
          {venueLabel(venue)} {kindOf(address) !== '' && <span class="badge">{kindOf(address)}</span>}
          <small class="faint">
            {shortAddress(address)} · {quoteSymbol(quoteMint)}
          </small>
        </>
      ),
    },
    { head: 'Price', class: 'number', cell: tradePrice },
    { head: 'Liquidity', class: 'number', cell: ({ liquidityUsd }) => shortUsd(liquidityUsd) },
  ];
  return (
    <Card id="pools" title="Pools" class="markets" aside={<AsOf readAtMs={props.readAtMs} />}>
      {pools.length === 0 && <Empty>No supported venue trades this token.</Empty>}
      {pools.length > 0 && <Table columns={columns} rows={pools} keyOf={(pool) => pool.poolAddress} />}
    </Card>
  );
}

type Holder = NonNullable<TokenHolders['holders']>[number];

/** As long as the gateway stores an answer. */
const refreshMs = 30_000;
const shownHolders = 10;

/** The largest holders with their shares of the supply, where a node lists them. */
export function Holders({ mint, creator }: { readonly mint: string; readonly creator: string | null }) {
  const { value, fault, readAtMs } = useLoaded(() => sluice.holders(mint), mint, refreshMs);
  return (
    <Card
      id="holders"
      title="Largest holders"
      class="largest"
      aside={value !== null && <AsOf readAtMs={Math.min(readAtMs, value.asOfMs)} />}
    >
      <Reading fault={fault} isRead={value !== null} />
      {value?.holders === null && <Empty>Not known: no node lists the holders of this token.</Empty>}
      {value?.holders?.length === 0 && <Empty>Nobody holds this token.</Empty>}
      {value?.holders != null && value.holders.length > 0 && <HolderTable holders={value.holders} creator={creator} />}
    </Card>
  );
}

function HolderTable({ holders, creator }: { readonly holders: readonly Holder[]; readonly creator: string | null }) {
  const wallets = holders.filter(({ kind }) => kind === 'wallet').slice(0, shownHolders);
  const share = wallets.reduce((sum, { sharePercent }) => sum + (sharePercent ?? 0), 0);
  return (
    <>
      {wallets.some(({ sharePercent }) => sharePercent !== null) && (
        <p class="faint" title="The number of all holders is not known: nodes list the largest accounts only.">
          The {wallets.length === 1 ? 'largest wallet holds' : `${wallets.length} largest wallets hold`} {share.toFixed(1)} % of the supply.
        </p>
      )}
      <table class="holders">
        <tbody>
          {holders.slice(0, shownHolders).map((holder) => (
            <tr key={holder.owner}>
              <td>
                <HolderName holder={holder} isCreator={holder.owner === creator} />
              </td>
              <td class="number faint">{short(holder.uiAmount)}</td>
              <td class="number">{holder.sharePercent === null ? '–' : `${holder.sharePercent.toFixed(2)} %`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function HolderName({ holder: { owner, kind, venue }, isCreator }: { readonly holder: Holder; readonly isCreator: boolean }) {
  switch (kind) {
    case 'curve':
      return <b title={owner}>Bonding curve of {venueLabel(venue ?? '')}</b>;
    case 'pool':
      return <b title={owner}>Pool of {venueLabel(venue ?? '')}</b>;
    case 'program':
      return (
        <span
          class="faint"
          title={`${owner}: it has no private key, so a program holds these tokens: another pool, a lock or a shared wallet.`}
        >
          Program {shortAddress(owner)}
        </span>
      );
    case 'wallet':
      return (
        <>
          <WalletLink address={owner} /> {isCreator && <span class="badge">creator</span>}
        </>
      );
  }
}
