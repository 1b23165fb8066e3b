import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { ConfirmedBlock } from '../sources/blocks/confirmed-block.ts';
import type { Sighting } from '../sources/sighting.ts';
import type { Outgoing, PublishableEvent, SlotContents } from '../publisher/outgoing.ts';
import { Settlement, type SettleBy, type SettledSlot } from './settlement.ts';
import { Confirmations } from './confirmations.ts';
import { GapFiller, type GapFillerParts } from './gap-filler.ts';
import { Unreachable } from '../sources/rpc/listing.ts';
import { SlotLedger, type Verdict } from './slot-ledger.ts';

/** Slots whose pools are remembered until they are decided: about 14 minutes. Above this limit, the oldest is dropped. */
const maxSlots = 4_096;
/** Sightings of transactions in a second slot, held until one of the two slots is decided. Above this limit, new ones are dropped and counted. */
const maxHeld = 10_000;
/** If a slot cannot be decided, it is reported as lost once it is this many slots (about 13 seconds) behind the tip. */
const giveUpAfterSlots = 64;

export interface ContinuityParts extends Omit<GapFillerParts, 'ledger' | 'settlement' | 'recall' | 'decide' | 'clock'> {
  readonly publish: (outgoing: Outgoing) => void;
  readonly clock?: Clock;
  /** Time for settlement. */
  readonly blockClock?: Clock;
  /** How slots are settled: by blocks that are read for it, by those of a source, or by lists of transactions. */
  readonly settleBy?: SettleBy;
}

/**
 * Makes one complete stream of what sources report, whether this process leads or not: follows every slot, and fills gaps. Events of a slot that is known
 * to be dead are not published. The publisher retracts those that were published before, when the verdict comes. A transaction that is reported in a second
 * slot waits until one of the two slots is decided.
 */
