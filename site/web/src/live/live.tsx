import type { Migration, NewToken } from '@sluice/client';
import { venueLabel } from '@sluice/shared/wire/venues.ts';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { readChain, readVenues } from '../state/server.ts';
import { shortUsd, sol } from '../format/price.ts';
import { inQuoteCoin } from '../format/quote-coin.ts';
import { age } from '../format/text.ts';
import { useLoaded, useNow } from '../parts/hooks.ts';
import { DocsLink, TokenLink, WalletLink } from '../parts/links.tsx';
import { Card, Choice, Empty, Field, Select } from '../parts/parts.tsx';
import { PoolTable } from '../parts/pool-table.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { TradeTable } from '../parts/trade-table.tsx';
import { useStore } from '../state/store.ts';
import { interruptedSince } from '../state/stream-state.ts';
import { useIsOwn } from '../parts/own-wallets.ts';
import { connection, feed, filters, isPaused, known, type LiveChannel } from './feed.ts';
import { isNoAmount, noFilters, passes, type LiveEvent, type LiveFilters } from './filters.ts';
import { capOf } from '../state/metadata/market-caps.ts';
import { nameOf, namesVersion, wantName } from '../state/metadata/names.ts';

const shownRows = 60;
/** Rows of a list whose tokens are looked up if the page did not see their creation: those that can be seen, and some more. */
const namedRows = 24;
/** Ingest may restart, and read other venues then. */
const readChainMs = 20_000;
/** The lists by their channels: name, title, and what an empty one says. A phone shows one of them. */
const cards: Readonly<Record<LiveChannel, readonly [name: string, title: string, quiet: string]>> = {
  newTokens: ['tokens', 'New tokens', 'Quiet: no token was created lately.'],
  trades: ['trades', 'Trades', 'Quiet: nobody has traded lately.'],
  pools: ['pools', 'Pools', 'Quiet: no pool was opened, filled or emptied lately.'],
  migrations: ['migrations', 'Migrations', 'Quiet: no token has moved from its bonding curve to a pool lately.'],
};
const sides = [
  ['', 'Both'],
  ['buy', 'Buys'],
  ['sell', 'Sells'],
] as const;
const numbers: ReadonlySet<keyof LiveFilters> = new Set(['minSol', 'minCapUsd', 'maxCapUsd']);

export function LivePage() {
  const chosen = useStore(filters);
  const isOwn = useIsOwn();
  const [list, setList] = useState('tokens');
  const { newTokens, trades, pools, migrations } = useStore(feed);
  useLoaded(readChain, 'chain', readChainMs);
  useStore(namesVersion);
  const shownOf = <T extends LiveEvent>(all: readonly T[]): readonly T[] =>
    all.filter((event) => passes(event, chosen, known)).slice(0, shownRows);
  // The creator of a token may be what decides whether it is shown.
  const isNamed = chosen.creator.trim() === '' ? shownOf : <T extends LiveEvent>(all: readonly T[]): readonly T[] => all;
  useNames(isNamed(trades), isNamed(pools), isNamed(migrations));
  const card = <T extends LiveEvent>(channel: LiveChannel, all: readonly T[], table: (shown: readonly T[]) => ComponentChildren) => {
    const shown = shownOf(all);
    const [name, title] = cards[channel];
    return (
      <Card id={`live-${name}`} title={title} class={name}>
        {shown.length === 0 ? <Why channel={channel} hidden={all.length} /> : table(shown)}
      </Card>
    );
  };
  return (
    <>
      <div class="page-head">
        <h1>Live</h1>
        <ConnectionState />
        <DocsLink page="stream" about="the stream" />
      </div>
      <Filters chosen={chosen} />
      <div class="phone-only">
        <Choice name="List" value={list} onChange={setList} options={Object.values(cards).map(([name, title]) => [name, title] as const)} />
      </div>
      <div class="lists" data-list={list}>
        {card('newTokens', newTokens, (shown) => (
          <TokenTable tokens={shown} />
        ))}
        {card('trades', trades, (shown) => (
          <TradeTable trades={shown} isOwn={isOwn} />
        ))}
        {card('pools', pools, (shown) => (
          <PoolTable events={shown} withTokens />
        ))}
        {card('migrations', migrations, (shown) => (
          <MigrationTable migrations={shown} />
        ))}
      </div>
    </>
  );
}

/** Why a list shows nothing. `hidden`: events that the filters hide. */
function Why({ channel, hidden }: { readonly channel: LiveChannel; readonly hidden: number }) {
  const paused = useStore(isPaused);
  const interrupted = useStore(interruptedSince) !== null;
  const { state, detail, refused } = useStore(connection);
  const why = (): string => {
    if (refused[channel] !== undefined) return refused[channel];
    if (hidden > 0) return `The filters hide all ${hidden} that were received.`;
    if (paused) return 'Paused.';
    if (state === 'live') return interrupted ? 'Nothing arrives at present.' : cards[channel][2];
    return state === 'connecting' ? 'Loading …' : `Not connected: ${detail}`;
  };
  return <Empty>{why()}</Empty>;
}

/** Requests the names of the newest tokens of each list that are not known. */
function useNames(...lists: readonly (readonly { readonly mint: string }[])[]): void {
  useEffect(() => {
    for (const list of lists) {
      const unknown = new Set(list.map(({ mint }) => mint).filter((mint) => nameOf(mint) === null));
      for (const mint of [...unknown].slice(0, namedRows)) wantName(mint);
    }
  });
}

