import { shortAddress } from '../format/text.ts';
import { tokenHref, walletHref } from '../state/router.ts';
import { TokenIcon } from './icon.tsx';

/** A token with its icon, symbol and name, linked to its page. */
export function TokenLink({
  mint,
  symbol,
  name,
  size = 28,
}: {
  mint: string;
  symbol?: string | null;
  name?: string | null;
  size?: number;
}) {
  return (
    <a class="token" href={tokenHref(mint)} title={mint}>
      <TokenIcon of={mint} size={size} />
      <span class="names">
        <b>{symbol ?? shortAddress(mint)}</b>
        {name !== undefined && name !== null && <small>{name}</small>}
      </span>
    </a>
  );
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
