import { Turns } from '../clock/turns.ts';

/** Items that are read between two checks of the time. */
const stepsPerCheck = 4;
/** What may wait. Above these limits, the oldest items are read at once. */
const maxBytes = 16 * 1024 * 1024;
const maxItems = 8_192;

interface Reading<T> {
  read(item: T): void;
  /** Whether a new item may be read before all that wait. */
  mayOvertake(item: T, waiting: readonly T[]): boolean;
}

/**
 * Items that arrived and wait to be read, in their order, except that some overtake. They are read in turns of the event loop, so a whole burst arrives
 * before most of it is read, and what was read goes out while the rest is read.
 */
export class Arrivals<T extends { readonly bytes?: Uint8Array }> {
  readonly #reading: Reading<T>;
  readonly #urgent: T[] = [];
  readonly #others: T[] = [];
  #bytes = 0;
  #isReading = false;

  constructor(reading: Reading<T>) {
    this.#reading = reading;
  }

  push(item: T): void {
    const isUrgent = this.#others.length > 0 && this.#reading.mayOvertake(item, this.#others);
    (isUrgent ? this.#urgent : this.#others).push(item);
    this.#bytes += item.bytes?.length ?? 0;
    while (this.#bytes > maxBytes || this.#others.length > maxItems) this.#readNext();
    if (!this.#isReading) void this.#readAll();
  }

  /** Reads everything at once. */
  readRest(): void {
    while (this.#urgent.length + this.#others.length > 0) this.#readNext();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    const turns = new Turns(stepsPerCheck);
    await turns.pass();
    while (this.#urgent.length + this.#others.length > 0) {
      // What overtook goes out before the others are read.
      const endsTurn = this.#urgent.length === 1;
      this.#readNext();
      if (turns.isOver || endsTurn) await turns.pass();
    }
    this.#isReading = false;
  }

  #readNext(): void {
    const item = (this.#urgent.shift() ?? this.#others.shift())!;
    this.#bytes -= item.bytes?.length ?? 0;
    this.#reading.read(item);
  }
}
