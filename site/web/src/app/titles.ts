import { shortAddress } from '../format/text.ts';
import type { PageName, Place } from '../state/router.ts';

export const pageNames: Readonly<Record<PageName, string>> = {
  live: 'Live',
  orders: 'Orders',
  wallets: 'Wallets',
  'api-keys': 'API Keys',
  status: 'Status',
  token: 'Token',
  wallet: 'Wallet',
  unknown: 'No such page',
};

/** A text whose direction changes nothing around it. */
const isolated = (text: string): string => (/^[ -~]*$/.test(text) ? text : `\u2068${text}\u2069`);

/** The title of the document. `symbol`: of the token whose page it is; null if it is not known. */
export function titleOf({ page, id }: Place, symbol: string | null): string {
  return `${symbol !== null ? isolated(symbol) : id === '' || page === 'unknown' ? pageNames[page] : `${pageNames[page]} ${shortAddress(id)}`} – sluice`;
}
