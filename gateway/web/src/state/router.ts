import { Store } from './store.ts';

export type PageName = 'live' | 'orders' | 'wallets' | 'api-keys' | 'status' | 'token' | 'wallet';
export interface Place {
  readonly page: PageName;
  /** The mint or address; empty on other pages. */
  readonly id: string;
}

const pages: ReadonlySet<string> = new Set(['live', 'orders', 'wallets', 'api-keys', 'status', 'token', 'wallet']);

/** Places are in the part after `#`, so that the gateway serves one page. */
function placeOf(hash: string): Place {
  const [page = '', id = ''] = hash.replace(/^#\/?/, '').split('/');
  return pages.has(page) ? { page: page as PageName, id: decodeURIComponent(id) } : { page: 'live', id: '' };
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
