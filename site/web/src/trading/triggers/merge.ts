import type { Trigger } from './trigger.ts';
import { isOpen } from './words.ts';

/** More are not listed. */
const maxTriggers = 1_000;

/** Two lists in one, newest first. Of one trigger, the newest report counts. */
export function mergeTriggers(some: readonly Trigger[], others: readonly Trigger[], openOnly: boolean): Trigger[] {
  const newest = new Map<string, Trigger>();
  for (const trigger of [...some, ...others]) {
    const { triggerId, version } = trigger;
    if ((newest.get(triggerId)?.version ?? 0) <= version) newest.set(triggerId, trigger);
  }
  const listed = [...newest.values()].filter((trigger) => !openOnly || isOpen(trigger));
  return listed.toSorted((a, b) => b.createdAt - a.createdAt || (a.triggerId < b.triggerId ? 1 : -1)).slice(0, maxTriggers);
}
