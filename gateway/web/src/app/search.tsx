import { useState } from 'preact/hooks';
import { isAddress, shortAddress } from '../format/text.ts';
import { SluiceError } from '@sluice/client';
import { findNames, nameOf } from '../metadata/names.ts';
import { TokenIcon } from '../parts/icon.tsx';
import { MintEnds, NameMark, Outside, shownSymbol, type NamedToken } from '../parts/token-name.tsx';
import { moveFocus } from '../parts/move-focus.ts';
import { go, tokenHref, walletHref } from '../state/router.ts';
import { sluice } from '../state/server.ts';

interface Found {
  readonly href: string;
  readonly of: string;
  readonly title: string;
  readonly detail: string;
  /** The token with this symbol; null for an address. */
  readonly token: NamedToken | null;
}

const maxFound = 8;

function find(text: string): readonly Found[] {
  const query = text.trim();
  if (isAddress(query)) {
    return [
      { href: tokenHref(query), of: query, title: `Token ${shortAddress(query)}`, detail: 'by mint', token: null },
      { href: walletHref(query), of: query, title: `Wallet ${shortAddress(query)}`, detail: 'by address', token: null },
    ];
  }
  if (query === '') return [];
  return findNames(query, maxFound).map(([mint, { symbol, name }]) => ({
    href: tokenHref(mint),
    of: mint,
    title: shownSymbol({ mint, symbol }),
    detail: name ?? '',
    token: { mint, symbol, name },
  }));
}

/** The page of an address: of the token if the server knows one with this mint, otherwise of the wallet. */
async function pageOf(address: string): Promise<string> {
  if (nameOf(address) !== null) return tokenHref(address);
  try {
    await sluice.tokenInfo(address);
    return tokenHref(address);
  } catch (error) {
    const isNoToken = error instanceof SluiceError && (error.code === 'INVALID_MINT' || error.code === 'NOT_FOUND');
    return isNoToken ? walletHref(address) : tokenHref(address);
  }
}

/** Searches recent tokens by symbol and name, and opens any token or wallet by its address. */
export function Search() {
  const [text, setText] = useState('');
  const found = find(text);
  const open = (href: string): void => {
    setText('');
    go(href);
  };
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const query = text.trim();
        if (isAddress(query)) void pageOf(query).then(open);
        else if (found[0] !== undefined) open(found[0].href);
      }}
      onKeyDown={moveFocus}
    >
      <input
        type="search"
        aria-label="Search by mint, symbol or wallet"
        placeholder="Mint, symbol or wallet"
        maxLength={64}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setText('');
        }}
      />
      {text.trim() !== '' && (
        <div class="found">
          {found.map(({ href, of, title, detail, token }) => (
            <a key={href} href={href} onClick={() => setText('')}>
              <TokenIcon of={of} size={22} />
              <b>
                <bdi>{title}</bdi>
              </b>{' '}
              {token !== null && (
                <>
                  <NameMark {...token} /> <MintEnds mint={of} />{' '}
                </>
              )}
              <span class="faint">
                <Outside text={detail} />
              </span>
            </a>
          ))}
          {found.length === 0 && <p class="empty">No token with this symbol was created lately. Paste a mint or an address.</p>}
        </div>
      )}
    </form>
  );
}
