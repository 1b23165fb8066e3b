import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { quoteEndpoint, type QuoteAnswer, type QuoteBody } from '@sluice/shared/wire/rest/trading/quote.ts';
import type { AccountReader } from '@sluice/gateway/reads/chain/account-reader.ts';
import type { Principal } from '@sluice/gateway/auth/principal.ts';
import type { PaperBalance } from '@sluice/gateway/store/sql/tables/orders/paper.ts';
import type { PaperBalanceOf } from '@sluice/gateway/reads/wallets/paper-balance.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '@sluice/gateway/http/endpoint.ts';
import { quoteOfOrder } from './answer.ts';
import { isAsQuoted } from './drift.ts';
import type { MarketRead, Markets } from './markets.ts';
import { readQuoteRequest, type QuoteRequest } from './order.ts';
import { quoteOn, unixSeconds, wrongFields, type Balance, type QuoteFacts, type QuotedOrder, type QuoteRefusal } from './best-quote.ts';

type Answer = EndpointAnswer<typeof quoteEndpoint>;

/** Answers that endpoints give within this time after the request are used. Then the client gets its answer. */
export const answersWithinMs = 800;
/** Most reads until two endpoints agree. None begins later than this after the request, so that the answer takes less than a second. */
const maxReads = 2;
const againWithinMs = 400;
const noBalance = 0n;

export interface QuoteOptions {
  readonly markets: Markets;
  readonly reader: AccountReader;
  /** Price of SOL in USD; null if it is unknown. */
  readonly solUsd: () => number | null;
  readonly paperBalanceOf?: () => PaperBalanceOf | null;
  readonly nowMs?: () => number;
  readonly clock?: Pick<Clock, 'wallMs'>;
}

/** `POST /quote`. Answers at once if the market was read a moment ago. */
export function quoteEndpoints(options: QuoteOptions): readonly BoundEndpoint[] {
  return [bindEndpoint(quoteEndpoint, ({ body, principal }) => quoteOrder(body, principal, options))];
}

function quoteOrder(body: QuoteBody, owner: Principal | null, options: QuoteOptions): Answer | Promise<Answer> {
  const { markets, reader, solUsd, nowMs = () => performance.now(), clock = systemClock } = options;
  const read = readQuoteRequest(body);
  if (!read.ok) return read.error === 'INVALID_MINT' ? { error: read.error } : wrongFields(read.fields);
  const { order } = read;
  const { amount, mint } = order;
  const askedAtMs = nowMs();
  const again = (reads: number, paper: Balance | null = null): Promise<Answer> => {
    if (nowMs() - askedAtMs > againWithinMs) return Promise.resolve(notAgreed);
    return readNow(order, { markets, reader, solUsd, nowMs, clock, paper }, reads, askedAtMs + againWithinMs).catch(unavailable);
  };
  // The wallet may have bought from the pool a moment ago, so balance and pool are read in one call.
  if (amount.kind === 'part') {
    const paperBalanceOf = options.paperBalanceOf?.() ?? null;
    if (paperBalanceOf === null || owner === null) return again(maxReads);
    return paperBalanceOf(owner, amount.publicKey).then((paper) => {
      if (paper === null) return again(maxReads);
      return 'error' in paper ? paper : again(maxReads, paperTokens(paper, mint));
    });
  }
  const market = markets.read(mint);
  const facts = (): QuoteFacts => ({ balance: noBalance, solUsd: solUsd(), unixTimeS: unixSeconds(clock) });
  if (!(market instanceof Promise)) return answerTo(order, market, facts(), nowMs()) ?? again(maxReads - 1);
  return market.then((known) => answerTo(order, known, facts(), nowMs()) ?? again(maxReads - 1), unavailable);
}

interface ReadParts extends Required<Omit<QuoteOptions, 'paperBalanceOf'>> {
  /** Raw tokens of a paper wallet. Null: the balance is that of the chain. */
  readonly paper: Balance | null;
}

function paperTokens({ accounts }: PaperBalance, mint: string): Balance {
  return [...accounts.values()].find(({ token }) => token?.mint === mint)?.amount ?? 0n;
}

