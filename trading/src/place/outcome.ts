import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import type { OrderTerms } from '@sluice/gateway/store/order-model/order.ts';
import { tooLittle, type QuoteRefusal } from '../quote/best-quote.ts';
import type { InsertOutcome } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { maxPaperAccounts } from '@sluice/gateway/store/sql/tables/orders/paper.ts';
import { replayedTrade } from './trade-answer.ts';

/** Why an order was not placed: a code of the error table, with details. */
export type Refusal = QuoteRefusal & { readonly retryAfterSeconds?: number };

/** `isReplay`: the answer describes an order that an earlier call with the same `Idempotency-Key` placed. */
export interface Placed<Answer> {
  readonly answer: Answer;
  readonly isReplay: boolean;
}

export type Outcome<Answer = TradeAnswer> = Placed<Answer> | Refusal;

export function placedNow<Answer>(answer: Answer): Placed<Answer> {
  return { answer, isReplay: false };
}

/** The outcome if the order was not inserted: it exists already, its key is in use, or it exceeds the daily limit of the wallet. */
export function notStored(
  outcome: Exclude<InsertOutcome, { kind: 'stored' }>,
  startedMs: number,
  terms: GivenTerms | null = null,
): Outcome {
  switch (outcome.kind) {
    case 'replay':
    case 'known': {
      const answer = replayedTrade(outcome.order, performance.now() - startedMs);
      return answer === null ? { error: 'IDEMPOTENCY_MISMATCH' } : { answer, isReplay: true };
    }
    case 'mismatch':
      return { error: 'IDEMPOTENCY_MISMATCH' };
    case 'over_day_limit':
      return overDayLimit(outcome);
    // Another order took it after this one was checked.
    case 'short':
      return shortOnPaper(outcome, terms);
    case 'fenced':
      return { error: 'UPSTREAM_UNAVAILABLE', message: 'Another gateway runs the triggers now.', retryAfterSeconds: 1 };
    case 'full':
      return {
        error: 'FORBIDDEN',
        message: `A paper wallet has at most ${maxPaperAccounts} token accounts. Sell coins, or reset its balance.`,
        details: { limit: maxPaperAccounts },
      };
  }
}

type GivenTerms = Pick<OrderTerms, 'side' | 'mint' | 'baseDecimals' | 'quoteMint' | 'quoteDecimals'>;

function shortOnPaper({ unit, have, need }: Extract<InsertOutcome, { kind: 'short' }>, terms: GivenTerms | null): Refusal {
  if (unit === 'lamports' || terms === null) return tooLittle(unit, have, need, solDecimals);
  return terms.side === 'buy'
    ? tooLittle(unit, have, need, terms.quoteDecimals, terms.quoteMint)
    : tooLittle(unit, have, need, terms.baseDecimals, terms.mint);
}

export function overDayLimit({
  limitLamports,
  spentLamports,
}: {
  readonly limitLamports: bigint;
  readonly spentLamports: bigint;
}): Refusal {
  return {
    error: 'FORBIDDEN',
    message: 'The order would exceed the daily limit of the wallet.',
    details: { limitLamports: String(limitLamports), spentLamports: String(spentLamports) },
  };
}
