import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/pda.ts';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/token-account.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { QuotedTrade, QuoteFault } from '@sluice/shared/venues/quoting.ts';
import type { Venue } from '@sluice/shared/venues/venue.ts';
import { quoteEndpoint, type QuoteAnswer, type QuoteBody } from '@sluice/shared/wire/rest/quote.ts';
import type { AccountReader } from '../chain/account-reader.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '../http/endpoint.ts';
import { partOf, rawAmount } from './amounts.ts';
import { quoteObject } from './answer.ts';
import type { MarketRead, Markets } from './markets.ts';
import { readOrder, type QuoteOrder } from './order.ts';
import type { TokenMarket, Unquotable } from './token-market.ts';

type Answer = EndpointAnswer<typeof quoteEndpoint>;
type MarketPool = TokenMarket['pools'][number];
/** Tokens of a wallet in its associated token account. */
type Balance = bigint;

export interface QuoteOptions {
  readonly markets: Markets;
  readonly reader: AccountReader;
  readonly venues: readonly Venue[];
  readonly nowMs?: () => number;
}

/** `POST /quote`. It answers at once where the market was read a moment ago. */
export function quoteEndpoints(options: QuoteOptions): readonly BoundEndpoint[] {
  return [bindEndpoint(quoteEndpoint, ({ body }) => quoteOrder(body, options))];
}

function quoteOrder(body: QuoteBody, { markets, reader, venues, nowMs = Date.now }: QuoteOptions): Answer | Promise<Answer> {
  const read = readOrder(body, venues);
  if (!read.ok) return read.error === 'INVALID_MINT' ? { error: read.error } : wrong(read.fields);
  const { order } = read;
  const { amount, mint } = order;
  if (amount.kind === 'part') {
    // What the wallet holds may have come out of the pool a moment ago: both are of one call.
    const both = Promise.all([markets.readNow(mint), balanceOf(reader, amount.publicKey, mint)]);
    return both.then(([market, balance]) => answerTo(order, market, balance, nowMs()), unavailable);
  }
  const market = markets.read(mint);
  if (!(market instanceof Promise)) return answerTo(order, market, 0n, nowMs());
  return market.then((known) => answerTo(order, known, 0n, nowMs()), unavailable);
}

/** Anything but a failure of the chain's nodes is a fault of ours. */
function unavailable(error: unknown): Answer {
  if (!(error instanceof RpcError)) throw error;
  return { error: 'UPSTREAM_UNAVAILABLE', message: 'No node of the chain answers.', retryAfterSeconds: 1 };
}

/** Both token programs are asked for: which one the mint is of comes with the same call. */
async function balanceOf(reader: AccountReader, publicKey: string, mint: string): Promise<Balance> {
  const { accounts } = await reader.read(
    [tokenProgram, token2022Program].map((program) => associatedTokenAddress(publicKey, mint, program)),
  );
  const held = accounts.flatMap((account) => (account === null ? [] : [decodeTokenAccount(account.owner, account.data)]));
  return held.find((account) => account?.mint === mint && account.owner === publicKey)?.amount ?? 0n;
}

const unquotableTexts: Readonly<Record<Unquotable, string>> = {
  transfer_fee: 'the coin or its quote coin withholds a fee from every transfer: amounts of its pool are not those that arrive',
  not_transferable: 'the coin or its quote coin cannot be transferred',
};

function answerTo(order: QuoteOrder, read: MarketRead, balance: Balance, nowMs: number): Answer {
  const { result } = read;
  if (result.kind === 'no_mint') return { error: 'INVALID_MINT' };
  if (result.kind === 'malformed') {
    const { venue, reason } = result;
    return { error: 'UPSTREAM_UNAVAILABLE', message: `The state of ${venue} cannot be read: ${reason}.`, details: { pool: venue } };
  }
  const { market } = result;
  if (market.unquotable !== null) return wrong({ mint: unquotableTexts[market.unquotable] });
  const chosen = choosePool(order, market);
  if ('error' in chosen) return chosen;
  const trade = tradeOf(order, market, chosen, balance);
  if ('error' in trade) return trade;
  const outcome = chosen.pool.quote(trade);
  if (!outcome.ok) return refusal(outcome.fault);
  const { venue, pool, quoteDecimals } = chosen;
  const { quote } = outcome;
  const { slippageBps, side, mint } = order;
  const json: QuoteAnswer = {
    side,
    mint,
    pool: venue.name,
    poolAddress: pool.address,
    quoteMint: pool.quoteMint,
    quote: quoteObject({ trade, quote, slippageBps, baseDecimals: market.decimals, quoteDecimals }),
    completesCurve: pool.curve ? quote.completes : null,
    cut: quote.cut,
    slot: read.slot,
    ageMs: Math.max(0, nowMs - read.askedAtMs),
    feesSlot: read.settings.slot,
    feesAgeMs: Math.max(0, nowMs - read.settings.askedAtMs),
  };
  return { json };
}

function choosePool({ pool }: QuoteOrder, { pools }: TokenMarket): MarketPool | Extract<Answer, { error: ErrorCode }> {
  const named = pools.filter(({ venue }) => pool === 'auto' || venue.name === pool);
  const open = named.find((one) => !one.pool.complete);
  if (open !== undefined) return open;
  if (pools.length === 0)
    return { error: 'NOT_FOUND', message: 'No venue that is quoted trades this coin.', details: { reason: 'no_pool' } };
  if (pool !== 'auto' && named.length > 0) return wrong({ pool: 'the curve is complete: trades go on where the coin moved to' });
  if (pool === 'auto') {
    const message = 'The curve is complete, and the pool that the coin moves to is not there yet.';
    return { error: 'NOT_FOUND', message, details: { reason: 'migrating' } };
  }
  return { error: 'NOT_FOUND', message: `The coin has no pool on ${pool}.`, details: { reason: 'no_pool' } };
}

function tradeOf(
  { side, amount }: QuoteOrder,
  { decimals }: TokenMarket,
  { quoteDecimals }: MarketPool,
  balance: Balance,
): QuotedTrade | Extract<Answer, { error: ErrorCode }> {
  const exact = side === 'buy' ? 'quoteIn' : 'baseIn';
  if (amount.kind === 'part') {
    const part = partOf(balance, amount.ppm);
    if (part > 0n) return { exact, amount: part };
    return { error: 'INSUFFICIENT_BALANCE', details: { have: String(balance), need: '1', decimals } };
  }
  const raw = rawAmount(amount.value, side === 'buy' ? quoteDecimals : decimals);
  return raw.ok ? { exact, amount: raw.raw } : wrong({ amount: raw.fault });
}

function refusal(fault: QuoteFault): Answer {
  switch (fault) {
    case 'complete':
      return { error: 'NOT_FOUND', message: 'The curve has no tokens left.', details: { reason: 'migrating' } };
    case 'disabled':
      return wrong({ side: 'the venue lets nobody trade on this side now' });
    case 'too_small':
      return wrong({ amount: 'is so small that nothing would be left of it' });
    case 'too_large':
      return wrong({ amount: 'is more than the pool can trade' });
  }
}

function wrong(fields: Readonly<Record<string, string>>): Extract<Answer, { error: ErrorCode }> {
  return { error: 'INVALID_REQUEST', details: { fields } };
}
