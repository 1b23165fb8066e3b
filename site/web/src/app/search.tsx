import { SluiceError } from '@sluice/client';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { shortUsd } from '../format/price.ts';
import { age, ago, isAddress, shortAddress } from '../format/text.ts';
import { capAgeMs, capOf, capsVersion } from '../state/metadata/market-caps.ts';
import { findNames, nameOf, namesVersion, readCaps, readNames, type TokenName } from '../state/metadata/names.ts';
import { useNow, useSignal } from '../parts/hooks.ts';
import { TokenIcon } from '../parts/icon.tsx';
import { TokenNames } from '../parts/links.tsx';
import { moveFocus } from '../parts/move-focus.ts';
import { go, tokenHref, walletHref } from '../state/router.ts';
import { faultText, requestsLeft, sluice } from '../state/server.ts';
import { soon } from '../state/bounded.ts';
import { useStore } from '../state/store.ts';

interface Found {
  readonly href: string;
  /** Of a token that the page knows; its market cap is read. */
  readonly mint?: string;
  readonly content: ComponentChildren;
}

const maxFound = 8;
/** Names and market caps are read once the text stays the same for this long, milliseconds. */
const readAfterMs = 250;
/** Tokens that are asked of the server: more than are shown, because the largest are shown. */
const maxRead = 50;
/** While a smaller share of the key's requests is left, the known market caps suffice. */
const minShareLeft = 0.3;

function find(text: string): readonly Found[] {
  const query = text.trim();
  if (query === '') return [];
  if (!isAddress(query)) {
    return findNames(query, maxFound).map(([mint, name]) => ({
      href: tokenHref(mint),
      mint,
      content: <FoundToken mint={mint} {...name} />,
    }));
  }
  const found = (href: string, kind: string, by: string): Found => ({
    href,
    content: (
      <>
        <TokenIcon of={query} />{' '}
        <b>
          {kind} {shortAddress(query)}
        </b>{' '}
        <span class="faint">{by}</span>
      </>
    ),
  });
  return [found(tokenHref(query), 'Token', 'by mint'), found(walletHref(query), 'Wallet', 'by address')];
}

/** What the text finds, the largest first. While `isHeld`, the order stays as it is, so that nothing moves under the pointer or the focus. */
function useFound(text: string, isHeld: boolean): readonly Found[] {
  useStore(capsVersion);
  useStore(namesVersion);
  const last = useRef<{ readonly text: string; readonly found: readonly Found[] }>({ text: '', found: [] });
  if (!isHeld || last.current.text !== text) last.current = { text, found: find(text) };
  const { found } = last.current;
  const mints = found.flatMap(({ mint }) => mint ?? []).join(' ');
  useSignal([mints], (signal) => {
    if (mints === '' || requestsLeft.share(performance.now()) < minShareLeft) return;
    soon(() => void readCaps(mints.split(' '), signal), readAfterMs, signal)();
  });
  return found;
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

/** Asks the server for tokens with this text in their names. Returns what there is to say about it if nothing was found. */
function useServerSearch(text: string): string {
  const query = text.trim();
  const [answer, setAnswer] = useState({ query: '', fault: '' });
  useSignal([query], (signal) => {
    if (query === '' || isAddress(query)) return;
    const read = async (): Promise<void> => {
      const fault = await readNames(query, maxRead, signal).then(() => '', faultText);
      if (!signal.aborted) setAnswer({ query, fault });
    };
    soon(() => void read(), readAfterMs, signal)();
  });
  if (answer.query !== query) return 'Searching …';
  if (answer.fault !== '') return answer.fault;
  return 'No token with this symbol or name was created lately or opened on this server. Any token opens by its mint: paste it.';
}

/** Searches the tokens that the server knows by symbol and name, and opens any token or wallet by its address. */
export function Search() {
  const [text, setText] = useState('');
  const [isHeld, setIsHeld] = useState(false);
  const found = useFound(text, isHeld);
  const whyNone = useServerSearch(text);
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
        title="Key /"
        aria-keyshortcuts="/"
        maxLength={64}
        value={text}
        onInput={(event) => {
          setIsHeld(false);
          setText(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setText('');
        }}
      />
      {text.trim() !== '' && (
        <div
          class="found"
          onMouseMove={() => setIsHeld(true)}
          onMouseLeave={() => setIsHeld(false)}
          onFocusIn={() => setIsHeld(true)}
          onFocusOut={() => setIsHeld(false)}
        >
          {found.map(({ href, content }) => (
            <a key={href} class="token" href={href} onClick={() => setText('')}>
              {content}
            </a>
          ))}
          {found.length === 0 && <p class="empty">{whyNone}</p>}
        </div>
      )}
    </form>
  );
}

function FoundToken({ mint, symbol, name, createdAtMs }: TokenName & { readonly mint: string }) {
  const now = useNow();
  const capMs = capAgeMs(mint) ?? 0;
  return (
    <>
      <TokenNames mint={mint} symbol={symbol} name={name} withMint />{' '}
      <span class="worth">
        <span>
          {shortUsd(capOf(mint))} <small>cap{capMs >= 1_000 && `, ${age(capMs)} ago`}</small>
        </span>{' '}
        {createdAtMs !== undefined && <small>created {ago(createdAtMs, now)}</small>}
      </span>
    </>
  );
}
