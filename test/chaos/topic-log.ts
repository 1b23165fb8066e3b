/** How many frames, and the sum of their numbers: two sets of frames of one log with both alike are the same set. */
export interface Tally {
  readonly frames: number;
  readonly sum: number;
}

/** What of a log a client asked for: every frame, those that pass a filter, or those that stand in the end (`confirmed`). */
export type Part = 'all' | 'passing' | 'standing';

const retraction = 'retract ';

/** What stands under the numbers of one topic in one epoch: the same for everybody, or there is a fault. One text an event, however many receive it. */
export class TopicLog {
  /** By `seq`: `<type> <id>`. */
  readonly entries = new Map<number, string>();
  /** When somebody received it first, Unix milliseconds. */
  readonly learnedAtMs = new Map<number, number>();
  readonly #passing = new Set<number>();
  readonly #tallies = new Map<string, Tally>();
  #first = Infinity;
  #last = 0;

  get first(): number {
    return this.#first;
  }

  get last(): number {
    return this.#last;
  }

  /** Somebody was told of every frame from the first to the last. */
  get isWhole(): boolean {
    return this.entries.size === 0 || this.entries.size === this.#last - this.#first + 1;
  }

  add(seq: number, key: string): void {
    // A copy: it may be a view into a whole message, which would be kept with it.
    this.entries.set(seq, Buffer.from(key, 'latin1').toString('latin1'));
    this.learnedAtMs.set(seq, Date.now());
    this.#first = Math.min(this.#first, seq);
    this.#last = Math.max(this.#last, seq);
    this.#tallies.clear();
  }

  /** It passes the filter that clients use. */
  pass(seq: number): void {
    if (this.#passing.has(seq)) return;
    this.#passing.add(seq);
    this.#tallies.clear();
  }

  /** The frames of a part from the one after `after`. */
  tally(part: Part, after: number): Tally {
    const name = `${part} ${after}`;
    const known = this.#tallies.get(name);
    if (known !== undefined) return known;
    let [frames, sum] = [0, 0];
    for (const seq of this.#seqsOf(part)) {
      if (seq <= after) continue;
      frames++;
      sum += seq;
    }
    const tally = { frames, sum };
    this.#tallies.set(name, tally);
    return tally;
  }

  /** The frames of a part behind `after` that `has` does not know. */
  missing(part: Part, after: number, has: (seq: number) => boolean): number[] {
    return [...this.#seqsOf(part)].filter((seq) => seq > after && !has(seq));
  }

  /** The frames from one number to another, one text each. */
  excerpt(from: number, to: number): string[] {
    return Array.from({ length: to - from + 1 }, (_, at) => from + at).map((seq) => {
      const learnedAtMs = this.learnedAtMs.get(seq);
      return `${seq} ${this.entries.get(seq) ?? '-'} ${learnedAtMs === undefined ? '' : new Date(learnedAtMs).toISOString()}`;
    });
  }

  #seqsOf(part: Part): Iterable<number> {
    return part === 'all' ? this.entries.keys() : part === 'passing' ? this.#passing : this.#standing();
  }

  /** In the order of their numbers. */
  *inOrder(): Iterable<readonly [seq: number, key: string]> {
    for (let seq = this.#first; seq <= this.#last; seq++) {
      const key = this.entries.get(seq);
      if (key !== undefined) yield [seq, key];
    }
  }

  #standing(): Iterable<number> {
    const standing = new Map<string, number>();
    for (const [seq, key] of this.inOrder()) {
      if (key.startsWith(retraction)) standing.delete(idOf(key));
      else standing.set(idOf(key), seq);
    }
    return standing.values();
  }
}

/** Of `<type> <id>`. */
export function idOf(key: string): string {
  return key.slice(key.indexOf(' ') + 1);
}

/** One event under two numbers of a log. */
export interface Doubled {
  readonly text: string;
  readonly log: TopicLog;
  readonly seqs: readonly [number, number];
}

export interface Walk {
  /** `<type> <id>` of what was told and not taken back. */
  readonly standing: ReadonlySet<string>;
  /** What is wrong with it, in words. */
  readonly doubled: readonly Doubled[];
  readonly wrong: readonly string[];
  /** Events that were told in one epoch and again in a later one: the log had forgotten them. */
  readonly toldAgain: number;
}

/** Goes through the logs of one topic, epoch by epoch, as a client does that undoes what is taken back. */
export function walk(logs: readonly TopicLog[]): Walk {
  const standing = new Map<string, { readonly key: string; readonly log: TopicLog; readonly seq: number }>();
  const doubled: Doubled[] = [];
  const wrong: string[] = [];
  let toldAgain = 0;
  for (const [at, log] of logs.entries()) {
    for (const [seq, key] of log.inOrder()) {
      const id = idOf(key);
      const before = standing.get(id);
      if (key.startsWith(retraction)) {
        if (before === undefined && at === 0 && log.isWhole && log.first === 1) wrong.push(`${key} at ${seq}, which did not stand`);
        standing.delete(id);
        continue;
      }
      if (before !== undefined) {
        if (before.log === log && log.isWhole)
          doubled.push({ text: `${key} stands at ${before.seq} and at ${seq}`, log, seqs: [before.seq, seq] });
        else toldAgain++;
      }
      standing.set(id, { key, log, seq });
    }
  }
  return { standing: new Set([...standing.values()].map(({ key }) => key)), doubled, wrong, toldAgain };
}
