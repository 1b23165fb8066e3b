import type { TriggerTerms } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { partOf, partsPerMillion } from '../../quote/amounts.ts';

const allPpm = 1_000_000n;

/**
 * Divides the tokens that an order bought among the triggers that are armed by it; returns one part for each, in raw units. A share in percent
 * begins where the share before it ends, so shares that add up to 100 % add up to all tokens, to the unit. Triggers of one group with equal
 * shares have the same part, because only one of them fires. Where the shares exceed 100 %, the next one begins at 0 again. Null: one that has ended.
 */
export function ladderParts(children: readonly (Pick<TriggerTerms, 'order' | 'ocoGroup'> | null)[], amount: bigint): readonly bigint[] {
  const ofGroup = new Map<string, bigint>();
  let fromPpm = 0n;
  return children.map((child) => {
    if (child === null) return 0n;
    const { order, ocoGroup } = child;
    const ppm = typeof order.amount === 'string' && order.side === 'sell' ? partsPerMillion(order.amount) : null;
    if (ppm === null) return amount;
    const name = ocoGroup === null ? null : `${ppm}:${ocoGroup}`;
    const same = name === null ? undefined : ofGroup.get(name);
    if (same !== undefined) return same;
    if (fromPpm + ppm > allPpm) fromPpm = 0n;
    const part = partOf(amount, fromPpm + ppm) - partOf(amount, fromPpm);
    fromPpm += ppm;
    if (name !== null) ofGroup.set(name, part);
    return part;
  });
}