/** Reads until two endpoints agree, if there are several. Rejects with an `RpcError`. */
async function readNow(order: QuoteRequest, options: ReadParts, left: number, untilMs: number): Promise<Answer> {
  const { markets, reader, solUsd, nowMs, clock, paper } = options;
  const { amount, mint } = order;
  const lookingUp = markets.lookUp(mint);
  if (lookingUp !== null) await lookingUp;
  const [market, balance] = await Promise.all([
    markets.readNow(mint),
    paper ?? (amount.kind === 'part' ? balanceOf(reader, amount.publicKey, mint) : noBalance),
  ]);
  const answer = balance === null ? null : answerTo(order, market, { balance, solUsd: solUsd(), unixTimeS: unixSeconds(clock) }, nowMs());
  if (answer !== null) return answer;
  return left > 1 && nowMs() <= untilMs ? readNow(order, options, left - 1, untilMs) : notAgreed;
}

const notAgreed: Answer = {
  error: 'UPSTREAM_UNAVAILABLE',
  message: 'No two nodes of the chain agreed about this coin within a second. Ask again.',
  retryAfterSeconds: 1,
};

/** The answer for an error of the nodes. Rethrows any other error, which is a bug. */
function unavailable(error: unknown): Answer {
  if (!(error instanceof RpcError)) throw error;
  return { error: 'UPSTREAM_UNAVAILABLE', message: 'No node of the chain answers.', retryAfterSeconds: 1 };
}

/** Reads the accounts of both token programs. Null if endpoints contradict each other, or may still do so. */
async function balanceOf(reader: AccountReader, publicKey: string, mint: string): Promise<Balance | null> {
  const { accounts, disputed, othersAreLate } = await reader.read(
    [tokenProgram, token2022Program].map((program) => associatedTokenAddress(publicKey, mint, program)),
  );
  if (disputed.length > 0 || othersAreLate) return null;
  const held = accounts.flatMap((account) => (account === null ? [] : [decodeTokenAccount(account.owner, account.data)]));
  return held.find((account) => account?.mint === mint && account.owner === publicKey)?.amount ?? 0n;
}

/** Null if no two of several endpoints give the same quote, or if only one has answered yet. */
function answerTo(order: QuoteRequest, read: MarketRead, facts: QuoteFacts, nowMs: number): Answer | null {
  if (read.othersAreLate && read.disputed.length === 0) return null;
  const quoted = [read, ...read.disputed].map(({ result, slot }) => ({ slot, outcome: quoteOn(order, { result, slot }, facts) }));
  const counts =
    quoted.length === 1
      ? quoted[0]
      : quoted.find((one) => quoted.some((other) => other !== one && isSameQuote(one.outcome, other.outcome)));
  if (counts === undefined) return null;
  return 'error' in counts.outcome ? counts.outcome : quoteAnswer(order, { ...read, slot: counts.slot }, counts.outcome, nowMs);
}

/** Whether two quotes are equal, apart from what other trades may change between two answers. */
function isSameQuote(one: QuotedOrder | QuoteRefusal, other: QuotedOrder | QuoteRefusal): boolean {
  if ('error' in one || 'error' in other) return 'error' in one && 'error' in other && one.error === other.error;
  return one.pool.address === other.pool.address && isAsQuoted(one.quote, other.quote);
}

function quoteAnswer(order: QuoteRequest, read: MarketRead, quoted: QuotedOrder, nowMs: number): Answer {
  const { venue, pool, quote } = quoted;
  const { side, mint } = order;
  const json: QuoteAnswer = {
    side,
    mint,
    pool: venue.name,
    poolAddress: pool.address,
    quoteMint: pool.quoteMint,
    quote: quoteOfOrder(order, quoted),
    completesCurve: pool.curve ? quote.completes : null,
    cut: quote.cut,
    slot: read.slot,
    ageMs: Math.round(Math.max(0, nowMs - read.askedAtMs)),
    feesSlot: read.settings.slot,
    feesAgeMs: Math.round(Math.max(0, nowMs - read.settings.askedAtMs)),
  };
  return { json };
}
