import type { LogPosition } from '@sluice/shared/bus/bus.ts';
import { ownerOf, type IdempotencyUse } from '../../../order-model/order.ts';
import {
  statesBefore,
  type NewTrigger,
  type StoredTrigger,
  type TriggerChange,
  type TriggerState,
} from '../../../trigger-model/trigger.ts';
import { countOf, flag, insertRow } from '../../columns.ts';
import type { Database, Sql, SqlValue } from '../../database.ts';
import { cancelWithin, type CancelWhich } from './trigger-cancel.ts';
import { addKey, forgetOld, lookUpKey, type TriggerKeyOutcome } from './trigger-keys.ts';
import { changedValues, maxTriggerRows, readTrigger, triggerValues } from './trigger-rows.ts';
import { checkpointOf, inTerm, openTerm, saveCheckpoint, type Fenced } from './trigger-terms.ts';

export interface TriggerInsert {
  readonly idempotency: IdempotencyUse | null;
  /** Maximum number of triggers of the owner that have not ended, these included. */
  readonly maxArmed: number;
}

/** All outcomes but `stored` stored nothing. */
export type TriggerInsertOutcome =
  | { readonly kind: 'stored'; readonly triggers: readonly StoredTrigger[] }
  | Exclude<TriggerKeyOutcome, { kind: 'fresh' }>
  | { readonly kind: 'over_limit'; readonly armed: number }
  | { readonly kind: Fenced };

export interface TriggerAdvance {
  readonly id: string;
  /** The version that the change was computed from. */
  readonly version: number;
  readonly change: TriggerChange;
  readonly atMs: number;
}

/** `stale`: the trigger was changed meanwhile; `trigger` is the current one. */
export type TriggerAdvanceOutcome =
  | { readonly kind: 'advanced' | 'stale'; readonly trigger: StoredTrigger }
  | { readonly kind: 'no_such_trigger' };

export interface TriggerPage {
  readonly owner: string;
  readonly paper: boolean;
  readonly state: TriggerState | null;
  readonly mint: string | null;
  readonly publicKey: string | null;
  /** Id of a trigger: the page holds only older ones. Null: from the newest. */
  readonly before: string | null;
  readonly limit: number;
}

/** Maximum number of changes of one `advanceAll`. */
export const maxTriggerAdvances = 1_000;

export type TriggerTable = ReturnType<typeof triggerTable>;

/**
 * The stored triggers. Each change is atomic, and durable once its call has resolved. All writes name the term in which they are made. A
 * newer term of the same mode (paper or live) fences older ones: their writes change nothing.
 */
export function triggerTable(db: Database) {
  return {
    /** Begins a term, which ends all earlier terms of this mode. */
    openTerm: (paper: boolean) => openTerm(db, paper),
    /** Reads what is known about an `Idempotency-Key` of a request that arms triggers. No clock decides. */
    lookUp: (owner: string, use: IdempotencyUse) => lookUpKey(db, owner, use),
    /**
     * Stores triggers of one owner and the key of their request in one transaction. The first one is what a repeated key returns. Throws
     * RangeError if one is neither `armed` nor `waiting`, or has the mode of another term.
     */
    insert: async (term: number, triggers: readonly NewTrigger[], with_: TriggerInsert): Promise<TriggerInsertOutcome> => {
      const outcome = await inTerm(db, term, (sql, paper) => insert(sql, paper, triggers, with_));
      return outcome === 'fenced' ? { kind: outcome } : outcome;
    },
    /**
     * Changes each of these triggers that still has the given version, and stores `arm`, in one transaction; if it throws, nothing is changed. The
     * watermark stays: `saveCheckpoint` changes it. At most `maxTriggerAdvances`. Throws RangeError for a change of state that the life of a
     * trigger does not have.
     */
    advanceAll: async (
      term: number,
      advances: readonly TriggerAdvance[],
      arm: readonly NewTrigger[] = [],
    ): Promise<readonly TriggerAdvanceOutcome[] | Fenced> => {
      if (advances.length > maxTriggerAdvances) throw new RangeError(`at most ${maxTriggerAdvances} changes at once`);
      return inTerm(db, term, (sql, paper) => advanceAll(sql, paper, advances, arm));
    },
    /**
     * Cancels what is `armed` or `waiting`, and what waits for it. One that is `firing` stays so, with `cancelAsked`. Returns all triggers that
     * it changed, with their new state.
     */
    cancel: (term: number, which: CancelWhich, atMs: number): Promise<readonly StoredTrigger[] | Fenced> =>
      inTerm(db, term, (sql, paper) => cancelWithin(sql, db.dialect, { paper, which, atMs })),
    byId: (id: string) => triggerById(db, id),
    /** Newest first. */
    page: (page: TriggerPage) => pageOf(db, page),
    /** Triggers that have not ended, in order of id, after the id `after` (null: from the first). */
    open: async (paper: boolean, after: string | null, limit: number): Promise<readonly StoredTrigger[]> => {
      const select = 'SELECT * FROM triggers WHERE ended = 0 AND paper = ? AND id > ? ORDER BY id LIMIT ?';
      return (await db.all(select, flag.write(paper), after ?? '', Math.min(limit, maxTriggerRows))).map(readTrigger);
    },
    /** Triggers of an owner that have not ended. */
    countOpen: (owner: string) => countOpen(db, owner),
    /** Up to where the log was read. Null: nothing was stored. */
    checkpoint: (paper: boolean): Promise<LogPosition | null> => checkpointOf(db, paper),
    /** Stores the position and the watermarks, by id, in one transaction. */
    saveCheckpoint: (term: number, position: LogPosition, watermarks: ReadonlyMap<string, number>) =>
      saveCheckpoint(db, term, position, watermarks),
  };
}

