import type { SlotVerdict } from '@sluice/shared/market/slot-verdict.ts';
import { nowUs } from '@sluice/shared/clock/now-us.ts';
import type { Outgoing, PublishableEvent } from '../publisher/outgoing.ts';
import type { Sighting } from '../sources/sighting.ts';
import type { SlotLedger, Verdict } from './slot-ledger.ts';

/** Slots whose pools are remembered until they are decided: about 14 minutes. Above this limit, the oldest is dropped. */
const maxSlots = 4_096;
/** Sightings of transactions in a second slot, held until one of the two slots is decided. Above this limit, new ones are dropped and counted. */
const maxHeld = 10_000;

export interface ForkCounts {
  /** Events that were not published, because their slot was already known to be dead. */
  refused: number;
  /** Transactions that landed again in another slot after their slot died. */
  relanded: number;
  /** Sightings dropped for the bound: they are not published live, although their slot may live. */
  forgotten: number;
}

export interface ForksParts {
  readonly ledger: SlotLedger;
  readonly publish: (outgoing: Outgoing) => void;
  /** The slot in which this process last saw a transaction; null if it has not seen it. */
  readonly slotOf: (signature: string) => number | null;
  /** Handles a sighting as if its transaction were new. */
  readonly takeAsNew: (sighting: Sighting) => void;
  /** A slot died: nothing more of it is resolved. */
  readonly abandon: (slot: number) => void;
  /** What was published of a pool no longer counts. */
  readonly unsettle: (poolAddress: string) => void;
}

/**
 * Handles forks, whether this process leads or not. Events of a slot that is known to be dead are not published. The publisher retracts
 * those that were published before, when the verdict comes. A transaction that is reported in a second slot waits until one of the two
 * slots is decided.
 */
export class Forks {
  readonly counts: ForkCounts = { refused: 0, relanded: 0, forgotten: 0 };
  readonly #parts: ForksParts;
  /** Pools that undecided slots changed. */
  readonly #pools = new Map<number, Set<string>>();
  readonly #held = new Map<string, Sighting>();

  constructor(parts: ForksParts) {
    this.#parts = parts;
  }

  /** Publishes an event, unless its slot is dead. */
  publish(event: PublishableEvent): void {
    const { ledger, publish } = this.#parts;
    if (event.commitment === 'processed') {
      if (ledger.isDead(event.slot)) {
        this.counts.refused++;
        return;
      }
      if (!ledger.isAlive(event.slot)) this.#note(event);
    }
    publish(event);
  }

  /** Takes a sighting of a transaction in a slot other than its first. */
  hold(sighting: Sighting): void {
    const { ledger, slotOf, takeAsNew } = this.#parts;
    const slot = slotOf(sighting.signature);
    if (slot === sighting.slot || ledger.isDead(sighting.slot)) return;
    if (slot === null || ledger.isDead(slot)) {
      this.counts.relanded++;
      takeAsNew(sighting);
    } else if (ledger.isAlive(slot)) return;
    else if (this.#held.size < maxHeld) this.#held.set(`${sighting.signature}@${sighting.slot}`, sighting);
    else this.counts.forgotten++;
  }

  apply({ alive, dead }: Verdict): void {
    if (alive.length + dead.length === 0) return;
    for (const slot of alive) this.#pools.delete(slot);
    for (const slot of dead) this.#bury(slot);
    this.#say({ alive, dead });
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const sighting of held) this.hold(sighting);
  }

  /** Every slot up to `to` is decided, except for `unknown`, which cannot be decided. */
  decided(to: number, unknown: readonly number[]): void {
    for (const slot of unknown) this.#pools.delete(slot);
    const lost = unknown.length === 0 ? {} : { lost: { from: Math.min(...unknown), to: Math.max(...unknown), signatures: [] } };
    this.#say({ alive: [], dead: [], unknown, decidedTo: to, ...lost });
  }

  #say(verdict: SlotVerdict): void {
    this.#parts.publish({ type: 'slots', ...verdict, ts: { received: nowUs(), published: 0 } });
  }

  #note({ slot, poolAddress }: PublishableEvent): void {
    const pools = this.#pools.get(slot);
    if (pools !== undefined) pools.add(poolAddress);
    else {
      this.#pools.set(slot, new Set([poolAddress]));
      if (this.#pools.size > maxSlots) this.#pools.delete(this.#pools.keys().next().value!);
    }
  }

  #bury(slot: number): void {
    this.#parts.abandon(slot);
    for (const address of this.#pools.get(slot) ?? []) this.#parts.unsettle(address);
    this.#pools.delete(slot);
  }
}
