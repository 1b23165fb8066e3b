import { nowUs } from '../clock.ts';
import type { Outgoing, PublishableEvent } from '../publisher/publisher.ts';
import type { TransactionLogs } from '../sources/source.ts';
import type { SlotLedger, Verdict } from './slot-ledger.ts';

/** Events kept until their slot is known to live: minutes at full load. Beyond it the oldest slot is let go, and counted. */
const maxKept = 100_000;
/** Transactions told for a second slot, until it is known which one lives. Beyond it the newest are refused, and counted. */
const maxHeld = 10_000;

export interface ForkCounts {
  /** Events taken back. */
  retracted: number;
  /** Events that were not told, because their slot was known to be dead before. */
  refused: number;
  /** Transactions that landed again in another slot after theirs died. */
  relanded: number;
  /** Let go for a bound: were their slot to die, nobody would be told. */
  forgotten: number;
}

export interface ForksParts {
  readonly ledger: SlotLedger;
  readonly publish: (outgoing: Outgoing) => void;
  /** Told as if it was never seen. */
  readonly retell: (seen: TransactionLogs) => void;
  /** What was told of a pool counts no more. */
  readonly unsettle: (poolAddress: string) => void;
  readonly forget: (signature: string) => void;
}

interface Held {
  readonly firstSlot: number;
  readonly seen: TransactionLogs;
}

/**
 * Events at `processed`, until their slot lives or dies: those of a dead slot are taken back. A transaction that is told for
 * another slot than at first waits until it is known which of the two lives.
 */
export class Forks {
  readonly counts: ForkCounts = { retracted: 0, refused: 0, relanded: 0, forgotten: 0 };
  readonly #parts: ForksParts;
  /** By slot, in the order in which they were told. */
  readonly #kept = new Map<number, PublishableEvent[]>();
  #keptCount = 0;
  readonly #held = new Map<string, Held>();

  constructor(parts: ForksParts) {
    this.#parts = parts;
  }

  get kept(): number {
    return this.#keptCount;
  }

  /** Publishes an event, unless its slot is dead. */
  publish(event: PublishableEvent): void {
    const { ledger, publish } = this.#parts;
    if (event.commitment === 'processed') {
      if (ledger.isDead(event.slot)) {
        this.counts.refused++;
        return;
      }
      if (!ledger.isAlive(event.slot)) this.#keep(event);
    }
    publish(event);
  }

  /** Events that another process has told, and that are taken back by this one should their slots die. */
  adopt(events: readonly PublishableEvent[]): void {
    const { ledger } = this.#parts;
    const known = new Set([...this.#kept.values()].flatMap((kept) => kept.map(({ id, slot }) => `${id}@${slot}`)));
    for (const event of events) {
      if (ledger.isAlive(event.slot) || known.has(`${event.id}@${event.slot}`)) continue;
      ledger.told(event.slot, null);
      this.#keep(event);
      if (ledger.isDead(event.slot)) this.#takeBack(event.slot);
    }
  }

  /** Another telling of a transaction, for another slot than the first. */
  hold(seen: TransactionLogs, firstSlot: number): void {
    const { ledger } = this.#parts;
    if (ledger.isAlive(firstSlot) || ledger.isDead(seen.slot)) return;
    if (ledger.isDead(firstSlot)) this.#retell(seen);
    else if (this.#held.size < maxHeld || this.#held.has(seen.signature)) this.#held.set(seen.signature, { firstSlot, seen });
    else this.counts.forgotten++;
  }

  apply({ alive, dead }: Verdict): void {
    for (const slot of alive) this.#drop(slot);
    for (const slot of dead.toReversed()) this.#takeBack(slot);
    if (alive.length + dead.length > 0) this.#parts.publish({ type: 'slots', alive, dead, ts: { received: nowUs(), published: 0 } });
    for (const [signature, { firstSlot, seen }] of this.#held) {
      const { ledger } = this.#parts;
      if (!ledger.isAlive(firstSlot) && !ledger.isDead(firstSlot) && !ledger.isDead(seen.slot)) continue;
      this.#held.delete(signature);
      this.hold(seen, firstSlot);
    }
  }

  #keep(event: PublishableEvent): void {
    const kept = this.#kept.get(event.slot);
    if (kept === undefined) this.#kept.set(event.slot, [event]);
    else kept.push(event);
    this.#keptCount++;
    for (const slot of this.#kept.keys()) {
      if (this.#keptCount <= maxKept) break;
      this.counts.forgotten += this.#drop(slot);
    }
  }

  #drop(slot: number): number {
    const count = this.#kept.get(slot)?.length ?? 0;
    this.#kept.delete(slot);
    this.#keptCount -= count;
    return count;
  }

  #takeBack(slot: number): void {
    const { publish, forget, unsettle } = this.#parts;
    const events = this.#kept.get(slot) ?? [];
    this.#drop(slot);
    // The newest first, so that what a client undoes is always the last thing that it did.
    for (const event of events.toReversed()) {
      this.counts.retracted++;
      publish({ type: 'retract', id: event.id, of: event, ts: { received: nowUs(), published: 0 } });
      if (event.signature !== null) forget(event.signature);
      unsettle(event.poolAddress);
    }
  }

  #retell(seen: TransactionLogs): void {
    this.counts.relanded++;
    this.#parts.forget(seen.signature);
    this.#parts.retell(seen);
  }
}
