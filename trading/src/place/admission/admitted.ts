import type { IdempotencyUse, NewOrder, Owner, SignedMessage } from '@sluice/gateway/store/order-model/order.ts';
import type { PreparedTrade } from '../../prepare/prepare.ts';
import type { TradeRequest } from '../../prepare/request.ts';
import { orderTerms, tradedQuote } from '../trade-answer.ts';

/** A request that passed the checks that need no quote. */
export interface Admitted {
  readonly owner: Owner;
  readonly request: TradeRequest;
  readonly use: IdempotencyUse | null;
  /** Genesis hash of the chain that the order is made on. */
  readonly genesisHash: string;
  readonly startedMs: number;
}

/** The order of a trade as it is stored. */
export function newOrderOf(
  { owner, request, genesisHash }: Admitted,
  prepared: PreparedTrade,
  {
    id,
    state,
    kind,
    fill,
    timingJson,
    createdAtMs,
    message,
  }: Pick<NewOrder, 'id' | 'state' | 'kind' | 'fill' | 'timingJson' | 'createdAtMs'> & { readonly message: SignedMessage | null },
): NewOrder {
  return {
    id,
    state,
    kind,
    keyId: owner.keyId,
    accountId: owner.accountId,
    genesisHash,
    terms: orderTerms(request, prepared),
    quoteJson: JSON.stringify(tradedQuote(request, prepared)),
    signature: message?.signature ?? null,
    signedBytes: message?.signedBytes ?? null,
    blockhash: message?.blockhash ?? null,
    lastValidBlockHeight: message?.lastValidBlockHeight ?? null,
    error: null,
    createdAtMs,
    fill,
    timingJson,
  };
}
