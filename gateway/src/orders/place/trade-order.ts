import type { tradeBuyEndpoint } from '@sluice/shared/wire/rest/trade.ts';
import type { Principal } from '../../auth/principal.ts';
import type { EndpointAnswer } from '../../http/endpoint.ts';
import type { QuoteRefusal } from '../../quote/quoted.ts';
import type { IdempotencyUse, InsertOutcome, NewOrder } from '../../store/order-table.ts';
import type { SignedMessage } from '../model/order.ts';
import type { PreparedTrade } from '../prepare/prepare.ts';
import type { TradeRequest } from '../prepare/request.ts';
import { replayedTrade, termsOf, tradedQuote } from './trade-answer.ts';

export type TradeReply = EndpointAnswer<typeof tradeBuyEndpoint>;
export type Refusal = QuoteRefusal & { readonly retryAfterSeconds?: number };

/** A request that was let in, and what it may not do twice. */
export interface Admitted {
  readonly principal: Principal;
  readonly request: TradeRequest;
  readonly use: IdempotencyUse | null;
  /** Of the chain that the order is made on. */
  readonly genesisHash: string;
  readonly startedMs: number;
}

/** The order of a trade, as it is stored. */
export function orderOf(
  { principal, request, genesisHash }: Admitted,
  prepared: PreparedTrade,
  {
    id,
    state,
    kind,
    fill,
    timingJson,
    message,
  }: Pick<NewOrder, 'id' | 'state' | 'kind' | 'fill' | 'timingJson'> & { readonly message: SignedMessage | null },
): NewOrder {
  return {
    id,
    state,
    kind,
    keyId: principal.keyId,
    accountId: principal.accountId,
    genesisHash,
    terms: termsOf(request, prepared),
    quoteJson: JSON.stringify(tradedQuote(prepared)),
    signature: message?.signature ?? null,
    signedBytes: message?.signedBytes ?? null,
    blockhash: message?.blockhash ?? null,
    lastValidBlockHeight: message?.lastValidBlockHeight ?? null,
    error: null,
    createdAtMs: Date.now(),
    fill,
    timingJson,
  };
}

/** The store knows this `Idempotency-Key`, or has no room for the order in the wallet's day. */
export function toldBefore(known: Exclude<InsertOutcome, { kind: 'stored' }>, startedMs: number): TradeReply {
  switch (known.kind) {
    case 'replay':
    case 'known': {
      const json = replayedTrade(known.order, performance.now() - startedMs);
      return json === null ? { error: 'IDEMPOTENCY_MISMATCH' } : { json, headers: { 'Idempotency-Replayed': 'true' } };
    }
    case 'in_progress':
      return { error: 'IDEMPOTENCY_IN_PROGRESS', retryAfterSeconds: 1 };
    case 'mismatch':
      return { error: 'IDEMPOTENCY_MISMATCH' };
    case 'over_day_limit':
      return overDayLimit(known);
  }
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
    message: 'The order would take the wallet beyond its limit of the day.',
    details: { limitLamports: String(limitLamports), spentLamports: String(spentLamports) },
  };
}
