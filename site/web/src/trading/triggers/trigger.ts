import type { TriggerBody, TriggerObject } from '@sluice/client';

export type { TriggerBody } from '@sluice/client';
export type Trigger = TriggerObject;
export type Condition = Trigger['when'];
type Level = Extract<Condition, { readonly metric: unknown }>;
export type Metric = Level['metric'];
export type Op = Level['op'];

/** What arms a trigger with the same terms again. */
export function bodyOf(trigger: Trigger): TriggerBody {
  const { publicKey, mint, side, when, pool, confirm, minDepthSol, holdMs, retries, retryForMs, ocoGroup, expiresAt } = trigger;
  const { slippage, priorityFee, minOut, maxAmount } = trigger;
  return {
    publicKey,
    ...(mint !== null && { mint }),
    side,
    ...amountOf(trigger),
    ...(slippage !== null && { slippage }),
    ...(priorityFee !== null && { priorityFee }),
    ...(minOut !== null && { minOut }),
    ...(maxAmount !== null && { maxAmount }),
    when,
    pool,
    confirm,
    minDepthSol,
    holdMs,
    retries,
    retryForMs,
    ocoGroup,
    expiresAt,
  };
}

/** A child sells a part of what its parent bought, and not of all that the wallet holds. */
function amountOf({ amount, maxIn, parentAmount }: Trigger): Pick<TriggerBody, 'amount' | 'maxIn'> {
  if (parentAmount !== null && typeof amount === 'string') return { amount: '100%', maxIn: parentAmount };
  return { amount, ...(maxIn !== null && { maxIn }) };
}

/** Whether `bodyOf` says all of it. Children belong to their parent, and what fires several times has perhaps begun. */
export function canArmAgain({ status, when, children }: Trigger): boolean {
  return status === 'armed' && children.length === 0 && !('every' in when) && !('account' in when);
}
