import { SluiceError } from '@sluice/client';
import { note, type Note } from '../../app/sign-in.tsx';
import { faultText, me, sluice } from '../../state/server.ts';
import { newKey, undecided } from '../orders/attempts.ts';
import { makeChange, unfinished, type Change, type Pad, type TriggerServer } from './change.ts';
import { triggersVersion } from './use-triggers.ts';
import { bodyOf, canArmAgain, type Condition, type Trigger, type TriggerBody } from './trigger.ts';
import { conditionText, statusText } from './words.ts';

const server: TriggerServer = {
  arm: (body, idempotencyKey) => sluice.triggers.arm(body, { idempotencyKey }),
  cancel: (triggerId) => sluice.triggers.cancel(triggerId),
  mayHaveActed: (error) => !(error instanceof SluiceError) || undecided.has(error.code),
};
const changed = (): void => triggersVersion.set(triggersVersion.value + 1);

/** Each account has its own. */
const pad: Pad = {
  getItem: (name) => localStorage.getItem(`${name} ${accountId()}`),
  setItem: (name, text) => localStorage.setItem(`${name} ${accountId()}`, text),
  removeItem: (name) => localStorage.removeItem(`${name} ${accountId()}`),
};
const accountId = (): string => me.value?.account?.id ?? '';

/** Undo is not offered longer: the market has moved on. */
const shownMs = 30_000;

/** Says something where a person who moves a line looks. What went well is not shown for ever. */
export function say(message: Note): void {
  const shown = { ...message, isNear: true };
  note.set(shown);
  if (message.kind === 'plain') setTimeout(() => note.value === shown && note.set(null), shownMs);
}

/** Gives all triggers of a line another condition. Returns the new ones. What happened, and how to undo it, is shown at the bottom of the page. */
export async function moveTriggers(triggers: readonly Trigger[], when: Condition): Promise<readonly Trigger[]> {
  const moved: Trigger[] = [];
  try {
    for (const trigger of triggers) {
      const change = { cancels: trigger.triggerId, arms: { ...bodyOf(trigger), when }, idempotencyKey: newKey(), atMs: Date.now() };
      const after = await makeChange(server, pad, change);
      if (after !== null) moved.push(after);
    }
  } catch (error) {
    offerUnfinished(faultText(error));
    return moved;
  } finally {
    changed();
  }
  const [first] = moved;
  if (first === undefined) say({ text: 'Nothing was moved: it fires already, or has ended.', kind: 'fault' });
  else {
    const before = triggers[0]!.when;
    const undo = (): void => void moveTriggers(moved, before);
    say({ text: `Moved. ${conditionText(first)}.`, kind: 'plain', action: { name: 'Undo', run: undo } });
  }
  return moved;
}

/** Cancels triggers. Those that were armed can be armed again. */
export async function cancelTriggers(triggers: readonly Trigger[]): Promise<void> {
  try {
    const after = await Promise.all(triggers.map(({ triggerId }) => sluice.triggers.cancel(triggerId)));
    const other = after.find(({ status }) => status !== 'cancelled');
    if (other !== undefined) return say({ text: `Not cancelled: ${statusText(other.status)}`, kind: 'fault' });
    const text = `Cancelled. ${conditionText(triggers[0]!)}.`;
    const canUndo = triggers.every(canArmAgain);
    const undo = armAgain(triggers.map((trigger) => ({ body: bodyOf(trigger), key: newKey() })));
    say({ text, kind: 'plain', ...(canUndo && { action: { name: 'Undo', run: undo } }) });
  } catch (error) {
    say({ text: faultText(error), kind: 'fault' });
  } finally {
    changed();
  }
}

/** Each is armed once, however often the result is called. */
function armAgain(requested: readonly { readonly body: TriggerBody; readonly key: string }[]): () => void {
  const run = async (): Promise<void> => {
    try {
      note.set(null);
      for (const { body, key } of requested) await server.arm(body, key);
      say({ text: 'Armed again.', kind: 'plain' });
    } catch (error) {
      say({ text: `Not armed again. ${faultText(error)}`, kind: 'fault', action: { name: 'Try again', run: () => void run() } });
    } finally {
      changed();
    }
  };
  return () => void run();
}

/** If a change was interrupted, offers to finish it. `fault`: what interrupted it, which is shown in any case. */
export function offerUnfinished(fault: string | null = null): void {
  const changes = unfinished(pad, Date.now());
  const [first] = changes;
  if (first === undefined) {
    if (fault !== null) say({ text: fault, kind: 'fault' });
    return;
  }
  const text = `A trigger was to be moved, and may be cancelled without being armed again: ${conditionText(first.arms)}.`;
  const action = { name: 'Finish the move', run: () => void finish(changes) };
  say({ text: fault === null ? text : `${fault} ${text}`, kind: 'fault', action });
}

async function finish(changes: readonly Change[]): Promise<void> {
  try {
    note.set(null);
    for (const change of changes) await makeChange(server, pad, change);
    say({ text: 'The move is finished.', kind: 'plain' });
  } catch (error) {
    offerUnfinished(faultText(error));
  } finally {
    changed();
  }
}
