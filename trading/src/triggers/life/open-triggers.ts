import type { StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { Met } from './watch.ts';

/** A trigger that has not ended, as this gateway knows it. */
export interface LiveTrigger {
  /** As stored last. */
  trigger: StoredTrigger;
  /** Trades of a followed account that came while an order of an earlier one was on its way. Bounded by the `times` of the trigger. */
  readonly queued: Met[];
  /** What fires it, until that is stored. */
  met: Met | null;
  /** How often in a row the nodes did not agree about the price that met its condition. */
  unconfirmed: number;
  /** When it was found that its condition holds, on the steady clock; null until then, after its order was sent, and after a restart. */
  metAtMs: number | null;
  /** When its next attempt is due, and the earliest time that the last refusal allows for it, on the steady clock. */
  againAtMs: number;
  notBeforeMs: number;
}

/** All triggers that have not ended, with their relations. It is bounded by the limits of the plans. */
export class OpenTriggers {
  readonly #byId = new Map<string, LiveTrigger>();
  readonly #groups = new Map<string, Set<string>>();
  /** Of each group that has one: the trigger whose order is on its way. */
  readonly #holders = new Map<string, string>();
  /** Those with trades that are queued. */
  readonly withQueue = new Set<LiveTrigger>();

  get size(): number {
    return this.#byId.size;
  }

  [Symbol.iterator](): IterableIterator<LiveTrigger> {
    return this.#byId.values();
  }

  get(id: string): LiveTrigger | undefined {
    return this.#byId.get(id);
  }

  /** Takes up a stored trigger, or its newer version. Null if a newer one is known, or if it is unknown and has ended. */
  adopt(trigger: StoredTrigger): LiveTrigger | null {
    const known = this.#byId.get(trigger.id);
    if (known !== undefined) {
      if (trigger.version < known.trigger.version) return null;
      known.trigger = trigger;
      return known;
    }
    const live: LiveTrigger = { trigger, queued: [], met: null, unconfirmed: 0, metAtMs: null, againAtMs: 0, notBeforeMs: 0 };
    const { id } = trigger;
    this.#byId.set(id, live);
    const group = groupOf(trigger);
    if (group !== null) addTo(this.#groups, group, id);
    return live;
  }

  forget(live: LiveTrigger): void {
    const { trigger } = live;
    const { id } = trigger;
    this.#byId.delete(id);
    this.withQueue.delete(live);
    this.release(trigger);
    const group = groupOf(trigger);
    if (group !== null) removeFrom(this.#groups, group, id);
  }

  /** A followed account traded again while an order of an earlier trade was on its way. False: this trade does not fire. */
  queue(live: LiveTrigger, met: Met): boolean {
    const { when } = live.trigger.terms;
    if (when.kind !== 'account' || live.trigger.progress.firing + live.queued.length >= when.times) return false;
    live.queued.push(met);
    this.withQueue.add(live);
    return true;
  }

  /** The next trade that is queued. */
  unqueue(live: LiveTrigger): Met | undefined {
    const next = live.queued.shift();
    if (live.queued.length === 0) this.withQueue.delete(live);
    return next;
  }

  /** The others of its group, without its own children. */
  siblingsOf(trigger: StoredTrigger): readonly LiveTrigger[] {
    const group = groupOf(trigger);
    if (group === null) return [];
    return this.#all(this.#groups.get(group)).filter(({ trigger: { id, parentId } }) => id !== trigger.id && parentId !== trigger.id);
  }

  /** Whether its group lets the trigger place an order: no other one of it has one on its way. */
  mayHold(trigger: StoredTrigger): boolean {
    const group = groupOf(trigger);
    if (group === null) return true;
    const holder = this.#holders.get(group);
    return holder === undefined || holder === trigger.id;
  }

  hold(trigger: StoredTrigger): void {
    const group = groupOf(trigger);
    if (group !== null) this.#holders.set(group, trigger.id);
  }

  release(trigger: StoredTrigger): void {
    const group = groupOf(trigger);
    if (group !== null && this.#holders.get(group) === trigger.id) this.#holders.delete(group);
  }

  #all(ids: ReadonlySet<string> | undefined): readonly LiveTrigger[] {
    return [...(ids ?? [])].flatMap((id) => this.#byId.get(id) ?? []);
  }
}

/** A group is one of a key. */
function groupOf({ keyId, terms: { ocoGroup } }: StoredTrigger): string | null {
  return ocoGroup === null ? null : `${keyId}\n${ocoGroup}`;
}

function addTo(sets: Map<string, Set<string>>, name: string, id: string): void {
  const set = sets.get(name);
  if (set === undefined) sets.set(name, new Set([id]));
  else set.add(id);
}

function removeFrom(sets: Map<string, Set<string>>, name: string, id: string): void {
  const set = sets.get(name);
  set?.delete(id);
  if (set?.size === 0) sets.delete(name);
}
