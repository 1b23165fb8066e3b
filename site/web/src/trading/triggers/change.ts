import type { Trigger, TriggerBody } from './trigger.ts';

/** The two requests of a change. The client repeats them after a lost answer. */
export interface TriggerServer {
  /** The same key and body arm one trigger. */
  readonly arm: (body: TriggerBody, idempotencyKey: string) => Promise<Trigger>;
  /** Returns the trigger as it is afterwards: `cancelled`, or what it has become before. */
  readonly cancel: (triggerId: string) => Promise<Trigger>;
  /** After this error the server may have done what it was asked for. */
  readonly mayHaveActed: (error: unknown) => boolean;
}

/** A trigger that takes the place of another one. */
export interface Change {
  readonly cancels: string;
  readonly arms: TriggerBody;
  readonly idempotencyKey: string;
  /** When it was made first, Unix milliseconds. */
  readonly atMs: number;
}

/** Where unfinished changes outlive the page. */
export type Pad = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
const padName = 'sluice-changes';
const maxChanges = 20;
/** A server knows an Idempotency-Key for 24 hours. */
const maxAgeMs = 23 * 3_600_000;

/**
 * Cancels a trigger and then arms another one in its place, so that never both can fire. Null: the trigger was no longer armed, and nothing was
 * armed. The change is written down first: if the page or the connection ends between the two requests, `unfinished` returns it.
 */
export async function makeChange(server: TriggerServer, pad: Pad, change: Change): Promise<Trigger | null> {
  const others = unfinished(pad, change.atMs).filter(({ cancels }) => cancels !== change.cancels);
  write(pad, [...others, change]);
  const before = await server.cancel(change.cancels).catch((error: unknown) => {
    if (!server.mayHaveActed(error)) forget(pad, change);
    throw error;
  });
  const after = before.status === 'cancelled' ? await server.arm(change.arms, change.idempotencyKey) : null;
  forget(pad, change);
  return after;
}

/** Changes of which the last request has no answer. Making one again cannot arm two triggers. */
export function unfinished(pad: Pad, nowMs: number): readonly Change[] {
  return read(pad).filter(({ atMs }) => nowMs - atMs < maxAgeMs);
}

function read(pad: Pad): readonly Change[] {
  const text = pad.getItem(padName);
  return text === null ? [] : (JSON.parse(text) as readonly Change[]);
}

function forget(pad: Pad, change: Change): void {
  write(
    pad,
    read(pad).filter(({ cancels }) => cancels !== change.cancels),
  );
}

function write(pad: Pad, changes: readonly Change[]): void {
  if (changes.length === 0) pad.removeItem(padName);
  else pad.setItem(padName, JSON.stringify(changes.slice(-maxChanges)));
}
