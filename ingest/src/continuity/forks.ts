import type { SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { Outgoing, PublishableEvent, SlotContents } from '../publisher/outgoing.ts';
import type { SettledSlot } from './settlement.ts';
import type { Sighting, WholeSighting } from '../sources/sighting.ts';
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
  /** Transactions that were reported for a confirmed slot and are not in its block: the bank was replaced. */
  replaced: number;
  /** Transactions that were reported with different contents for one slot. They were read again from the confirmed chain. */
  contested: number;
}

export interface ForksParts {
  readonly ledger: SlotLedger;
  readonly publish: (outgoing: Outgoing) => void;
  /** Settles confirmed slots, which `settled` receives later. Returns false if another process does it. */
  readonly settle: (slots: readonly number[], hasEvents: (slot: number) => boolean) => boolean;
  /** Whether a confirmed slot is not settled yet. */
  readonly isPending: (slot: number) => boolean;
  /** Whether it is known what the block of a slot contains, or that it cannot be read. */
  readonly isKnown: (slot: number) => boolean;
  /** Confirmed slots of events that wait until their block is known. */
  readonly heldSlots: () => readonly number[];
  /** Slots with events in the log whose verdict is missing. */
  readonly undecided: () => readonly number[];
  /** The slot in which this process last saw a transaction; null if it has not seen it. */
  readonly slotOf: (signature: string) => number | null;
  /** Handles a sighting as if its transaction were new. */
  readonly takeAsNew: (sighting: Sighting) => void;
  /** A slot died, or its block has only the transactions `lives` returns true for: nothing more of the others is resolved. */
  readonly abandon: (slot: number, lives?: (signature: string) => boolean) => void;
  /** The transaction was not in the confirmed block of its slot. It may land again. */
  readonly forget: (signature: string) => void;
  /** Publishes a transaction as the confirmed chain has it; as `whole` shows it, if that is not null. */
  readonly reread: (signature: string, slot: number, whole: WholeSighting | null) => void;
  /** What was published of a pool no longer counts. */
  readonly unsettle: (poolAddress: string) => void;
}

/**
 * Handles forks, whether this process leads or not. Events of a slot that is known to be dead are not published. The publisher retracts
 * those that were published before, when the verdict comes. A transaction that is reported in a second slot waits until one of the two
 * slots is decided.
 */
export class Forks {
  readonly counts: ForkCounts = { refused: 0, relanded: 0, forgotten: 0, replaced: 0, contested: 0 };
  readonly #parts: ForksParts;
  /** Slot that is not settled -> pool that its events changed -> signatures of their transactions. */
  readonly #pools = new Map<number, Map<string, Set<string | null>>>();
  readonly #held = new Map<string, Sighting>();
  /** Slots that were just confirmed, before settlement has them. */
  #arriving: ReadonlySet<number> = new Set();
  /** Slot that is not settled -> transactions that were reported with different contents, with those of the confirmed block if a source has it. */
  readonly #contested = new Map<number, Map<string, WholeSighting | null>>();

  constructor(parts: ForksParts) {
    this.#parts = parts;
  }

