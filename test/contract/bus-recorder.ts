import type { BusEntry, BusHandlers, BusSubscriber, LogEntry, LostEntries } from '@sluice/shared/bus/bus.ts';

export type Seen =
  | { readonly kind: 'entry'; readonly entry: LogEntry; readonly replayed: boolean; readonly epoch: string }
  | ({ readonly kind: 'lost' } & Omit<LostEntries, 'last'>)
  | { readonly kind: 'link'; readonly up: boolean };

/**
 * What one subscriber received, checked on arrival against the promises of the bus: offsets are consecutive, and the seqs of every topic are
 * consecutive, unless `onLost` reported otherwise before. `faults` lists each violation.
 */
export class Recorder implements BusHandlers {
  readonly seen: Seen[] = [];
  readonly faults: string[] = [];
  readonly subscriber: BusSubscriber;
  #next: number | null = null;
  #epoch = '';
  readonly #seqs = new Map<string, number>();
  #waiting: { readonly condition: () => boolean; readonly resolve: () => void }[] = [];
  #inHandler = false;

  constructor(subscriber: BusSubscriber) {
    this.subscriber = subscriber;
  }

  get entries(): LogEntry[] {
    return this.seen.flatMap((seen) => (seen.kind === 'entry' ? [seen.entry] : []));
  }

  get lost(): Extract<Seen, { kind: 'lost' }>[] {
    return this.seen.filter((seen) => seen.kind === 'lost');
  }

  /** The received JSON texts, in order. */
  get texts(): string[] {
    return this.entries.map((one) => Buffer.from(one.record).toString().trimEnd());
  }

  onEntry(handed: LogEntry, replayed: boolean): void {
    if (this.#inHandler) this.faults.push(`entry ${handed.offset} arrived during another delivery`);
    this.#inHandler = true;
    const { epoch } = this.subscriber;
    if (this.#epoch !== '' && epoch !== this.#epoch) this.faults.push(`epoch changed without notice before ${handed.offset}`);
    this.#epoch = epoch;
    if (this.#next !== null && handed.offset !== this.#next) this.faults.push(`offset ${handed.offset} instead of ${this.#next}`);
    this.#next = handed.offset + 1;
    for (const { topic, seq } of handed.topics) {
      const before = this.#seqs.get(topic) ?? seq - 1;
      if (seq !== before + 1) this.faults.push(`${topic} ${seq} after ${before}`);
      if (this.subscriber.position(topic) !== seq) this.faults.push(`position of ${topic} is not ${seq}`);
      this.#seqs.set(topic, seq);
    }
    this.#inHandler = false;
    this.#note({ kind: 'entry', entry: handed, replayed, epoch });
  }

  onLost({ last, ...lost }: LostEntries): void {
    if (lost.reason === 'epoch') {
      this.#epoch = this.subscriber.epoch;
      this.#next = last + 1;
      this.#seqs.clear();
    } else {
      if (this.#next !== null && lost.from !== this.#next) this.faults.push(`lost from ${lost.from} instead of ${this.#next}`);
      if (last !== lost.to) this.faults.push(`continues after ${last} instead of ${lost.to}`);
      this.#next = last + 1;
      // The next entry of a topic must follow the position reported now.
      for (const topic of this.#seqs.keys()) this.#seqs.set(topic, this.subscriber.position(topic));
    }
    this.#note({ kind: 'lost', ...lost });
  }

  onEpoch(): void {
    if (this.subscriber.epoch === this.#epoch) this.faults.push('another epoch was reported, but it is the same');
    this.#epoch = this.subscriber.epoch;
  }

  onLink(up: boolean): void {
    this.#note({ kind: 'link', up });
  }

  /** Resolves when the condition is true after an entry was received (or is true now). */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ condition, resolve });
    });
  }

  untilOffset(offset: number): Promise<void> {
    return this.until(() => (this.#next ?? 1) > offset);
  }

  #note(seen: Seen): void {
    this.seen.push(seen);
    const met = this.#waiting.filter(({ condition }) => condition());
    this.#waiting = this.#waiting.filter((wait) => !met.includes(wait));
    for (const { resolve } of met) resolve();
  }
}

/** Starts recording a subscriber from the oldest stored entry. */
export async function record(subscriber: BusSubscriber): Promise<Recorder> {
  const recorder = new Recorder(subscriber);
  await subscriber.start(recorder);
  return recorder;
}

export function entry(text: string, topics: readonly string[] = ['trades'], paddedTo = 0): BusEntry {
  return { topics, record: Buffer.from(text.padEnd(paddedTo)) };
}

export function entries(count: number, prefix: string, topicsOf: (index: number) => readonly string[] = () => ['trades']): BusEntry[] {
  return Array.from({ length: count }, (_, index) => entry(`${prefix}${index}`, topicsOf(index)));
}
