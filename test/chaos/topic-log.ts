/** How many frames, and the sum of their numbers. Two sets of frames of one log are the same if both are equal. */
export interface Tally {
  readonly frames: number;
  readonly sum: number;
}

/** Which part of a log a client requested: every frame, those that pass a filter, or those that remain at the end (`confirmed`). */
export type Part = 'all' | 'passing' | 'valid';

const retraction = 'retract ';

/**
 * The frames of one topic in one epoch by number. They are the same for all clients, otherwise there is a fault. One text for each event,
 * however many clients receive it.
 */
export class TopicLog {
  /** By `seq`: `<type> <id>`. */
  readonly entries = new Map<number, string>();
  /** When the first client received it, Unix milliseconds. */
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

  /** Whether clients received every frame from the first to the last. */
  get isWhole(): boolean {
    return this.entries.size === 0 || this.entries.size === this.#last - this.#first + 1;
  }

  add(seq: number, key: string): void {
    // A copy, because it may be a view into a whole message, which would then stay in memory.
    this.entries.set(seq, Buffer.from(key, 'latin1').toString('latin1'));
    this.learnedAtMs.set(seq, Date.now());
    this.#first = Math.min(this.#first, seq);
    this.#last = Math.max(this.#last, seq);
    this.#tallies.clear();
  }

  /** Whether it passes the filter that clients use. */
  pass(seq: number): void {
    if (this.#passing.has(seq)) return;
    this.#passing.add(seq);
    this.#tallies.clear();
  }

  /** The frames of a part after `after`. */
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

  /** The frames of a part after `after` that `has` does not know. */
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
    return part === 'all' ? this.entries.keys() : part === 'passing' ? this.#passing : this.#valid();
  }

  /** In the order of their numbers. */
  *inOrder(): Iterable<readonly [seq: number, key: string]> {
    for (let seq = this.#first; seq <= this.#last; seq++) {
      const key = this.entries.get(seq);
      if (key !== undefined) yield [seq, key];
    }
  }

  #valid(): Iterable<number> {
    const valid = new Map<string, number>();
    for (const [seq, key] of this.inOrder()) {
      if (key.startsWith(retraction)) valid.delete(idOf(key));
      else valid.set(idOf(key), seq);
    }
    return valid.values();
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
  /** `<type> <id>` of what was published and not retracted. */
  readonly valid: ReadonlySet<string>;
  /** The faults, one sentence each. */
  readonly doubled: readonly Doubled[];
  readonly wrong: readonly string[];
  /** Events that were published in one epoch and again in a later one, because the log had lost them. */
  readonly publishedAgain: number;
}

/** Reads the logs of one topic, epoch by epoch, as a client does that applies retractions. */
export function walk(logs: readonly TopicLog[]): Walk {
  const valid = new Map<string, { readonly key: string; readonly log: TopicLog; readonly seq: number }>();
  const doubled: Doubled[] = [];
  const wrong: string[] = [];
  let publishedAgain = 0;
  for (const [at, log] of logs.entries()) {
    for (const [seq, key] of log.inOrder()) {
      const id = idOf(key);
      const before = valid.get(id);
      if (key.startsWith(retraction)) {
        if (before === undefined && at === 0 && log.isWhole && log.first === 1) wrong.push(`${key} at ${seq}, which is not in the log`);
        valid.delete(id);
        continue;
      }
      if (before !== undefined) {
        if (before.log === log && log.isWhole)
          doubled.push({ text: `${key} is at ${before.seq} and at ${seq}`, log, seqs: [before.seq, seq] });
        else publishedAgain++;
      }
      valid.set(id, { key, log, seq });
    }
  }
  return { valid: new Set([...valid.values()].map(({ key }) => key)), doubled, wrong, publishedAgain };
}
