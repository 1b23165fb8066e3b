import './style/base.css';
import './style/layout.css';
import './style/pages.css';
import { render, type FunctionComponent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { watchBrowserWallets } from './app/browser-wallets.ts';
import { KeyList } from './app/shortcuts.tsx';
import { place, tokenHref, walletHref, type PageName, type Place } from './state/router.ts';
import { Search } from './app/search.tsx';
import { faultText, me, pageKey, readChain, readMe, simulated } from './state/server.ts';
import { attempt, note, SignIn, signInByLink, signOut } from './app/sign-in.tsx';
import { switchTheme, theme } from './app/theme.ts';
import { pageNames, titleOf } from './app/titles.ts';
import { age, clockTime, isAddress, shortAddress, zoneText } from './format/text.ts';
import { startFeed, stopFeed } from './live/feed.ts';
import { LivePage } from './live/live.tsx';
import { useSignal } from './parts/hooks.ts';
import { Button, Empty } from './parts/parts.tsx';
import { shownSymbol } from './parts/token-name.tsx';
import { nameOf, namesVersion } from './state/metadata/names.ts';
import { useStore } from './state/store.ts';
import { interruptedSince, isChainSilent, numbersAgeMs } from './state/stream-state.ts';

const sections: readonly PageName[] = ['live', 'orders', 'wallets', 'api-keys', 'status'];

/** Pauses between attempts to load the page's state, milliseconds. */
const firstPauseMs = 500;
const maxPauseMs = 10_000;

type Page = FunctionComponent<{ readonly id: string }>;
type LaterPage = Exclude<PageName, 'live' | 'unknown'>;
const laterPages: Readonly<Record<LaterPage, () => Promise<Page>>> = {
  token: async () => (await import('./token/token.tsx')).TokenPage,
  orders: async () => (await import('./trading/orders-page.tsx')).OrdersPage,
  wallets: async () => (await import('./account/wallets/wallets.tsx')).WalletsPage,
  wallet: async () => (await import('./account/wallets/wallet.tsx')).WalletPage,
  'api-keys': async () => (await import('./account/keys/keys.tsx')).KeysPage,
  status: async () => (await import('./app/status/status.tsx')).StatusPage,
};

function App() {
  const { page, id } = useStore(place);
  const current = useStore(me);
  const key = useStore(pageKey);
  useEffect(() => {
    if (key === null) return;
    startFeed();
    return stopFeed;
  }, [key]);
  const needsSignIn = page !== 'status';
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.querySelector('main')?.focus())}>
        Skip to the content
      </a>
      <PageTitle place={{ page, id }} />
      <Header place={{ page, id }} />
      <main id="main" tabIndex={-1}>
        <NoteLine />
        {key !== null && <StreamLine />}
        {page === 'unknown' ? (
          <UnknownPage path={id} />
        ) : current === null ? (
          <Empty>Loading …</Empty>
        ) : needsSignIn && current.account === null ? (
          <SignIn />
        ) : needsSignIn && key === null ? (
          <Empty>Opening …</Empty>
        ) : page === 'live' ? (
          <LivePage />
        ) : (
          <Later page={page} id={id} />
        )}
      </main>
      <footer>
        <span>
          sluice, <a href="/docs">Docs</a>, <a href="/api/openapi.json">OpenAPI</a> {key !== null && <KeyList />}
        </span>
        <span>Times are in {zoneText()}.</span>
        <span>
          Charts by <a href="https://www.tradingview.com/">TradingView</a>. Creators of tokens choose the images; other icons are generated
          from addresses.
        </span>
      </footer>
    </>
  );
}

/**
 * Names the page in the title of the document, and moves the focus to its content after each change: without a new document, the browser does
 * neither. Draws nothing.
 */
function PageTitle({ place: { page, id } }: { readonly place: Place }) {
  useStore(namesVersion);
  const symbol = page === 'token' ? (nameOf(id)?.symbol ?? null) : null;
  const title = titleOf({ page, id }, symbol === null ? null : shownSymbol({ mint: id, symbol }));
  useEffect(() => {
    document.title = title;
  }, [title]);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) document.querySelector('main')?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [page, id]);
  return null;
}

