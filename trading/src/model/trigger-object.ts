import type { VenueName } from '@sluice/shared/wire/events/events.ts';
import type { TriggerEvent, TriggerWhen } from '@sluice/shared/wire/orders/triggers.ts';
import { priorityFeeLimits } from '@sluice/shared/wire/rest/trading/trade.ts';
import type { TriggerObject } from '@sluice/shared/wire/rest/trading/triggers.ts';
import type { TriggerCondition } from '@sluice/shared/market/trigger-condition.ts';
import { isEnded, type StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { errorObject } from './order-object.ts';

/** A trigger in the form that clients receive. */
export function triggerObject(trigger: StoredTrigger): TriggerObject {
  const { id, terms, progress, parentId } = trigger;
  const { order } = terms;
  return {
    triggerId: id,
    version: trigger.version,
    status: trigger.state,
    orderId: trigger.orderId,
    error: errorObject(trigger),
    waitingFor: trigger.waitingFor,
    late: trigger.late,
    cancelAsked: trigger.cancelAsked,
    paper: trigger.paper,
    publicKey: order.publicKey,
    mint: order.mint,
    side: order.side,
    amount: order.amount,
    maxAmount: order.maxAmount ?? null,
    slippage: order.slippage ?? null,
    priorityFee: order.priorityFee ?? null,
    // The schema of the request has checked it.
    pool: (order.pool ?? 'auto') as 'auto' | VenueName,
    minOut: order.minOut ?? null,
    maxIn: order.maxIn ?? null,
    when: whenObject(terms.when),
    confirm: terms.confirm,
    minDepthSol: terms.minDepthSol,
    holdMs: terms.holdMs,
    retries: terms.retries,
    retryForMs: terms.retryForMs,
    ocoGroup: terms.ocoGroup,
    watermark: progress.watermark,
    nextAt: progress.nextAtMs,
    firings: progress.firing,
    maxCostSol: maxCostSol(trigger),
    parentId,
    parentAmount: progress.parentAmount,
    children: [...terms.childIds],
    createdAt: trigger.createdAtMs,
    updatedAt: trigger.updatedAtMs,
    expiresAt: terms.expiresAtMs,
  };
}

/** The stream event for a change of a trigger. `publishedUs`: Unix microseconds. */
export function triggerEvent(trigger: StoredTrigger, publishedUs: number, simulated: boolean): TriggerEvent {
  return {
    type: 'trigger',
    id: `${trigger.id}:${trigger.version}`,
    ...triggerObject(trigger),
    ts: { received: trigger.updatedAtMs * 1000, published: publishedUs },
    ...(simulated ? { simulated: true } : {}),
  };
}

function whenObject(when: TriggerCondition): TriggerWhen {
  switch (when.kind) {
    case 'level':
      return { metric: when.metric, op: when.op, value: when.value };
    case 'profit':
      return { position: 'profitPct', op: when.op, value: when.percent };
    case 'trailing':
      return { trailing: { metric: when.metric, percent: when.percent } };
    case 'at':
      return { at: when.atMs };
    case 'every':
      return { every: `${when.everyMs / 1_000}s`, times: when.times };
    case 'migration':
      return { event: 'migration' };
    case 'filled':
      return { filled: when.orderId };
    case 'account':
      return { account: when.account, side: when.side, minSol: when.minSol, times: when.times };
  }
}

/** What its orders that are left can cost at most, SOL, without rent and tips. 0 if it has ended. */
function maxCostSol({ state, terms, progress }: Pick<StoredTrigger, 'state' | 'terms' | 'progress'>): number {
  if (isEnded(state)) return 0;
  const { order, when, retries } = terms;
  const times = 'times' in when ? when.times : 1;
  // The firing that has begun can still cost something.
  const left = Math.max(0, times - progress.firing + (state === 'firing' ? 1 : 0));
  const amount = typeof order.amount === 'number' ? order.amount : (order.maxAmount ?? 0);
  const fees = (retries + 1) * (order.priorityFee ?? priorityFeeLimits.max);
  return Number((left * ((order.side === 'buy' ? amount : 0) + fees)).toFixed(9));
}
