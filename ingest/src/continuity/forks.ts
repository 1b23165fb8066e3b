import type { SlotVerdict } from '@sluice/shared/market/slot-verdict.ts';
import { nowUs } from '../clock.ts';
import type { Outgoing, PublishableEvent } from '../publisher/outgoing.ts';
import type { TransactionLogs } from '../sources/source.ts';
import type { SlotLedger, Verdict } from './slot-ledger.ts';

/** Slots whose pools are remembered until it is known whether they live: half an hour. Beyond it the oldest is let go. */
const maxSlots = 4_096;
/** Tellings of transactions for another slot than at first, until it is known which one lives. Beyond it the newest are refused, and counted. */
const maxHeld = 10_000;

export interface ForkCounts {
  /** Events that were not told, because their slot was known to be dead before. */
  refused: number;
  /** Transactions that landed again in another slot after theirs died. */
  relanded: number;
  /** Let go for a bound: it is not told live, though its slot may live. */
  forgotten: number;
}

export interface ForksParts {
  readonly ledger: SlotLedger;
  readonly publish: (outgoing: Outgoing) => void;
  /** The slot that this process has told a transaction for last; null where none. */
  readonly toldAt: (signature: string) => number | null;
  /** Told as if it was never seen. */
  readonly retell: (seen: TransactionLogs) => void;
  /** A slot died: nothing more is to be found out of it. */
  readonly abandon: (slot: number) => void;
  /** What was told of a pool counts no more. */
  readonly unsettle: (poolAddress: string) => void;
}

/**
 * What this process makes of forks, whether it leads or not. Events at `processed` of a slot that is dead are not told; what was
 * told of it before the publisher takes back, by the verdict. A transaction that is told for another slot than at first
 * waits until it is known which of the two lives.
 */
export class Forks {
  readonly counts: ForkCounts = { refused: 0, relanded: 0, forgotten: 0 };
  readonly #parts: ForksParts;
  /** Of slots that are not decided, the pools that they changed. */
  readonly #pools = new Map<number, Set<string>>();
  readonly #held = new Map<string, TransactionLogs>();

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

  /** A telling of a transaction for another slot than the one that it was told for. */
  hold(seen: TransactionLogs): void {
    const { ledger, toldAt, retell } = this.#parts;
    const slot = toldAt(seen.signature);
    if (slot === seen.slot || ledger.isDead(seen.slot)) return;
    if (slot === null || ledger.isDead(slot)) {
      this.counts.relanded++;
      retell(seen);
    } else if (ledger.isAlive(slot)) return;
    else if (this.#held.size < maxHeld) this.#held.set(`${seen.signature}@${seen.slot}`, seen);
    else this.counts.forgotten++;
  }

  apply({ alive, dead }: Verdict): void {
    if (alive.length + dead.length === 0) return;
    for (const slot of alive) this.#pools.delete(slot);
    for (const slot of dead) this.#bury(slot);
    this.#say({ alive, dead });
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const seen of held) this.hold(seen);
  }

  /** Every slot up to `to` is decided, but for `unknown`: nobody can say what became of these. */
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
