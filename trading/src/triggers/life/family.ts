import { advance, type LifeStep, type TriggerEvent } from './life.ts';
import { ladderParts } from './ladder.ts';
import type { LiveTrigger, OpenTriggers } from './open-triggers.ts';

/** What one event changes at one trigger. */
export interface FamilyPart {
  readonly live: LiveTrigger;
  readonly event: TriggerEvent;
  readonly step: LifeStep;
}

/**
 * Everything that is stored together when this happens to a trigger: its own change first, then those of its children and of its group. Empty: the event
 * changes nothing.
 */
export function familyParts(live: LiveTrigger, event: TriggerEvent, atMs: number, open: OpenTriggers): readonly FamilyPart[] {
  const step = advance(live.trigger, event, atMs);
  if (step === null) return [];
  const parts: FamilyPart[] = [{ live, event, step }];
  if (step.armChildrenWith !== null) armChildren(live, step.armChildrenWith, atMs, open, parts);
  else if (step.next === 'ended') endChildren(live, atMs, open, parts);
  if (step.endsGroup) for (const sibling of open.siblingsOf(live.trigger)) end(sibling, atMs, open, parts);
  return parts;
}

function armChildren({ trigger }: LiveTrigger, amount: bigint, atMs: number, open: OpenTriggers, parts: FamilyPart[]): void {
  const children = trigger.terms.childIds.map((id) => open.get(id) ?? null);
  const amounts = ladderParts(
    children.map((child) => child?.trigger.terms ?? null),
    amount,
  );
  for (const [index, live] of children.entries())
    if (live !== null)
      add({ live, event: { kind: 'parent_filled', parentAmount: String(amounts[index]), cause: trigger.progress.cause } }, atMs, parts);
}

function endChildren({ trigger }: LiveTrigger, atMs: number, open: OpenTriggers, parts: FamilyPart[]): void {
  for (const id of trigger.terms.childIds) {
    const child = open.get(id);
    if (child?.trigger.state === 'waiting') end(child, atMs, open, parts);
  }
}

function end(live: LiveTrigger, atMs: number, open: OpenTriggers, parts: FamilyPart[]): void {
  if (add({ live, event: { kind: 'not_needed' } }, atMs, parts)) endChildren(live, atMs, open, parts);
}

function add({ live, event }: Omit<FamilyPart, 'step'>, atMs: number, parts: FamilyPart[]): boolean {
  if (parts.some((part) => part.live === live)) return false;
  const step = advance(live.trigger, event, atMs);
  if (step !== null) parts.push({ live, event, step });
  return step !== null;
}
