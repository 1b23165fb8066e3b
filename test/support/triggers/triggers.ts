import { noProgress, type NewTrigger, type TriggerTerms } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { newTriggerId } from '../../../trading/src/model/order-id.ts';
import { addressOf } from '../events/stream-events.ts';
import { orderGenesisHash } from '../orders.ts';

/** A stop loss for all tokens. */
export const triggerTerms: TriggerTerms = {
  order: { side: 'sell', publicKey: addressOf(3), mint: addressOf(1), amount: '100%', slippage: 10 },
  when: { kind: 'level', metric: 'priceSol', op: '<=', value: 3.1e-8 },
  confirm: 'processed',
  minDepthSol: 1,
  holdMs: 500,
  retries: 3,
  retryForMs: 60_000,
  ocoGroup: null,
  childIds: [],
  expiresAtMs: null,
};

let made = 0;

/** An armed trigger. Ids ascend in the order of the calls. */
export function newTrigger(createdAtMs: number, more: Partial<NewTrigger> = {}): NewTrigger {
  return {
    id: newTriggerId(++made),
    keyId: 'key',
    accountId: null,
    genesisHash: orderGenesisHash,
    paper: false,
    state: 'armed',
    terms: triggerTerms,
    progress: noProgress,
    parentId: null,
    orderId: null,
    error: null,
    waitingFor: null,
    late: false,
    createdAtMs,
    ...more,
  };
}