function Header({ place: { page } }: { readonly place: Place }) {
  const current = useStore(me);
  const shown = useStore(theme);
  const isSimulated = useStore(simulated);
  const account = current?.account ?? null;
  const named = account === null ? '' : account.kind === 'operator' ? 'operator' : `${account.wallet ?? account.id} · ${account.plan}`;
  return (
    <header>
      <a class="brand" href="#/live" aria-label="sluice">
        <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" class="mark" />
          <path d="M7 12c3-3 6 3 9 0s6 3 9 0M7 20c3-3 6 3 9 0s6 3 9 0" class="waves" />
        </svg>
        <span>sluice</span>
      </a>
      <nav aria-label="Sections">
        {sections.map((name) => (
          <a key={name} href={`#/${name}`} aria-current={name === page ? 'page' : undefined}>
            {pageNames[name]}
          </a>
        ))}
        <a href="/docs">Docs</a>
      </nav>
      {account !== null && <Search />}
      <div class="account">
        {isSimulated === true && (
          <span class="badge simulated" title="Coins, trades and balances of this chain are not real">
            simulated
          </span>
        )}
        {account !== null && (
          <span id="account" title={named}>
            {account.kind === 'operator' || account.wallet === null ? named : `${shortAddress(account.wallet)} · ${account.plan}`}
          </span>
        )}
        <Button class="small" aria-label={shown === 'dark' ? 'Use the light theme' : 'Use the dark theme'} onClick={switchTheme}>
          {shown === 'dark' ? '☀' : '☾'}
        </Button>
        {account !== null && (
          <Button class="small" onClick={signOut}>
            Sign out
          </Button>
        )}
      </div>
      {account !== null && <NumbersAge />}
    </header>
  );
}

function NoteLine() {
  const shown = useStore(note);
  return (
    <div
      role={shown?.kind === 'fault' ? 'alert' : 'status'}
      class={shown === null ? '' : `note ${shown.kind} ${shown.isNear === true ? 'near' : ''}`}
    >
      {shown?.text}
      {shown?.action !== undefined && (
        <Button class="small" onClick={shown.action.run}>
          {shown.action.name}
        </Button>
      )}
      {shown !== null && (
        <Button class="plain" aria-label="Close this message" onClick={() => note.set(null)}>
          ×
        </Button>
      )}
    </div>
  );
}

/** How old the numbers of the page are, above a second. */
function NumbersAge() {
  const ms = useStore(numbersAgeMs);
  return ms === null ? null : (
    <span class="badge unusual numbers-age">Numbers are {ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : age(ms)} old</span>
  );
}

function StreamLine() {
  const since = useStore(interruptedSince);
  const why = useStore(isChainSilent) ? 'No news of the chain arrives at the server.' : 'The stream is interrupted.';
  return (
    <div role="status" class={since === null ? '' : 'note fault'}>
      {since !== null && `${why} Prices, trades and charts on this page are those of ${clockTime(since)}.`}
    </div>
  );
}

/** Says that an address leads nowhere. If it contains the address of a token or a wallet, that is what it was meant to open. */
function UnknownPage({ path }: { readonly path: string }) {
  const address = path.split('/').find(isAddress);
  return (
    <>
      <div class="page-head">
        <h1>No such page</h1>
      </div>
      <p>
        Nothing is at <code class="whole">#/{path.slice(0, 200)}</code>.{' '}
        {address === undefined ? (
          <>
            The sections are above; <a href="#/live">Live</a> shows the market, and the search finds tokens and wallets.
          </>
        ) : (
          <>
            Open {shortAddress(address)} as a <a href={tokenHref(address)}>token</a> or as a <a href={walletHref(address)}>wallet</a>.
          </>
        )}
      </p>
    </>
  );
}

function Later({ page, id }: { readonly page: LaterPage; readonly id: string }) {
  const [loaded, setLoaded] = useState<{ readonly page: PageName; readonly Shown: Page } | null>(null);
  useSignal([page], (signal) => {
    void attempt(async () => {
      const Shown = await laterPages[page]();
      if (!signal.aborted) setLoaded({ page, Shown });
    });
  });
  if (loaded?.page !== page) return <Empty>Loading …</Empty>;
  const { Shown } = loaded;
  return <Shown key={id} id={id} />;
}

/** Reads who is signed in. The server may be starting at this moment, so the page asks until it answers. */
async function begin(): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    try {
      await Promise.all([readChain(), readMe()]);
      note.set(null);
      return await signInByLink();
    } catch (error) {
      note.set({ text: `${faultText(error)} The page tries again …`, kind: 'fault' });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

watchBrowserWallets();
addEventListener('hashchange', () => void signInByLink());
render(<App />, document.querySelector('#app')!);
void begin();
