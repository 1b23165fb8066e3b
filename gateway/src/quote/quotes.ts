import { associatedTokenAddress } from '@sluice/shared/solana/pda.ts';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/token-account.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds } from '@sluice/shared/venues/quoting.ts';
import type { Venue } from '@sluice/shared/venues/venue.ts';
import { quoteEndpoint, type QuoteAnswer, type QuoteBody } from '@sluice/shared/wire/rest/quote.ts';
import type { AccountReader } from '../chain/account-reader.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '../http/endpoint.ts';
import { quoteObject } from './answer.ts';
import type { MarketRead, Markets } from './markets.ts';
import { readOrder, type QuoteOrder } from './order.ts';
import { quoteOn, wrongFields, type Balance } from './quoted.ts';

type Answer = EndpointAnswer<typeof quoteEndpoint>;

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
  if (!read.ok) return read.error === 'INVALID_MINT' ? { error: read.error } : wrongFields(read.fields);
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

function answerTo(order: QuoteOrder, read: MarketRead, balance: Balance, nowMs: number): Answer {
  const quoted = quoteOn(order, read, balance);
  if ('error' in quoted) return quoted;
  const { venue, pool, quoteDecimals, market, trade, quote } = quoted;
  const { slippageBps, side, mint } = order;
  const json: QuoteAnswer = {
    side,
    mint,
    pool: venue.name,
    poolAddress: pool.address,
    quoteMint: pool.quoteMint,
    quote: quoteObject({ quote, bounds: slippageBounds(trade, quote, slippageBps), baseDecimals: market.decimals, quoteDecimals }),
    completesCurve: pool.curve ? quote.completes : null,
    cut: quote.cut,
    slot: read.slot,
    ageMs: Math.max(0, nowMs - read.askedAtMs),
    feesSlot: read.settings.slot,
    feesAgeMs: Math.max(0, nowMs - read.settings.askedAtMs),
  };
  return { json };
}
