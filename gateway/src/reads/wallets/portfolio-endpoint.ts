import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { LruCache } from '@sluice/shared/metadata/lru.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { startDeadline } from '@sluice/shared/runtime/abort/deadline.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { portfolioEndpoint } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '../../http/endpoint.ts';
import type { PaperBalanceOf } from './paper-balance.ts';
import type { PaperBalance } from '../../store/sql/tables/orders/paper.ts';
import { accountTradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { History } from '../../stream/history/history.ts';
import type { MarketHealth } from '../market-health.ts';
import { surviving } from '../surviving.ts';
import type { TokenBook } from '../tokens/token-book.ts';
import { valueWallet, type LookedUp, type WalletValues } from './value-wallet.ts';
import { readWallet, type WalletRead } from './wallet-reader.ts';

/** Limits. Further requests are refused as unavailable, the oldest stored answers are deleted, and further tokens are marked `not_looked_up`. */
const portfolioLimits = {
  /** Wallets read at the same time. */
  running: 8,
  /** Wallets that wait for their turn. */
  waiting: 64,
  storedBytes: 32 * 1024 * 1024,
  /** Cold tokens that are read for one answer. */
  lookUps: 90,
} as const;

/** How long a stored answer is used. */
const storedMs = 2_000;
/** Time limit for the three calls of a wallet, over all endpoints. */
const readWithinMs = 5_000;
/** How many token reads begin in one turn of the event loop. Deriving the addresses of one takes half a millisecond. */
const lookUpsATurn = 9;

export interface PortfolioParts {
  readonly rpc: Rpc;
  readonly book: TokenBook;
  readonly health: MarketHealth;
  /** The events that this gateway has published. */
  readonly history: Pick<History, 'newest' | 'oldest' | 'read'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Null: the server does not trade on paper. */
  readonly paperBalanceOf: () => PaperBalanceOf | null;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** `/portfolio/{publicKey}`. */
export function portfolioBinding(parts: PortfolioParts): BoundEndpoint {
  const stored = new LruCache<Buffer>(portfolioLimits.storedBytes);
  const asked = new Map<string, Promise<Buffer | null>>();
  const reads = new Semaphore(portfolioLimits.running);

  const ofChain = (publicKey: string): Answer | Promise<Answer> => {
    const seen = lastTradeOf(parts.history, publicKey);
    // An answer that was requested before the last trade may not contain it.
    const name = `${publicKey} ${seen?.offset ?? ''}`;
    const known = stored.get(name, performance.now());
    if (known !== undefined) return { jsonBytes: known };
    const answer = async (): Promise<Buffer | null> => {
      if (reads.waiting >= portfolioLimits.waiting) return null;
      const bytes = await reads.run(() => makeAnswer(parts, publicKey, seen?.slot ?? 0));
      if (bytes !== null) stored.set(name, bytes, bytes.length + name.length, performance.now() + storedMs);
      return bytes;
    };
    let answering = asked.get(name);
    if (answering === undefined) {
      answering = answer().finally(() => asked.delete(name));
      asked.set(name, answering);
    }
    return answering.then(answerOf);
  };
  /** Not stored, because each order on paper changes it. */
  const onPaper = async (wallet: string, balance: PaperBalance): Promise<Answer> => {
    if (reads.waiting >= portfolioLimits.waiting) return answerOf(null);
    const read = paperRead(balance, parts.health.newestSlot());
    return answerOf(await reads.run(() => valued(parts, { wallet, read, paper: balance })));
  };

  return bindEndpoint(portfolioEndpoint, ({ principal, params: { publicKey } }) => {
    if (!isAddress(publicKey)) return { error: 'INVALID_REQUEST', details: { fields: { publicKey: 'is not an address' } } };
    const paperBalanceOf = parts.paperBalanceOf();
    if (paperBalanceOf === null || principal === null) return ofChain(publicKey);
    return paperBalanceOf(principal, publicKey).then((balance) =>
      balance === null ? ofChain(publicKey) : 'error' in balance ? balance : onPaper(publicKey, balance),
    );
  });
}

type Answer = EndpointAnswer<typeof portfolioEndpoint>;

function answerOf(bytes: Buffer | null): Answer {
  return bytes === null ? { error: 'UPSTREAM_UNAVAILABLE', message: 'The wallet cannot be read now.' } : { jsonBytes: bytes };
}

/** The last trade of a wallet that this gateway has published; null if it retains none. */
function lastTradeOf(history: PortfolioParts['history'], wallet: string): { readonly slot: number; readonly offset: number } | null {
  const topic = accountTradesTopic(wallet);
  for (const { event, offset } of surviving(history, topic, new Set())) if (event.type === 'trade') return { slot: event.slot, offset };
  return null;
}

/** `seenSlot`: the answer contains the state of this slot, because clients have seen a trade of it. */
async function makeAnswer(parts: PortfolioParts, wallet: string, seenSlot: number): Promise<Buffer | null> {
  const { rpc, health, log, signal } = parts;
  const within = startDeadline(readWithinMs, signal);
  const newest = health.newestSlot();
  const read = await readWallet(rpc, wallet, { oldest: Math.min(seenSlot, newest), newest }, within)
    .catch((error: unknown) => {
      log.debug({ err: error }, 'wallet_read_failed');
      return null;
    })
    .finally(() => within.end());
  return read === null ? null : valued(parts, { wallet, read, paper: null });
}

async function valued({ book, health, clock }: PortfolioParts, of: Pick<WalletValues, 'wallet' | 'read' | 'paper'>): Promise<Buffer> {
  const found = await lookUp(book, of.read);
  const nowMs = clock.wallMs();
  const none: LookedUp = { token: null, reason: 'not_looked_up' };
  return Buffer.from(JSON.stringify(valueWallet({ ...of, lookUp: (mint) => found.get(mint) ?? none, book, health, nowMs })));
}

function paperRead({ lamports, accounts }: PaperBalance, slot: number): WalletRead {
  const tokens = [...accounts.values()].flatMap(({ token, amount }) => (token === null ? [] : [{ ...token, amount }]));
  const held = tokens.flatMap(({ mint, program, amount }) =>
    amount === 0n ? [] : [{ mint, tokenProgram: program, amount, frozenAmount: 0n, accounts: 1 }],
  );
  return { slot, lamports, held, emptyAccounts: tokens.length - held.length };
}

/** Uses all tokens that are in memory, and reads a bounded number of the others. */
async function lookUp(book: TokenBook, { held }: WalletRead): Promise<ReadonlyMap<string, LookedUp>> {
  const found = new Map<string, LookedUp>();
  const cold: string[] = [];
  for (const { mint } of held) {
    const token = book.warm(mint);
    if (token === null) cold.push(mint);
    else {
      book.refreshIfDue(token);
      found.set(mint, { token });
    }
  }
  const reads: Promise<void>[] = [];
  const read = async (mint: string): Promise<void> => {
    const outcome = await book.find(mint);
    found.set(mint, outcome.ok ? { token: outcome.token } : { token: null, reason: 'unknown' });
  };
  const asked = cold.slice(0, portfolioLimits.lookUps);
  for (let at = 0; at < asked.length; at += lookUpsATurn) {
    reads.push(...asked.slice(at, at + lookUpsATurn).map(read));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(reads);
  return found;
}