async function triggerById(sql: Sql, id: string): Promise<StoredTrigger | null> {
  const row = await sql.get('SELECT * FROM triggers WHERE id = ?', id);
  return row === null ? null : readTrigger(row);
}

function countOpen(sql: Sql, owner: string): Promise<number> {
  return countOf(sql, 'SELECT count(*) AS count FROM triggers WHERE owner = ? AND ended = 0', owner);
}

async function pageOf(sql: Sql, { owner, paper, state, mint, publicKey, before, limit }: TriggerPage): Promise<readonly StoredTrigger[]> {
  const filters: readonly (readonly [string, SqlValue | null])[] = [
    ['owner = ?', owner],
    ['paper = ?', flag.write(paper)],
    ['state = ?', state],
    ['mint = ?', mint],
    ['public_key = ?', publicKey],
    ['id < ?', before],
  ];
  const used = filters.filter(([, value]) => value !== null);
  const where = used.map(([condition]) => condition).join(' AND ');
  const values = [...used.map(([, value]) => value), Math.min(limit, maxTriggerRows)];
  return (await sql.all(`SELECT * FROM triggers WHERE ${where} ORDER BY id DESC LIMIT ?`, ...values)).map(readTrigger);
}

async function insert(
  sql: Sql,
  paper: boolean,
  triggers: readonly NewTrigger[],
  { idempotency, maxArmed }: TriggerInsert,
): Promise<TriggerInsertOutcome> {
  const [first] = triggers;
  if (first === undefined) throw new RangeError('no trigger');
  const owner = ownerOf(first);
  if (triggers.some((trigger) => ownerOf(trigger) !== owner)) throw new RangeError('the triggers have several owners');
  if (idempotency !== null) {
    const found = await lookUpKey(sql, owner, idempotency);
    if (found.kind !== 'fresh') return found;
  }
  const armed = await countOpen(sql, owner);
  if (armed + triggers.length > maxArmed) return { kind: 'over_limit', armed };
  const stored = await insertAll(sql, paper, triggers);
  if (idempotency !== null) await addKey(sql, owner, idempotency, stored[0]!);
  await forgetOld(sql);
  return { kind: 'stored', triggers: stored };
}

async function insertAll(sql: Sql, paper: boolean, triggers: readonly NewTrigger[]): Promise<readonly StoredTrigger[]> {
  const stored: StoredTrigger[] = [];
  for (const trigger of triggers) {
    const { id, state } = trigger;
    if (state !== 'armed' && state !== 'waiting') throw new RangeError(`trigger ${id} cannot begin in the state ${state}`);
    if (trigger.paper !== paper) throw new RangeError(`trigger ${id} does not have the mode of the term`);
    const added: StoredTrigger = { ...trigger, cancelAsked: false, updatedAtMs: trigger.createdAtMs, version: 1 };
    await insertRow(sql, 'triggers', triggerValues(added));
    stored.push(added);
  }
  return stored;
}

async function advanceAll(
  sql: Sql,
  paper: boolean,
  advances: readonly TriggerAdvance[],
  arm: readonly NewTrigger[],
): Promise<readonly TriggerAdvanceOutcome[]> {
  const outcomes: TriggerAdvanceOutcome[] = [];
  for (const advance of advances) outcomes.push(await advanceOne(sql, paper, advance));
  await insertAll(sql, paper, arm);
  return outcomes;
}

async function advanceOne(sql: Sql, paper: boolean, { id, version, change, atMs }: TriggerAdvance): Promise<TriggerAdvanceOutcome> {
  const values = changedValues(change);
  const set = Object.keys(values).map((name) => `${name} = ?, `);
  const { state } = change;
  const from =
    state === undefined
      ? ''
      : `AND state IN (${statesBefore(state)
          .map((before) => `'${before}'`)
          .join(', ')})`;
  const update = `UPDATE triggers SET ${set.join('')} version = version + 1,
                    updated_at_ms = CASE WHEN updated_at_ms > ? THEN updated_at_ms ELSE ? END
                  WHERE id = ? AND version = ? AND paper = ? ${from} RETURNING *`;
  const row = await sql.get(update, ...Object.values(values), atMs, atMs, id, version, flag.write(paper));
  if (row !== null) return { kind: 'advanced', trigger: readTrigger(row) };
  const trigger = await triggerById(sql, id);
  if (trigger === null || trigger.paper !== paper) return { kind: 'no_such_trigger' };
  if (trigger.version === version) throw new RangeError(`trigger ${id} cannot go from ${trigger.state} to ${String(state)}`);
  return { kind: 'stale', trigger };
}
