import { Store } from './store.ts';

export type PageName = 'live' | 'orders' | 'wallets' | 'api-keys' | 'status' | 'token' | 'wallet' | 'unknown';
export interface Place {
  readonly page: PageName;
  /** The mint or address; of an unknown page, the whole text behind `#/`. Empty on other pages. */
  readonly id: string;
}

const listPages: ReadonlySet<string> = new Set(['live', 'orders', 'wallets', 'api-keys', 'status']);
const pagesOfOne: ReadonlySet<string> = new Set(['token', 'wallet']);

/** Places are in the part after `#`, so that the gateway serves one page. */
function placeOf(hash: string): Place {
  const path = hash.replace(/^#\/?|\/$/g, '');
  // A sign-in link opens the page that follows it.
  if (path === '' || path.startsWith('sign-in=')) return { page: 'live', id: '' };
  const [page = '', id = ''] = path.split('/');
  const isKnown = listPages.has(page) ? page === path : pagesOfOne.has(page) && id !== '' && `${page}/${id}` === path;
  return isKnown ? { page: page as PageName, id } : { page: 'unknown', id: path };
}

export const place = new Store<Place>(placeOf(location.hash));
addEventListener('hashchange', () => {
  place.set(placeOf(location.hash));
  scrollTo(0, 0);
});

export const tokenHref = (mint: string): string => `#/token/${mint}`;
export const walletHref = (address: string): string => `#/wallet/${address}`;

export function go(href: string): void {
  location.hash = href;
}