export class Continuity {
  readonly #counts = {
    /** Events that were not published, because their slot was already known to be dead. */
    refused: 0,
    /** Transactions that landed again in another slot after their slot died. */
    relanded: 0,
    /** Sightings dropped for the bound: they are not published live, although their slot may live. */
    forgotten: 0,
    /** Transactions that were reported for a confirmed slot and are not in its block: the bank was replaced. */
    replaced: 0,
    /** Transactions that were reported with different contents for one slot. They were read again from the confirmed chain. */
    contested: 0,
  };
  readonly #parts: ContinuityParts;
  readonly #clock: Clock;
  readonly #ledger = new SlotLedger();
  readonly #confirmations = new Confirmations();
  readonly #settlement: Settlement;
  readonly #filler: GapFiller;
  /** Slot that is not settled -> pool that its events changed -> signatures of their transactions. */
  readonly #pools = new Map<number, Map<string, (string | null)[]>>();
  readonly #held = new Map<string, Sighting>();
  /** Slots that were just confirmed, before settlement has them. */
  #arriving: ReadonlySet<number> = new Set();
  /** Slot that is not settled -> transactions that were reported with different contents, or published by what one of these taught. */
  readonly #contested = new Map<number, Set<string>>();

  constructor(parts: ContinuityParts) {
    const { clock = systemClock, blockClock = systemClock, settleBy = 'blocks' } = parts;
    this.#parts = parts;
    this.#clock = clock;
    this.#settlement = new Settlement({ ...parts, settleBy, clock: blockClock, onSettled: (slots) => this.#settled(slots) });
    this.#filler = new GapFiller({
      ...parts,
      clock,
      ledger: this.#ledger,
      settlement: this.#settlement,
      recall: () => this.#apply(this.#ledger.recall(parts.publisher.undecided)),
      decide: (to, tip, listed) => this.#decide(to, tip, listed),
    });
  }

  get stats() {
    const { genesis, blocks } = this.#parts;
    const { pending, readsBlocks } = this.#settlement;
    return {
      /** Genesis hash of the chain. */
      genesis,
      /** The highest slot up to which everything is known to be complete, and the newest confirmed one; 0 before any. */
      watermark: this.#filler.watermark,
      confirmed: this.#ledger.confirmed,
      outvoted: this.#confirmations.outvoted,
      /** Slots by their state. */
      slots: this.#ledger.counts,
      gaps: { ...this.#filler.counts },
      blocks: { ...blocks.counts },
      forks: { ...this.#counts },
      settlement: { ...this.#settlement.counts, pending, readsBlocks },
    };
  }

  /** To be called before any subscription. */
  begin(): void {
    this.#filler.begin();
  }

  run(): Promise<void> {
    return this.#filler.run();
  }

  /** A source sees the chain again after it did not. */
  resumed(): void {
    this.#filler.beginNow();
  }

  /** A source reported a slot. */
  slot(slot: number, parent: number | null): void {
    this.#ledger.report(slot, parent);
  }

  /** An endpoint confirmed a slot. */
  confirmed(endpoint: number, slot: number): void {
    if (this.#confirmations.take(endpoint, slot, this.#clock.steadyMs())) this.#apply(this.#ledger.confirm(slot));
  }

  /** A source read the confirmed block of a slot, which settlement then needs not read. */
  block(slot: number, block: ConfirmedBlock): void {
    this.#settlement.offer(slot, block);
  }

  /** Sightings of a dead slot, and of a bank that was replaced, are ignored. */
  isDead(slot: number, signature: string): boolean {
    return this.#ledger.isDead(slot) || this.#settlement.isLacking(signature, slot);
  }

  /** Takes an event from the pipeline. Publishes it, unless its slot is dead. */
  publish(event: PublishableEvent): void {
    this.#filler.note(event);
    const { publish } = this.#parts;
    const { commitment, slot } = event;
    if (commitment !== 'processed' || (this.#isSettled(slot) && this.#settlement.isKnown(slot))) publish(event);
    else if (this.#ledger.isDead(slot)) this.#counts.refused++;
    else {
      this.#note(event);
      publish(event);
      // The first event of a slot may come after the slot was settled. Then the block of the slot was not read.
      if (this.#isSettled(slot)) this.#apply({ alive: [slot], dead: [] });
    }
  }

  /** Takes a sighting of a transaction in a slot other than its first. */
  seenElsewhere(sighting: Sighting): void {
    const { pipeline } = this.#parts;
    const slot = pipeline.seen.peek(sighting.signature);
    if (slot === sighting.slot || this.#ledger.isDead(sighting.slot)) return;
    if (slot === undefined || this.#ledger.isDead(slot)) {
      this.#counts.relanded++;
      pipeline.seen.set(sighting.signature, sighting.slot);
      pipeline.takeNew(sighting);
    } else if (this.#isSettled(slot)) return;
    else if (this.#held.size < maxHeld) this.#held.set(`${sighting.signature}@${sighting.slot}`, sighting);
    else this.#counts.forgotten++;
  }

  /**
   * A transaction was reported with other contents than before for the same slot: two banks executed it in another order, or an endpoint is wrong. After
   * the slot is settled, such a report changes nothing.
   */
  contested(signature: string, slot: number): void {
    if (this.#ledger.isDead(slot) || this.#isSettled(slot)) return;
    this.#doubt(signature, slot);
    // The report may have taught a false pair or false decimals. Events that were published with these are in doubt too.
    const mayBeFalse = this.#parts.pipeline.unlearn(signature);
    if (mayBeFalse === null) return;
    for (const [at, pools] of this.#pools) {
      const doubted = [...pools].flatMap(([address, signatures]) => (mayBeFalse(address) ? signatures : []));
      for (const one of doubted) if (one !== null) this.#doubt(one, at);
    }
  }

  #doubt(signature: string, slot: number): void {
    const known = this.#contested.get(slot);
    if (known !== undefined) known.add(signature);
    else {
      this.#contested.set(slot, new Set([signature]));
      if (this.#contested.size > maxSlots) this.#contested.delete(this.#contested.keys().next().value!);
    }
  }

  /** Settles slots again of which events are held back. To be called often. */
  recheck(): void {
    const held = this.#parts.publisher.contents?.heldSlots ?? [];
    this.#apply({ alive: held.filter((slot) => this.#isSettled(slot)), dead: [] });
  }

  #apply({ alive, dead }: Verdict): void {
    if (alive.length + dead.length === 0) return;
    for (const slot of dead) this.#bury(slot);
    if (dead.length > 0) this.#say({ alive: [], dead });
    const arriving = this.#arriving;
    this.#arriving = new Set([...arriving, ...alive]);
    // A transaction of a dead slot may be in one of the confirmed slots. Then that slot has events.
    this.#release();
    const undecided = new Set(this.#parts.publisher.undecided);
    const isLeading = this.#settlement.settle(alive, (slot) => this.#pools.has(slot) || undecided.has(slot));
    this.#arriving = arriving;
    if (!isLeading) for (const slot of alive) this.#drop(slot);
    this.#release();
  }

  /**
   * Decides all slots up to the confirmed slot `to` that readers of the log wait for, even if another process published their events: from what the ledger
   * knows, then from the block of the slot itself. `listed`: slots in which nodes list a transaction of our programs. Throws if a block is needed and no
   * endpoint answers. Returns the slots that were given up: each is reported as lost.
   */
  async #decide(to: number, tip: number, listed: ReadonlySet<number>): Promise<readonly number[]> {
    const { publisher, log } = this.#parts;
    const ledger = this.#ledger;
    const undecided = publisher.undecided.filter((slot) => slot <= to);
    this.#apply(ledger.recall(undecided));
    const open = undecided.filter((slot) => !ledger.isDecided(slot));
    const found = await Promise.all(open.map(async (slot) => ({ slot, fate: await this.#settlement.find(slot) })));
    if (found.some(({ fate }) => fate === 'unreachable')) throw new Unreachable('No endpoint answers with a block.');
    const slotsOf = (which: string): number[] => found.flatMap(({ slot, fate }) => (fate === which ? [slot] : []));
    this.#apply(ledger.decide(slotsOf('alive'), slotsOf('dead')));
    const late = slotsOf('unknown').filter((slot) => slot <= tip - giveUpAfterSlots);
    // Lists alone show that a slot is confirmed, if nodes do not have its block any more, or serve none.
    const confirmed = late.filter((slot) => listed.has(slot));
    this.#apply(ledger.decide(confirmed, []));
    const unknown = late.filter((slot) => !listed.has(slot));
    if (unknown.length > 0) log.error({ slots: unknown.slice(0, 16), count: unknown.length }, 'slots_undecided');
    ledger.giveUp(unknown);
    for (const slot of unknown) this.#drop(slot);
    this.#say({ alive: [], dead: [], unknown, decidedTo: to, ...(unknown.length > 0 && unknownOf(unknown)) });
    return unknown;
  }

  /** Publishes the verdicts of settled slots. What their blocks lack never happened in them. */
  #settled(slots: readonly SettledSlot[]): void {
    const { pipeline } = this.#parts;
    const verdicts: Verdict[] = [];
    const contents = new Map<number, SlotContents>();
    const inOrder = new Set<number>();
    const contradicted: number[] = [];
    const reread: (readonly [signature: string, slot: number])[] = [];
    for (const { slot, contents: found } of slots) {
      if (found === 'contradicted') contradicted.push(slot);
      if (found === 'unread' || found === 'contradicted') contents.set(slot, 'unread');
      else if (found !== 'empty') {
        const contested = [...(this.#contested.get(slot) ?? [])].filter((signature) => found.signatures.has(signature));
        const certain = new Set(found.signatures);
        for (const signature of contested) certain.delete(signature);
        contents.set(slot, certain);
        this.#discard(slot, certain);
        if (found.parentSlot !== null) {
          verdicts.push(this.#ledger.link(slot, found.parentSlot));
          inOrder.add(slot);
        }
        for (const signature of contested) {
          this.#forget(signature);
          reread.push([signature, slot]);
        }
      }
      this.#drop(slot);
    }
    const alive = slots.flatMap(({ slot }) => (contradicted.includes(slot) ? [] : [slot]));
    this.#say({ alive, dead: [], ...(contradicted.length > 0 && unknownOf(contradicted)) }, contents, inOrder);
    this.#counts.contested += reread.length;
    for (const one of reread) void pipeline.reread(...one);
    for (const verdict of verdicts) this.#apply(verdict);
    this.#release();
  }

  /** Whether it is confirmed, and its block was compared or is not going to be. */
  #isSettled(slot: number): boolean {
    return this.#ledger.isAlive(slot) && !this.#arriving.has(slot) && !this.#settlement.isPending(slot);
  }

  #discard(slot: number, signatures: ReadonlySet<string>): void {
    const { pipeline } = this.#parts;
    const lives = (signature: string): boolean => signatures.has(signature);
    const pools = [...(this.#pools.get(slot) ?? [])];
    const lacking = new Set(pools.flatMap(([, transactions]) => transactions.filter((one) => one !== null && !lives(one))));
    pipeline.abandon(slot, lives);
    if (lacking.size === 0) return;
    for (const [address, transactions] of pools) {
      for (const one of transactions) if (one === null || lacking.has(one)) pipeline.unsettle(address);
    }
    for (const signature of lacking) this.#forget(signature!);
    this.#counts.replaced += lacking.size;
  }

  /** The transaction was not in the confirmed block of its slot, or not in this form. It may land again. */
  #forget(signature: string): void {
    this.#parts.pipeline.seen.delete(signature);
    this.#filler.forget(signature);
  }

  #release(): void {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const sighting of held) this.seenElsewhere(sighting);
  }

  #say(verdict: SlotVerdict, contents: ReadonlyMap<number, SlotContents> = new Map(), inOrder: ReadonlySet<number> = new Set()): void {
    this.#parts.publish({ type: 'slots', ...verdict, contents, inOrder, ts: { received: nowUs(), published: 0 } });
  }

  #note({ slot, poolAddress, signature }: PublishableEvent): void {
    let pools = this.#pools.get(slot);
    if (pools === undefined) {
      this.#pools.set(slot, (pools = new Map()));
      if (this.#pools.size > maxSlots) this.#pools.delete(this.#pools.keys().next().value!);
    }
    const transactions = pools.get(poolAddress);
    if (transactions === undefined) pools.set(poolAddress, [signature]);
    else if (transactions.at(-1) !== signature) transactions.push(signature);
  }

  #drop(slot: number): void {
    this.#pools.delete(slot);
    this.#contested.delete(slot);
  }

  #bury(slot: number): void {
    const { pipeline } = this.#parts;
    pipeline.abandon(slot);
    for (const address of this.#pools.get(slot)?.keys() ?? []) pipeline.unsettle(address);
    this.#drop(slot);
  }
}

/** Slots that cannot be decided, with the loss that reports them. */
function unknownOf(slots: readonly number[]): Pick<SlotVerdict, 'unknown' | 'lost'> {
  return { unknown: slots, lost: { from: Math.min(...slots), to: Math.max(...slots), signatures: [] } };
}
