import { majorityOf } from '@sluice/shared/solana/quorum/votes.ts';

/** An endpoint that confirmed nothing for this long is not waited for: it was not asked, refuses to tell, or is away. */
const silentAfterMs = 3_000;
/** Slots by which endpoints that are well may differ. Votes further below the newest believed count no more. */
const maxBehindSlots = 64;
/** Slots that one endpoint may have confirmed without the others; beyond it its oldest are forgotten. */
const maxOpenVotes = 256;

interface Voter {
  heardAtMs: number;
  /** Slots that it has confirmed and that are not decided, in the order in which it told them. */
  readonly slots: Set<number>;
}

/**
 * The confirmed slots, out of what several endpoints tell: one counts once the majority of the endpoints that tell confirmed slots
 * at all has told it. One that tells a fork of its own, or nothing but inventions, is outvoted by two others; against one
 * other nobody can say which of the two is wrong, and what both have told counts. Pure.
 */
export class Confirmations {
  /** Slots that an endpoint confirmed and too few others ever did. */
  outvoted = 0;
  readonly #voters = new Map<number, Voter>();
  #believed = 0;

  /** True where a slot, told by an endpoint now, is believed by it. */
  take(endpoint: number, slot: number, nowMs: number): boolean {
    const voter = this.#voters.get(endpoint) ?? { heardAtMs: nowMs, slots: new Set() };
    this.#voters.set(endpoint, voter);
    voter.heardAtMs = nowMs;
    if (slot <= this.#believed) return false;
    voter.slots.add(slot);
    if (voter.slots.size > maxOpenVotes) this.#outvote(voter, voter.slots.values().next().value!);
    const present = [...this.#voters.values()].filter(({ heardAtMs }) => nowMs - heardAtMs <= silentAfterMs);
    const votes = present.filter(({ slots }) => slots.has(slot)).length;
    if (votes < majorityOf(present.length)) return false;
    this.#believed = slot;
    for (const one of this.#voters.values()) {
      for (const at of one.slots) {
        if (at === slot) one.slots.delete(at);
        else if (at < slot - maxBehindSlots) this.#outvote(one, at);
      }
    }
    return true;
  }

  #outvote({ slots }: Voter, slot: number): void {
    slots.delete(slot);
    this.outvoted++;
  }
}