  /** Publishes an event, unless its slot is dead. */
  publish(event: PublishableEvent): void {
    const { ledger, publish, isKnown } = this.#parts;
    const { commitment, slot } = event;
    if (commitment !== 'processed' || (this.#isSettled(slot) && isKnown(slot))) publish(event);
    else if (ledger.isDead(slot)) this.counts.refused++;
    else {
      this.#note(event);
      publish(event);
      // The first event of a slot may come after the slot was settled. Then the block of the slot was not read.
      if (this.#isSettled(slot)) this.apply({ alive: [slot], dead: [] });
    }
  }

  /** Takes a sighting of a transaction in a slot other than its first. */
  hold(sighting: Sighting): void {
    const { ledger, slotOf, takeAsNew } = this.#parts;
    const slot = slotOf(sighting.signature);
    if (slot === sighting.slot || ledger.isDead(sighting.slot)) return;
    if (slot === null || ledger.isDead(slot)) {
      this.counts.relanded++;
      takeAsNew(sighting);
    } else if (this.#isSettled(slot)) return;
    else if (this.#held.size < maxHeld) this.#held.set(`${sighting.signature}@${sighting.slot}`, sighting);
    else this.counts.forgotten++;
  }

  /**
   * A transaction was reported with other contents than before for the same slot: two banks executed it in another order, or an endpoint is wrong. After
   * the slot is settled, such a report changes nothing.
   */
  contest(signature: string, slot: number, found: WholeSighting | null): void {
    if (this.#parts.ledger.isDead(slot) || this.#isSettled(slot)) return;
    const known = this.#contested.get(slot);
    if (known !== undefined) known.set(signature, found ?? known.get(signature) ?? null);
    else {
      this.#contested.set(slot, new Map([[signature, found]]));
      if (this.#contested.size > maxSlots) this.#contested.delete(this.#contested.keys().next().value!);
    }
  }

  apply({ alive, dead }: Verdict): void {
    if (alive.length + dead.length === 0) return;
    for (const slot of dead) this.#bury(slot);
    if (dead.length > 0) this.#say({ alive: [], dead });
    const arriving = this.#arriving;
    this.#arriving = new Set([...arriving, ...alive]);
    // A transaction of a dead slot may be in one of the confirmed slots. Then that slot has events.
    this.#release();
    const undecided = new Set(this.#parts.undecided());
    const isLeading = this.#parts.settle(alive, (slot) => this.#pools.has(slot) || undecided.has(slot));
    this.#arriving = arriving;
    if (!isLeading) for (const slot of alive) this.#drop(slot);
    this.#release();
  }

  /** Settles slots again of which events are held back. */
  recheck(): void {
    const again = this.#parts.heldSlots().filter((slot) => this.#isSettled(slot));
    if (again.length > 0) this.apply({ alive: again, dead: [] });
  }

  /** Publishes the verdicts of settled slots. What their blocks lack never happened in them. */
  settled(slots: readonly SettledSlot[]): void {
    const { ledger } = this.#parts;
    const verdicts: Verdict[] = [];
    const contents = new Map<number, SlotContents>();
    const contradicted: number[] = [];
    const reread: { readonly signature: string; readonly slot: number; readonly found: WholeSighting | null }[] = [];
    for (const { slot, contents: found } of slots) {
      if (found === 'contradicted') contradicted.push(slot);
      if (found === 'unread' || found === 'contradicted') contents.set(slot, 'unread');
      else if (found !== 'empty') {
        const contested = [...(this.#contested.get(slot) ?? [])].filter(([signature]) => found.signatures.has(signature));
        const certain = new Set(found.signatures);
        for (const [signature] of contested) certain.delete(signature);
        contents.set(slot, certain);
        this.#discard(slot, certain);
        if (found.parentSlot !== null) verdicts.push(ledger.link(slot, found.parentSlot));
        for (const [signature, shown] of contested) {
          this.#parts.forget(signature);
          reread.push({ signature, slot, found: shown });
        }
      }
      this.#drop(slot);
    }
    const alive = slots.flatMap(({ slot }) => (contradicted.includes(slot) ? [] : [slot]));
    this.#say({ alive, dead: [], ...(contradicted.length > 0 && unknownOf(contradicted)) }, contents);
    this.counts.contested += reread.length;
    for (const { signature, slot, found } of reread) this.#parts.reread(signature, slot, found);
    for (const verdict of verdicts) this.apply(verdict);
    this.#release();
  }

  /** Whether it is confirmed, and its block was compared or is not going to be. */
  #isSettled(slot: number): boolean {
    const { ledger, isPending } = this.#parts;
    return ledger.isAlive(slot) && !this.#arriving.has(slot) && !isPending(slot);
  }

  #discard(slot: number, signatures: ReadonlySet<string>): void {
    const { unsettle, forget, abandon } = this.#parts;
    const lives = (signature: string): boolean => signatures.has(signature);
    const pools = [...(this.#pools.get(slot) ?? [])];
    const lacking = new Set(pools.flatMap(([, transactions]) => [...transactions].filter((one) => one !== null && !lives(one))));
    abandon(slot, lives);
    if (lacking.size === 0) return;
    for (const [address, transactions] of pools) {
      for (const one of transactions) if (one === null || lacking.has(one)) unsettle(address);
    }
    for (const signature of lacking) forget(signature!);
    this.counts.replaced += lacking.size;
  }

  #release(): void {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const sighting of held) this.hold(sighting);
  }

  /** Every slot up to `to` is decided, except for `unknown`, which cannot be decided. */
  decided(to: number, unknown: readonly number[]): void {
    for (const slot of unknown) this.#drop(slot);
    this.#say({ alive: [], dead: [], unknown, decidedTo: to, ...(unknown.length > 0 && unknownOf(unknown)) });
  }

  #say(verdict: SlotVerdict, contents: ReadonlyMap<number, SlotContents> = new Map()): void {
    this.#parts.publish({ type: 'slots', ...verdict, contents, ts: { received: nowUs(), published: 0 } });
  }

  #note({ slot, poolAddress, signature }: PublishableEvent): void {
    const pools = this.#pools.get(slot);
    if (pools !== undefined) pools.set(poolAddress, (pools.get(poolAddress) ?? new Set()).add(signature));
    else {
      this.#pools.set(slot, new Map([[poolAddress, new Set([signature])]]));
      if (this.#pools.size > maxSlots) this.#pools.delete(this.#pools.keys().next().value!);
    }
  }

  #drop(slot: number): void {
    this.#pools.delete(slot);
    this.#contested.delete(slot);
  }

  #bury(slot: number): void {
    this.#parts.abandon(slot);
    for (const address of this.#pools.get(slot)?.keys() ?? []) this.#parts.unsettle(address);
    this.#drop(slot);
  }
}

/** Slots that cannot be decided, with the loss that reports them. */
function unknownOf(slots: readonly number[]): Pick<SlotVerdict, 'unknown' | 'lost'> {
  return { unknown: slots, lost: { from: Math.min(...slots), to: Math.max(...slots), signatures: [] } };
}
