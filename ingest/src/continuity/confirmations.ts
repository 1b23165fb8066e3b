import { majorityOf } from '@sluice/shared/solana/rpc/quorum/votes.ts';

/** An endpoint that confirmed nothing for this long has no vote: it was not asked, refuses, or is down. */
const silentAfterMs = 3_000;
/** Slots by which healthy endpoints may differ. Votes further below the newest accepted slot are ignored. */
const maxBehindSlots = 64;
/** Slots that one endpoint may have confirmed without the others. Above this limit, its oldest are dropped. */
const maxOpenVotes = 256;

interface Voter {
  heardAtMs: number;
  /** Slots that this endpoint has reported as confirmed and that have no majority yet, in the order in which it reported them. */
  readonly slots: Set<number>;
}

/**
 * Counts the votes of endpoints for confirmed slots: a slot is confirmed once the majority of the endpoints that report confirmed slots has reported
 * it. Two others outvote an endpoint that reports a fork of its own or invents slots. With only one other, it is unknown which is wrong, so only what
 * both report is used. It uses no I/O and no clock.
 */
export class Confirmations {
  /** Slots that one endpoint confirmed and too few others. */
  outvoted = 0;
  readonly #voters = new Map<number, Voter>();
  #believed = 0;

  /** Counts the vote of `endpoint` for `slot`. Returns true if this vote makes the slot confirmed. */
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