function ConnectionState() {
  const { detail, missed, rate, delayMs, ...of } = useStore(connection);
  const interrupted = useStore(interruptedSince) !== null;
  const state = interrupted && of.state === 'live' ? 'interrupted' : of.state;
  const paused = useStore(isPaused);
  const toggle = (): void => isPaused.set(!isPaused.value);
  return (
    <div class="connection">
      <span class={`dot ${state}`} aria-hidden="true" />
      <span role="status">{paused ? 'paused' : state}</span>
      {state === 'live' && <span class="faint">{Math.round(rate)} events/s</span>}
      {state === 'live' && delayMs !== null && (
        <span class="faint wide-only" title="From the notification of the chain to this page">
          {Math.round(delayMs)} ms
        </span>
      )}
      {missed > 0 && <span class="warn">{missed} missed</span>}
      {detail !== '' && <span class="faint">{detail}</span>}
      <button type="button" class="small" aria-pressed={paused} onClick={toggle}>
        {paused ? 'Resume' : 'Pause'}
      </button>
    </div>
  );
}

function Filters({ chosen }: { readonly chosen: LiveFilters }) {
  const change = (changes: Partial<LiveFilters>): void => filters.set({ ...chosen, ...changes });
  const field = (name: keyof LiveFilters, label: string, placeholder: string) => (
    <Field
      label={label}
      value={chosen[name]}
      placeholder={placeholder}
      maxLength={44}
      aria-invalid={numbers.has(name) && isNoAmount(chosen[name])}
      onInput={(event) => change({ [name]: event.currentTarget.value })}
    />
  );
  const wrong = [...numbers].some((name) => isNoAmount(chosen[name]));
  const read = useStore(readVenues) ?? [];
  const listed = chosen.venue === '' || read.includes(chosen.venue) ? read : [...read, chosen.venue];
  const isActive = Object.values(chosen).some((value) => value !== '');
  return (
    <details class="filters" open={innerWidth > 720}>
      <summary>Filters{isActive ? ' (active)' : ''}</summary>
      <form class="row" onSubmit={(event) => event.preventDefault()}>
        <Select
          label="Venue"
          value={chosen.venue}
          onChange={(venue) => change({ venue })}
          options={[['', 'All'], ...listed.map((venue) => [venue, venueLabel(venue)] as const)]}
        />
        <Select label="Side" value={chosen.side} onChange={(side) => change({ side: side as LiveFilters['side'] })} options={sides} />
        {field('token', 'Token', 'symbol or mint')}
        {field('creator', 'Creator', 'address')}
        {field('trader', 'Trader', 'address')}
        {field('minSol', 'Size from (SOL)', '0.5')}
        {field('minCapUsd', 'Cap from ($)', '10k')}
        {field('maxCapUsd', 'to ($)', '1m')}
        <button type="button" class="small" disabled={!isActive} onClick={() => filters.set(noFilters)}>
          Clear
        </button>
      </form>
      {wrong && (
        <p class="sell" role="alert">
          The marked field is no number, so it hides nothing. Write 0.5, 10k or 1,000.
        </p>
      )}
    </details>
  );
}

/** Without the trades, the page does not learn how market caps change. */
const useSeesNoTrades = (): boolean => useStore(connection).refused.trades !== undefined;

const idOf = ({ id }: NewToken | Migration): string => id;
const mintOf = ({ mint }: NewToken | Migration): string => mint;

function TokenTable({ tokens }: { readonly tokens: readonly NewToken[] }) {
  const now = useNow();
  const isFirst = useSeesNoTrades();
  const columns: readonly Column<NewToken>[] = [
    { head: 'Token', cell: ({ mint, symbol, name }) => <TokenLink mint={mint} symbol={symbol} name={name} /> },
    {
      head: isFirst ? 'Market cap at launch' : 'Market cap',
      class: 'number',
      cell: ({ mint, marketCapUsd }) => shortUsd((isFirst ? null : capOf(mint)) ?? marketCapUsd),
      second: 'First buy',
    },
    {
      head: 'First buy',
      class: 'number wide-only',
      hint: 'What the creator bought together with the creation',
      cell: ({ initialBuy }) => sol(initialBuy?.solAmount),
    },
    { head: 'Creator', class: 'wide-only', cell: ({ creator }) => <WalletLink address={creator} /> },
    { head: 'Age', class: 'number faint', cell: ({ ts }) => age(now - ts.received / 1_000) },
  ];
  return <Table columns={columns} rows={tokens} keyOf={idOf} mintOf={mintOf} />;
}

function MigrationTable({ migrations }: { readonly migrations: readonly Migration[] }) {
  const now = useNow();
  const isFirst = useSeesNoTrades();
  const columns: readonly Column<Migration>[] = [
    {
      head: 'Token',
      cell: ({ mint, from, pool }) => <TokenLink mint={mint} {...nameOf(mint)} detail={`${venueLabel(from.pool)} → ${venueLabel(pool)}`} />,
    },
    {
      head: 'Moved',
      class: 'number',
      hint: 'What the curve moved to the pool',
      cell: ({ quoteAmount, quoteDecimals, quoteMint }) => inQuoteCoin(Number(quoteAmount) / 10 ** quoteDecimals, quoteMint),
    },
    {
      head: isFirst ? 'Market cap then' : 'Market cap',
      class: 'number',
      cell: ({ mint, marketCapUsd }) => shortUsd((isFirst ? null : capOf(mint)) ?? marketCapUsd),
      second: 'Age',
    },
    { head: 'Age', class: 'number faint wide-only', cell: ({ ts }) => age(now - ts.received / 1_000) },
  ];
  return <Table columns={columns} rows={migrations} keyOf={idOf} mintOf={mintOf} />;
}
