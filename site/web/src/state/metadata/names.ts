import { SluiceError, type TokenInfo } from '@sluice/client';
import { quoteSymbol } from '../../format/quote-coin.ts';
import { simulated, sluice } from '../server.ts';
import { dropOldest, soon } from '../bounded.ts';
import { Store } from '../store.ts';
import { learnImage } from './images.ts';
import { capAgeMs, capOf, capsVersion, learnCap } from './market-caps.ts';
import { readName } from './read-name.ts';
import { wellKnownNames } from './well-known.ts';
import { RequestQueue } from './request-queue.ts';

export interface TokenName {
  readonly symbol: string | null;
  readonly name: string | null;
  /** Undefined: not known here. */
  readonly creator?: string | null;
  /** Undefined: the page did not see its creation. */
  readonly createdAtMs?: number;
}

/** Maximum number of names that are remembered. Above it, the oldest is dropped. */
const maxNames = 5_000;
/** Lists are drawn again at most this often because of new names, milliseconds. */
const drawEveryMs = 300;
/** A first request makes the gateway fetch the document of a token. It is requested once more after this time. */
const documentAfterMs = 6_000;
/** A market cap that was read this long ago is read again. One that an event showed may be old, so it is read too. */
const capFreshMs = 5_000;

const names = new Map<string, TokenName>(wellKnownNames);
const queue = new RequestQueue(requestName);
/** Counts changes, so that lists are drawn again. */
export const namesVersion = new Store(0);
const draw = soon(() => namesVersion.set(namesVersion.value + 1), drawEveryMs);

export function nameOf(mint: string): TokenName | null {
  return names.get(mint) ?? null;
}

export function learnName(mint: string, name: TokenName): void {
  const before = names.get(mint);
  const creator = name.creator ?? before?.creator;
  const createdAtMs = name.createdAtMs ?? before?.createdAtMs;
  names.delete(mint);
  // An answer without a symbol does not erase a known one.
  names.set(mint, {
    symbol: name.symbol ?? before?.symbol ?? null,
    name: name.name ?? before?.name ?? null,
    ...(creator !== undefined && { creator }),
    ...(createdAtMs !== undefined && { createdAtMs }),
  });
  queue.drop(mint);
  dropOldest(names, maxNames);
  draw();
}

/** Requests the name of a token whose creation this page did not see. */
export function wantName(mint: string): void {
  if (!names.has(mint)) queue.add(mint);
}

async function requestName(mint: string): Promise<void> {
  try {
    const info = await sluice.tokenInfo(mint);
    learnCap(mint, info.marketCapUsd, info.asOfMs * 1_000, performance.now());
    if (names.has(mint)) return learnDocument(info);
    learnName(mint, { symbol: info.symbol, name: info.name, creator: info.creator });
    learnDocument(info);
    if (info.offChain === null && info.uri !== null && info.uri !== '') setTimeout(() => queue.add(mint), documentAfterMs);
  } catch (error) {
    // Remembered as unknown, so that it is not requested again and again. After a temporary failure the lists request it again.
    if (error instanceof SluiceError && !error.retryable) learnName(mint, { symbol: null, name: null });
  }
}

function learnDocument({ mint, offChain }: TokenInfo): void {
  if (offChain !== null && offChain.image !== null) learnImage(mint);
}

/** Of the coins of the real chain, a simulated one has only these. */
const simulatedCoins: ReadonlySet<string> = new Set(['SOL', 'USDC']);
const hasMarket = (mint: string): boolean => simulated.value !== true || !wellKnownNames.has(mint);
const exists = (mint: string): boolean => hasMarket(mint) || simulatedCoins.has(quoteSymbol(mint));

/**
 * Tokens whose symbol or name contains the text, as it is shown; at most `limit`. Well-known coins come first, but take half of the places only.
 * Then come those with just this symbol. Of equal ones, the largest comes first, and then the newest.
 */
export function findNames(text: string, limit: number): readonly (readonly [string, TokenName])[] {
  const part = text.toLowerCase();
  const found: { readonly of: readonly [string, TokenName]; readonly rank: number; readonly cap: number }[] = [];
  const others = [...names].toReversed().filter(([mint]) => !wellKnownNames.has(mint));
  for (const [mint, name] of [...wellKnownNames, ...others]) {
    if (!exists(mint)) continue;
    const [symbol = '', full = ''] = [name.symbol, name.name].map((each) => (each === null ? '' : readName(each).text.toLowerCase()));
    if (!`${symbol} ${full}`.includes(part)) continue;
    found.push({ of: [mint, name], rank: wellKnownNames.has(mint) ? 0 : symbol === part ? 1 : 2, cap: capOf(mint) ?? -1 });
  }
  const sorted = found.toSorted((a, b) => a.rank - b.rank || b.cap - a.cap);
  const known = sorted.filter(({ rank }) => rank === 0).slice(0, limit / 2);
  return [...known, ...sorted.filter(({ rank }) => rank > 0)].slice(0, limit).map(({ of }) => of);
}

/** Asks the server for tokens whose symbol or name contains the text, and remembers their names. */
export async function readNames(text: string, limit: number, signal: AbortSignal): Promise<void> {
  const { tokens } = await sluice.searchTokens({ text, limit }, { signal });
  // The newest of them stays for longest.
  for (const { mint, createdAtMs, ...name } of tokens.toReversed())
    learnName(mint, { ...name, ...(createdAtMs !== null && { createdAtMs }) });
}

/** Reads the market caps that a list compares, of those tokens whose market cap is older than some seconds. One that cannot be read stays as it is. */
export async function readCaps(mints: readonly string[], signal: AbortSignal): Promise<void> {
  // The quote coins of a simulated chain have no market.
  const due = mints.filter((mint) => hasMarket(mint) && (capAgeMs(mint) ?? Infinity) >= capFreshMs);
  await Promise.allSettled(
    due.map(async (mint) => {
      const info = await sluice.tokenInfo(mint, { signal });
      learnCap(mint, info.marketCapUsd, info.asOfMs * 1_000, performance.now());
    }),
  );
  capsVersion.set(capsVersion.value + 1);
}
