import { mostGone, placeIn, type ArmedLevel, type ThresholdList } from './armed.ts';

/** Watches with one watermark. */
interface Group {
  readonly watermark: number;
  /** Lowest threshold first. */
  members: ArmedLevel[];
  /** The highest threshold of this group and of those before it. */
  best: number;
  /** The watermark was not returned by `changedWatermarks` yet. */
  isChanged: boolean;
}

/**
 * Watches whose thresholds follow a watermark. All watermarks below a new one become the same, so they are a stack of groups, and a new watermark costs
 * what it joins.
 */
export class TrailingList implements ThresholdList {
  /** Highest watermark first. */
  #groups: Group[] = [];
  /** Without a watermark. */
  #pending: ArmedLevel[] = [];
  #size = 0;
  #gone = 0;

  get best(): number {
    return this.#groups.at(-1)?.best ?? Number.NEGATIVE_INFINITY;
  }

  add(armed: ArmedLevel): void {
    this.#size++;
    const { watermark } = armed;
    if (watermark === null) {
      this.#pending.push(armed);
      return;
    }
    const groups = this.#groups;
    const at = placeIn(groups.length, (place) => groups[place]!.watermark <= watermark);
    if (groups[at]?.watermark === watermark) insert(groups[at].members, armed);
    else groups.splice(at, 0, { watermark, members: [armed], best: 0, isChanged: false });
    groups[at]!.isChanged ||= armed.isChanged;
    this.#rank(at);
  }

  /** A value that was held. It is the new watermark of all that have a lower one, and the first one of those that are old enough. */
  raise(watermark: number, nowMs: number): void {
    const groups = this.#groups;
    const lowest = groups.at(-1)?.watermark ?? Number.POSITIVE_INFINITY;
    if (this.#pending.length === 0 && lowest >= watermark) return;
    let members: ArmedLevel[] = [];
    for (const armed of this.#pending) if (armed.holdsFromMs <= nowMs) insert(members, armed);
    if (members.length > 0) this.#pending = this.#pending.filter(({ holdsFromMs }) => holdsFromMs > nowMs);
    else if (lowest >= watermark) return;
    for (let top = groups.at(-1); top !== undefined && top.watermark <= watermark; top = groups.at(-1)) {
      groups.pop();
      members = joined(members, top.members);
    }
    groups.push({ watermark, members, best: 0, isChanged: true });
    this.#rank(groups.length - 1);
  }

  takeFrom(key: number): ArmedLevel[] {
    if (this.best < key) return [];
    const taken: ArmedLevel[] = [];
    for (const { watermark, members, isChanged } of this.#groups) {
      for (let last = members.at(-1); last !== undefined && (last.isGone || watermark * last.factor >= key); last = members.at(-1)) {
        members.pop();
        this.#size--;
        if (last.isGone) this.#gone--;
        else {
          last.watermark = watermark;
          last.isChanged = isChanged;
          last.key = watermark * last.factor;
          taken.push(last);
        }
      }
    }
    this.#clean();
    return taken;
  }

  noteGone(): void {
    this.#gone++;
    if (this.#gone <= mostGone + (this.#size >> 1)) return;
    for (const group of this.#groups) group.members = group.members.filter(({ isGone }) => !isGone);
    this.#pending = this.#pending.filter(({ isGone }) => !isGone);
    this.#size -= this.#gone;
    this.#gone = 0;
    this.#clean();
  }

  /** Watermarks since the last call, by id. */
  changedWatermarks(note: (id: string, watermark: number) => void): void {
    for (const group of this.#groups) {
      if (!group.isChanged) continue;
      group.isChanged = false;
      for (const { id, isGone } of group.members) if (!isGone) note(id, group.watermark);
    }
  }

  *all(): Iterable<ArmedLevel> {
    for (const { members } of this.#groups) yield* members;
    yield* this.#pending;
  }

  #clean(): void {
    this.#groups = this.#groups.filter(({ members }) => members.length > 0);
    this.#rank(0);
  }

  /** Computes the best thresholds from this group on. */
  #rank(from: number): void {
    const groups = this.#groups;
    let best = groups[from - 1]?.best ?? Number.NEGATIVE_INFINITY;
    for (let at = from; at < groups.length; at++) {
      const { watermark, members } = groups[at]!;
      const nearest = members.at(-1);
      if (nearest !== undefined) best = Math.max(best, watermark * nearest.factor);
      groups[at]!.best = best;
    }
  }
}

/** Sells fire below their watermark, and buys above it, where both are negative. In both cases the one that is nearest to it fires first. */
const distance = ({ factor }: ArmedLevel): number => Math.abs(1 - factor);

function insert(members: ArmedLevel[], armed: ArmedLevel): void {
  members.splice(
    placeIn(members.length, (at) => distance(members[at]!) < distance(armed)),
    0,
    armed,
  );
}

function joined(some: ArmedLevel[], others: ArmedLevel[]): ArmedLevel[] {
  const [few, many] = some.length < others.length ? [some, others] : [others, some];
  for (const armed of few) insert(many, armed);
  return many;
}
