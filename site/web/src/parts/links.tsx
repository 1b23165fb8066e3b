import { shortAddress } from '../format/text.ts';
import { go, tokenHref, walletHref } from '../state/router.ts';
import { TokenIcon } from './icon.tsx';
import { MintEnds, NameMark, Outside, shownSymbol, type NamedToken } from './token-name.tsx';

type ShownToken = NamedToken & {
  readonly size?: number;
  readonly withMint?: boolean;
  /** Shown in place of the name. */
  readonly detail?: string;
};

/** A token with its icon, symbol and name, linked to its page. `withMint`: also with the ends of its mint, where money is at stake. */
export function TokenLink(token: ShownToken) {
  return (
    <a class="token" href={tokenHref(token.mint)} title={token.mint}>
      <TokenNames {...token} />
    </a>
  );
}

/** The content of a link to a token. */
export function TokenNames({ mint, symbol, name, size = 28, withMint = false, detail }: ShownToken) {
  return (
    <>
      <TokenIcon of={mint} size={size} />
      <span class="names">
        <span class="symbol">
          <b>
            <bdi>{shownSymbol({ mint, symbol })}</bdi>
          </b>{' '}
          <NameMark mint={mint} symbol={symbol} name={name} />
        </span>{' '}
        {detail !== undefined && <small class="detail">{detail}</small>}
        {detail === undefined && (withMint || name != null) && (
          <small>
            {withMint && <MintEnds mint={mint} />} {name != null && <Outside text={name} />}
          </small>
        )}
      </span>
    </>
  );
}

/** Opens the page of the token, unless the click was on a link of the row or selected text. */
export function openToken(event: MouseEvent, mint: string): void {
  if (event.target instanceof Element && event.target.closest('a, button') !== null) return;
  if (getSelection()?.isCollapsed === false) return;
  go(tokenHref(mint));
}

export function WalletLink({ address }: { readonly address: string }) {
  return (
    <a class="address" href={walletHref(address)} title={address}>
      {shortAddress(address)}
    </a>
  );
}

/** A link that leaves the page. The other site does not learn from where. */
export function OutLink({ href, children }: { readonly href: string; readonly children: string }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** The page of the documentation about a part of the dashboard. */
export function DocsLink({ page, about }: { readonly page: string; readonly about: string }) {
  return (
    <a class="reference" href={`/docs/${page}`} title={`Documentation: ${about}`}>
      Reference<span class="hidden">: {about}</span>
    </a>
  );
}

/** Pages of public explorers. A simulated chain has none. */
export const explorerTx = (signature: string): string => `https://solscan.io/tx/${signature}`;
export const explorerAccount = (address: string): string => `https://solscan.io/account/${address}`;

export function tokenExplorers(mint: string): readonly (readonly [string, string])[] {
  return [
    ['Solscan', `https://solscan.io/token/${mint}`],
    ['Solana Explorer', `https://explorer.solana.com/address/${mint}`],
    ['Birdeye', `https://birdeye.so/token/${mint}?chain=solana`],
    ['DEX Screener', `https://dexscreener.com/solana/${mint}`],
  ];
}
