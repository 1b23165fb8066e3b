import { isTradedVenue, tradedVenueNames } from '@sluice/shared/wire/venues.ts';
import { ask, pageKey, readChain, sluice } from '../state/server.ts';
import type { OwnWallet } from '../parts/own-wallets.ts';
import { Store } from '../state/store.ts';
import { apiKey, caller, client, credentials, sendAs } from './credentials.tsx';

/** What the examples of the server name, and what replaces it. */
type Name = 'origin' | 'mint' | 'wallet' | 'order';
type Examples = Partial<Readonly<Record<Name, string>>>;

/** What exists on this gateway now. */
export const examples = new Store<Examples>({ origin: location.origin });

/** A key is not complete while it is typed. */
const settledMs = 400;
const mintWithinMs = 10_000;

/** The text with what exists here instead of the examples. */
export function fill(text: string): string {
  const named = Object.entries(examples.value).map(([name, value]): readonly [string, string] => [
    document.body.dataset[name] ?? '',
    value,
  ]);
  return named.reduce((filled, [from, to]) => (from === '' ? filled : filled.replaceAll(from, to)), text);
}

/** Fills the code of the page, again whenever more is known. */
export function fillSamples(): void {
  // What was recorded remains: the name of a coin would not belong to another mint.
  const code = [...document.querySelectorAll('main pre code')].filter((each) => each.closest('.recorded') === null);
  const texts = code.map((element) => ({ element, text: element.textContent ?? '' }));
  const refresh = (): void => {
    for (const { element, text } of texts) element.textContent = fill(text);
  };
  examples.follow(refresh);
  refresh();
  let timer: ReturnType<typeof setTimeout> | undefined;
  credentials.follow(() => {
    clearTimeout(timer);
    timer = setTimeout(() => void findExamples(), settledMs);
  });
}

/** On a simulated chain no token of the documents exists, so the page looks for one. What cannot be found remains the example. */
async function findExamples(): Promise<void> {
  if (caller() === null || (caller() === 'key' && !/^sluice_\w+_\w{20,}$/.test(apiKey()))) return;
  if ((await readChain()) !== true) return;
  const wallet = await show('wallet', ownWallet());
  await show('order', newestOrder());
  const held = wallet === undefined ? undefined : await show('mint', heldMint(wallet));
  if (held === undefined) await show('mint', newestMint());
}

/** Fills in what is found. */
async function show(name: Name, finding: Promise<string | undefined>): Promise<string | undefined> {
  const [found] = await Promise.allSettled([finding]);
  const value = found.status === 'fulfilled' ? found.value : undefined;
  if (value !== undefined) examples.set({ ...examples.value, [name]: value });
  return value;
}

/** A token that the wallet can sell. */
async function heldMint(wallet: string): Promise<string | undefined> {
  const portfolio = await client()?.portfolio(wallet);
  return portfolio?.holdings.find(({ venue }) => venue !== null && isTradedVenue(venue))?.mint;
}

/** The mint of the newest trade for SOL where orders can be sent: not every wallet of a simulated chain has USDC. */
async function newestMint(): Promise<string | undefined> {
  const reader = client();
  if (reader === null) return undefined;
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), mintWithinMs);
  try {
    const trades = reader.subscribe('trades', {
      snapshot: true,
      filter: { pool: tradedVenueNames, quoteMint: 'SOL' },
      signal: ended.signal,
    });
    for await (const event of trades) if (event.type === 'trade') return event.mint;
    return undefined;
  } finally {
    clearTimeout(timer);
    // The client of the session serves the whole page; the client of a typed key is only for this search.
    if (reader !== sluice) reader.close();
  }
}

/** The oldest wallet of the account: its default. Only a session can list them. */
async function ownWallet(): Promise<string | undefined> {
  if (pageKey.value === null) return undefined;
  return (await ask<{ readonly wallets: readonly OwnWallet[] }>('wallets')).wallets.at(-1)?.publicKey;
}

async function newestOrder(): Promise<string | undefined> {
  const answer = await sendAs('/api/trade/orders?limit=1');
  const { orders = [] } = (await answer.json()) as { readonly orders?: readonly { readonly orderId: string }[] };
  return orders[0]?.orderId;
}
