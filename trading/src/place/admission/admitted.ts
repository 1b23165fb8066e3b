import type { IdempotencyUse } from '@sluice/gateway/store/order-model/idempotency.ts';
import type { NewOrder, SignedMessage } from '@sluice/gateway/store/order-model/order.ts';
import type { Owner } from '@sluice/gateway/store/order-model/owner.ts';
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
    message,
    ...fields
  }: Pick<NewOrder, 'id' | 'state' | 'kind' | 'fill' | 'timingJson' | 'createdAtMs'> & { message: SignedMessage | null },
): NewOrder {
  return {
    keyId: owner.keyId,
    accountId: owner.accountId,
    genesisHash,
    terms: orderTerms(request, prepared),
    quoteJson: JSON.stringify(tradedQuote(request, prepared)),
    error: null,
    ...(message ?? noMessage),
    ...fields,
  };
}

const noMessage = { signature: null, signedBytes: null, blockhash: null, lastValidBlockHeight: null };
