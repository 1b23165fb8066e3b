import type { Trigger } from '@sluice/site/web/trading/triggers/trigger.ts';

let count = 0;

/** An armed stop loss, as the server reports it, with other values for some fields. */
export function aTrigger(parts: Partial<Trigger> = {}): Trigger {
  const id = `trg_${String(count++).padStart(6, '0')}`;
  return {
    triggerId: id,
    version: 1,
    status: 'armed',
    orderId: null,
    error: null,
    waitingFor: null,
    late: false,
    cancelAsked: false,
    paper: false,
    publicKey: 'Wa11et',
    mint: 'M1nt',
    side: 'sell',
    amount: '100%',
    maxAmount: null,
    slippage: 10,
    priorityFee: null,
    pool: 'auto',
    minOut: null,
    maxIn: null,
    when: { position: 'profitPct', op: '<=', value: -45 },
    confirm: 'processed',
    minDepthSol: 1,
    holdMs: 500,
    retries: 3,
    retryForMs: 60_000,
    ocoGroup: null,
    watermark: null,
    nextAt: null,
    firings: 0,
    maxCostSol: 0.01,
    parentId: null,
    parentAmount: null,
    children: [],
    createdAt: 1_000,
    updatedAt: 1_000,
    expiresAt: null,
    ...parts,
  };
}
