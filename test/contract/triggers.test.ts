import type { IdempotencyUse } from '@sluice/gateway/store/order-model/order.ts';
import type { NewTrigger, StoredTrigger, TriggerChange } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { maxTriggerAdvances, type TriggerInsert, type TriggerInsertOutcome } from '@sluice/gateway/store/sql/tables/triggers/triggers.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addressOf } from '../support/events/stream-events.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { newTrigger, triggerTerms } from '../support/triggers/triggers.ts';
import { newPlace, storeInUse, storeKinds, type StorePlace } from './store-harness.ts';

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});

const nowMs = 1_800_000_000_000;
const hourMs = 3_600_000;
const owner = 'key:key';
const wholePage = { owner, paper: false, state: null, mint: null, publicKey: null, before: null, limit: 100 };
const use = (key: string, body = 1, endpoint = 'armTrigger'): IdempotencyUse => ({
  endpoint,
  key,
  fingerprint: new Uint8Array(32).fill(body),
});
const firing = { state: 'firing', progress: { ...newTrigger(0).progress, firing: 1, attempt: 1, firingSinceMs: nowMs } } as const;

describe.each(storeKinds)('triggers in %s', (kind) => {
  let place: StorePlace;
  let store: Store;
  /** Another process, as far as the store can tell. */
  let elsewhere: Store;
  let term: number;
  beforeEach(async () => {
    place = await newPlace(kind, postgres);
    [store, elsewhere] = [await place.open(), await place.open()];
    term = await store.triggers.openTerm(false);
  });
  afterEach(() => place.end());

  const insert = (triggers: readonly NewTrigger[], more: Partial<TriggerInsert> = {}, into = store): Promise<TriggerInsertOutcome> =>
    into.triggers.insert(term, triggers, { idempotency: null, maxArmed: 1_000, ...more });
  const stored = async (...triggers: readonly NewTrigger[]): Promise<readonly StoredTrigger[]> => {
    const outcome = await insert(triggers);
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.kind}`);
    return outcome.triggers;
  };
  const one = async (more: Partial<NewTrigger> = {}): Promise<StoredTrigger> => (await stored(newTrigger(nowMs, more)))[0]!;
  const advance = async (trigger: StoredTrigger, change: TriggerChange, atMs = nowMs): Promise<StoredTrigger> => {
    const outcomes = await store.triggers.advanceAll(term, [{ ...trigger, change, atMs }]);
    if (outcomes === 'fenced') throw new Error('fenced');
    const [outcome] = outcomes;
    if (outcome?.kind !== 'advanced') throw new Error(`not advanced: ${outcome?.kind}`);
    return outcome.trigger;
  };
  const open = async (): Promise<readonly string[]> => (await store.triggers.open(false, null, 1_000)).map(({ id }) => id);
  const idsOf = (triggers: readonly StoredTrigger[]): readonly string[] => triggers.map(({ id }) => id).toSorted();

  it('are returned as stored, with every field, through all of a life', async () => {
    const child = { ...triggerTerms, when: { kind: 'profit', op: '<=', percent: -12.5 } } as const;
    const terms = { ...triggerTerms, ocoGroup: 'a "group"\u0000', childIds: ['trg_child'], expiresAtMs: nowMs + hourMs };
    const parent = newTrigger(nowMs, { accountId: 'account', terms, waitingFor: 'gap' });
    const waits = newTrigger(nowMs, { accountId: 'account', terms: child, state: 'waiting', parentId: parent.id });
    const expected = [parent, waits].map((trigger) => ({ ...trigger, cancelAsked: false, updatedAtMs: nowMs, version: 1 }));
    expect(await stored(parent, waits)).toEqual(expected);
    for (const trigger of expected) expect(await elsewhere.triggers.byId(trigger.id)).toEqual(trigger);
    const cause = { mint: addressOf(9), eventId: 'event', baseAmount: '18446744073709551615', quoteAmount: '1' };
    const progress = { ...firing.progress, nextAtMs: nowMs + 5, cause, parentAmount: '18446744073709551615' };
    const error = { code: 'TRADING_HALTED', message: 'Halted.', detailsJson: '{"a":1}' };
    const begun = await advance(expected[0]!, { state: 'firing', progress, waitingFor: null, late: true }, nowMs + 1);
    expect(begun).toEqual({ ...expected[0], state: 'firing', progress, waitingFor: null, late: true, updatedAtMs: nowMs + 1, version: 2 });
    // A clock that went back does not take the time back.
    const failed = await advance(begun, { state: 'failed', orderId: 'ord_1', error }, nowMs - 1);
    expect(failed).toEqual({ ...begun, state: 'failed', orderId: 'ord_1', error, version: 3 });
    expect(await elsewhere.triggers.byId(failed.id)).toEqual(failed);
    expect(await open()).toEqual([waits.id]);
    expect(await elsewhere.triggers.byId('another')).toBeNull();
  });

  it('are changed by one term only: an older one is fenced in every write, and reads go on', async () => {
    const trigger = await one();
    const newer = await elsewhere.triggers.openTerm(false);
    expect(newer).toBeGreaterThan(term);
    const position = { epoch: 'e', offset: 5 };
    expect(await insert([newTrigger(nowMs)])).toEqual({ kind: 'fenced' });
    expect(await store.triggers.advanceAll(term, [{ ...trigger, change: firing, atMs: nowMs }], [newTrigger(nowMs)])).toBe('fenced');
    expect(await store.triggers.cancel(term, { ids: [trigger.id] }, nowMs)).toBe('fenced');
    expect(await store.triggers.saveCheckpoint(term, position, new Map([[trigger.id, 1]]))).toBe('fenced');
    expect(await store.triggers.byId(trigger.id)).toEqual(trigger);
    expect(await store.triggers.checkpoint(false)).toBeNull();
    expect(await open()).toEqual([trigger.id]);
    expect(await elsewhere.triggers.advanceAll(newer, [{ ...trigger, change: firing, atMs: nowMs }])).toMatchObject([{ kind: 'advanced' }]);
    // A term of the other mode fences nobody, and does not reach triggers of this one.
    const paperTerm = await store.triggers.openTerm(true);
    expect(await elsewhere.triggers.saveCheckpoint(newer, position, new Map())).toBe('stored');
    expect(await store.triggers.advanceAll(paperTerm, [{ ...trigger, version: 2, change: {}, atMs: nowMs }])).toEqual([
      { kind: 'no_such_trigger' },
    ]);
    expect(await store.triggers.cancel(paperTerm, { owner }, nowMs)).toEqual([]);
    await expect(store.triggers.insert(paperTerm, [newTrigger(nowMs)], { idempotency: null, maxArmed: 9 })).rejects.toThrow(RangeError);
  });

  it('has one newest term, even if many are opened at once, and each write of the others is fenced', async () => {
    const handles = [store, elsewhere];
    const terms = await Promise.all(Array.from({ length: 20 }, (_, index) => handles[index % 2]!.triggers.openTerm(false)));
    expect(new Set(terms).size).toBe(20);
    const outcomes = await Promise.all(terms.map((each) => store.triggers.saveCheckpoint(each, { epoch: 'e', offset: each }, new Map())));
    expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1);
    expect(await store.triggers.checkpoint(false)).toEqual({ epoch: 'e', offset: Math.max(...terms) });
  });

  it('fire once, of several attempts that saw the same version', async () => {
    const trigger = await one();
    const attempts = [store, elsewhere].flatMap((each) => Array.from({ length: 10 }, () => each));
    const answers = await Promise.all(
      attempts.map((each) => each.triggers.advanceAll(term, [{ ...trigger, change: firing, atMs: nowMs }])),
    );
    const outcomes = answers.flatMap((answer) => (answer === 'fenced' ? [] : answer));
    expect(outcomes.filter(({ kind: came }) => came === 'advanced')).toHaveLength(1);
    expect(outcomes.filter(({ kind: came }) => came === 'stale')).toHaveLength(19);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ trigger: { state: 'firing', version: 2 } });
  });

  it('either fire or are cancelled, never both', async () => {
    const triggers = await stored(...Array.from({ length: 40 }, () => newTrigger(nowMs)));
    const [cancelled, ...fired] = await Promise.all([
      elsewhere.triggers.cancel(term, { ids: idsOf(triggers.slice(0, 20)) }, nowMs),
      ...triggers.slice(0, 20).map((trigger) => store.triggers.advanceAll(term, [{ ...trigger, change: firing, atMs: nowMs }])),
    ]);
    if (cancelled === 'fenced') throw new Error('fenced');
    expect(cancelled).toHaveLength(20);
    const states = new Map(cancelled.map(({ id, state }) => [id, state]));
    for (const answer of fired) {
      const [outcome] = answer === 'fenced' ? [] : answer;
      if (outcome === undefined || outcome.kind === 'no_such_trigger') throw new Error('no outcome');
      // What the cancellation saw as firing had begun before it. All others are stale.
      const isFiring = states.get(outcome.trigger.id) === 'firing';
      expect(outcome.kind).toBe(isFiring ? 'advanced' : 'stale');
      const now = await store.triggers.byId(outcome.trigger.id);
      expect(now).toMatchObject({ state: isFiring ? 'firing' : 'cancelled', cancelAsked: true });
    }
    expect(await open()).toEqual(expect.arrayContaining([...idsOf(triggers.slice(20))]));
  });

  it('accept no step that a life does not have, and then change nothing', async () => {
    const [trigger, other] = [await one(), await one()];
    const refused = (change: TriggerChange) =>
      store.triggers.advanceAll(term, [
        { ...other, change: { waitingFor: 'hold' }, atMs: nowMs },
        { ...trigger, change, atMs: nowMs },
      ]);
    await expect(refused({ state: 'fired' })).rejects.toThrow(RangeError);
    await expect(refused({ state: 'waiting' })).rejects.toThrow(RangeError);
    const ended = await advance(trigger, { state: 'expired' });
    for (const state of ['armed', 'firing', 'fired', 'cancelled', 'failed'] as const) {
      await expect(advance(ended, { state })).rejects.toThrow(RangeError);
    }
    expect(await store.triggers.byId(other.id)).toEqual(other);
    await expect(insert([newTrigger(nowMs), newTrigger(nowMs, { state: 'firing' })])).rejects.toThrow(RangeError);
    expect(await open()).toEqual([other.id]);
    const many = Array.from({ length: maxTriggerAdvances + 1 }, () => ({ ...other, change: {}, atMs: nowMs }));
    await expect(store.triggers.advanceAll(term, many)).rejects.toThrow(RangeError);
  });

  it('arm children in the transaction that ends their parent', async () => {
    const parent = newTrigger(nowMs);
    const child = newTrigger(nowMs, { state: 'waiting', parentId: parent.id });
    const [first, second] = await stored(parent, child);
    const begun = await advance(first!, firing);
    const armed = { state: 'armed', progress: { ...child.progress, parentAmount: '7' } } as const;
    const next = newTrigger(nowMs, { parentId: parent.id });
    const ends = { ...begun, change: { state: 'fired', orderId: 'ord_1' }, atMs: nowMs } as const;
    const outcomes = await store.triggers.advanceAll(term, [ends, { ...second!, change: armed, atMs: nowMs }], [next]);
    expect(outcomes).toMatchObject([{ trigger: { state: 'fired' } }, { trigger: armed }]);
    expect(await open()).toEqual([child.id, next.id]);
  });

  it('are stored once for a key of an owner, and the key returns the first one as it is now', async () => {
    const requests = Array.from({ length: 12 }, (_, index) =>
      insert([newTrigger(nowMs), newTrigger(nowMs, { state: 'waiting' })], { idempotency: use('one') }, [store, elsewhere][index % 2]),
    );
    const outcomes = await Promise.all(requests);
    const [first] = outcomes.flatMap((outcome) => (outcome.kind === 'stored' ? [outcome.triggers[0]!] : []));
    expect(outcomes.filter((outcome) => outcome.kind === 'stored')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.kind === 'replay')).toHaveLength(11);
    expect(await open()).toHaveLength(2);
    const cancelled = await store.triggers.cancel(term, { ids: [first!.id] }, nowMs);
    expect(await elsewhere.triggers.lookUp(owner, use('one'))).toEqual({ kind: 'replay', trigger: (cancelled as StoredTrigger[])[0] });
    for (const other of [use('one', 2), use('one', 1, 'other')]) {
      expect(await insert([newTrigger(nowMs)], { idempotency: other })).toEqual({ kind: 'mismatch' });
    }
    expect(await store.triggers.lookUp('key:other', use('one'))).toEqual({ kind: 'fresh' });
    expect(await insert([newTrigger(nowMs, { keyId: 'other' })], { idempotency: use('one', 2) })).toMatchObject({ kind: 'stored' });
  });

  it('have a limit for each owner, which ended ones do not count for, and which simultaneous requests cannot exceed', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => insert([newTrigger(nowMs), newTrigger(nowMs, { state: 'waiting' })], { maxArmed: 7 })),
    );
    expect(outcomes.filter((outcome) => outcome.kind === 'stored')).toHaveLength(3);
    expect(outcomes.filter((outcome) => outcome.kind === 'over_limit')).toHaveLength(5);
    expect(await insert([newTrigger(nowMs), newTrigger(nowMs)], { maxArmed: 7 })).toEqual({ kind: 'over_limit', armed: 6 });
    expect(await insert([newTrigger(nowMs, { keyId: 'other' })], { maxArmed: 1 })).toMatchObject({ kind: 'stored' });
    await store.triggers.cancel(term, { owner }, nowMs);
    expect(await store.triggers.countOpen(owner)).toBe(0);
    expect(await insert([newTrigger(nowMs)], { maxArmed: 1 })).toMatchObject({ kind: 'stored' });
  });

  it('are cancelled by id, key, mint or wallet, with what waits for them, and nobody else', async () => {
    const order = triggerTerms.order;
    const at = (change: Partial<typeof order>): Partial<NewTrigger> => ({ terms: { ...triggerTerms, order: { ...order, ...change } } });
    const parent = newTrigger(nowMs, at({ mint: null }));
    const child = newTrigger(nowMs, { state: 'waiting', parentId: parent.id });
    const grandchild = newTrigger(nowMs, { ...at({ mint: addressOf(8) }), state: 'waiting', parentId: child.id });
    await stored(parent, child, grandchild);
    const [foreign, otherMint, otherWallet, otherKey] = [
      await one({ keyId: 'other' }),
      await one(at({ mint: addressOf(8) })),
      await one(at({ publicKey: addressOf(8) })),
      await one({ keyId: 'second', accountId: null }),
    ];
    const cancel = async (which: Parameters<Store['triggers']['cancel']>[1]): Promise<readonly string[]> => {
      const cancelled = await store.triggers.cancel(term, which, nowMs + 9);
      if (cancelled === 'fenced') throw new Error('fenced');
      for (const each of cancelled) {
        expect(each).toMatchObject({ state: 'cancelled', cancelAsked: true, version: 2, updatedAtMs: nowMs + 9 });
        expect(await elsewhere.triggers.byId(each.id)).toEqual(each);
      }
      return idsOf(cancelled);
    };
    expect(await cancel({ ids: [] })).toEqual([]);
    expect(await cancel({ owner, mint: addressOf(8), publicKey: addressOf(8) })).toEqual([]);
    expect(await cancel({ owner: 'key:second', keyId: 'none' })).toEqual([]);
    expect(await cancel({ owner: 'key:second', keyId: 'second' })).toEqual([otherKey.id]);
    expect(await cancel({ owner, publicKey: addressOf(8) })).toEqual([otherWallet.id]);
    // The child of another mint waits for one of this mint.
    expect(await cancel({ owner, mint: addressOf(1) })).toEqual([child.id, grandchild.id]);
    expect(await cancel({ ids: [parent.id, otherMint.id, grandchild.id] })).toEqual([parent.id, otherMint.id].toSorted());
    expect(await open()).toEqual([foreign.id]);
  });

  it('that are firing stay so when they are cancelled, and say that they were asked to end, once', async () => {
    const parent = newTrigger(nowMs);
    const [first] = await stored(parent, newTrigger(nowMs, { state: 'waiting', parentId: parent.id }));
    const begun = await advance(first!, firing);
    const asked = await store.triggers.cancel(term, { ids: [begun.id] }, nowMs + 1);
    // The child protects what the order may still buy.
    expect(asked).toEqual([{ ...begun, cancelAsked: true, updatedAtMs: nowMs + 1, version: 3 }]);
    expect(await store.triggers.cancel(term, { ids: [begun.id] }, nowMs + 2)).toEqual([]);
    expect(await store.triggers.advanceAll(term, [{ ...begun, change: { state: 'armed' }, atMs: nowMs }])).toMatchObject([
      { kind: 'stale', trigger: { cancelAsked: true } },
    ]);
  });

  it('are paged by owner, mode, state, mint and wallet, newest first', async () => {
    const other = addressOf(8);
    const order = { ...triggerTerms.order, mint: other, publicKey: other };
    const triggers = await stored(...Array.from({ length: 7 }, () => newTrigger(nowMs)));
    const moved = await one({ terms: { ...triggerTerms, order } });
    await one({ keyId: 'other' });
    const paperTerm = await store.triggers.openTerm(true);
    const paper = newTrigger(nowMs, { paper: true });
    await store.triggers.insert(paperTerm, [paper], { idempotency: null, maxArmed: 100 });
    const page = async (more: Partial<typeof wholePage> | object): Promise<readonly string[]> =>
      (await elsewhere.triggers.page({ ...wholePage, ...more })).map(({ id }) => id);
    const newest = [...triggers.map(({ id }) => id), moved.id].toReversed();
    expect(await page({})).toEqual(newest);
    expect(await page({ limit: 3 })).toEqual(newest.slice(0, 3));
    expect(await page({ limit: 3, before: newest[2] })).toEqual(newest.slice(3, 6));
    for (const filter of [{ mint: other }, { publicKey: other }]) expect(await page(filter)).toEqual([moved.id]);
    expect(await page({ mint: other, publicKey: addressOf(3) })).toEqual([]);
    expect(await page({ paper: true })).toEqual([paper.id]);
    await advance(moved, { state: 'cancelled' });
    expect(await page({ state: 'cancelled' })).toEqual([moved.id]);
    expect(await page({ state: 'armed' })).toEqual(newest.slice(1));
    const opened = newest.slice(1).toReversed();
    expect((await store.triggers.open(false, null, 3)).map(({ id }) => id)).toEqual(opened.slice(0, 3));
    const rest = await store.triggers.open(false, opened[2]!, 100);
    expect(rest.filter(({ keyId }) => keyId === 'key').map(({ id }) => id)).toEqual(opened.slice(3));
    expect((await store.triggers.open(true, null, 100)).map(({ id }) => id)).toEqual([paper.id]);
  });

  it('store the checkpoint and the watermarks of what is open together', async () => {
    const [trigger, ended] = [await one(), await one()];
    await advance(ended, { state: 'cancelled' });
    const paperTerm = await store.triggers.openTerm(true);
    const position = { epoch: 'epoch', offset: 2 ** 40 };
    const watermarks = new Map([trigger.id, ended.id, 'another'].map((id, index) => [id, 5e-324 + index]));
    expect(await store.triggers.saveCheckpoint(paperTerm, { ...position, offset: 1 }, watermarks)).toBe('stored');
    expect(await elsewhere.triggers.byId(trigger.id)).toEqual(trigger);
    expect(await store.triggers.saveCheckpoint(term, position, watermarks)).toBe('stored');
    // The version stays, because a watermark decides nothing for a writer.
    expect(await elsewhere.triggers.byId(trigger.id)).toEqual({ ...trigger, progress: { ...trigger.progress, watermark: 5e-324 } });
    expect(await elsewhere.triggers.byId(ended.id)).toMatchObject({ progress: { watermark: null } });
    expect(await elsewhere.triggers.checkpoint(false)).toEqual(position);
    expect(await elsewhere.triggers.checkpoint(true)).toEqual({ ...position, offset: 1 });
    // A change of the progress leaves the watermark, even if its writer had read another, and a new term the checkpoint.
    expect(await advance(trigger, { progress: firing.progress })).toMatchObject({ progress: { firing: 1, watermark: 5e-324 } });
    await elsewhere.triggers.openTerm(false);
    expect(await store.triggers.checkpoint(false)).toEqual(position);
  });

  it('forget keys after a day and ended triggers after 400 days in which the store is in use', async () => {
    const until = await storeInUse(await place.database(), nowMs);
    const ended = await one();
    await advance(ended, { state: 'cancelled' });
    await insert([newTrigger(nowMs)], { idempotency: use('one') });
    await until(nowMs + 24 * hourMs);
    await one({ createdAtMs: nowMs + 24 * hourMs });
    expect(await store.triggers.lookUp(owner, use('one'))).toMatchObject({ kind: 'replay' });
    await until(nowMs + 26 * hourMs);
    await one();
    expect(await store.triggers.lookUp(owner, use('one'))).toEqual({ kind: 'fresh' });
    for (let day = 2; day <= 402; day++) await until(nowMs + day * 24 * hourMs);
    expect(await store.triggers.byId(ended.id)).not.toBeNull();
    const before = await open();
    await one({ createdAtMs: nowMs + 402 * 24 * hourMs });
    expect(await store.triggers.byId(ended.id)).toBeNull();
    expect(await open()).toEqual(expect.arrayContaining([...before]));
  });

  it('cancel all of one owner at once, and no others', async () => {
    await insert(
      Array.from({ length: 1_000 }, () => newTrigger(nowMs)),
      { maxArmed: 1_000 },
    );
    const foreign = await one({ keyId: 'other' });
    const cancelled = await store.triggers.cancel(term, { owner }, nowMs);
    expect(cancelled).toHaveLength(1_000);
    expect(await open()).toEqual([foreign.id]);
  });
});
