import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { eventLine } from './event-line.ts';
import type { Names } from './names.ts';
import type { Paint } from './paint.ts';

/** A line waits this long for the name of its token. */
const waitMs = 250;
/** Lines that wait. If there are more, the first are printed at once. */
const maxWaiting = 1_000;
const rateEveryMs = 10_000;

interface Waiting {
  readonly event: StreamEvent;
  isReady: boolean;
}

interface Output {
  line(text: string): void;
  /** Rates, for a terminal; null: none are shown. */
  readonly note: ((text: string) => void) | null;
  /** The names of the columns; null: they are not shown. */
  readonly heading: string | null;
  /** Lines after which the heading is printed again. It is asked before each line, because the size of a terminal changes. */
  readonly headingEvery: () => number;
}

/** Prints events as lines in their order, with the names of their tokens, and how many there were. */
export class Printer {
  readonly #names: Names;
  readonly #paint: Paint;
  readonly #output: Output;
  readonly #waiting: Waiting[] = [];
  readonly #beganMs = performance.now();
  #timer: NodeJS.Timeout | null = null;
  #count = { events: 0, buys: 0, sells: 0, sol: 0 };
  #total = 0;
  /** Lines since the heading was printed. */
  #lines = Number.POSITIVE_INFINITY;

  constructor(names: Names, paint: Paint, output: Output) {
    this.#names = names;
    this.#paint = paint;
    this.#output = output;
    if (output.note !== null) this.#timer = setInterval(() => this.#printRate(), rateEveryMs).unref();
  }

  print(event: StreamEvent): void {
    this.#add(event);
    const mint = mintToName(event);
    const reads = mint === null ? null : this.#names.read(mint);
    if (event.type === 'newToken' || event.type === 'tokenMetadata') this.#names.learn(event.mint, event.symbol);
    const entry = { event, isReady: reads === null };
    this.#waiting.push(entry);
    if (this.#waiting.length > maxWaiting) this.#waiting[0]!.isReady = true;
    if (reads !== null) {
      const ready = (): void => {
        clearTimeout(timer);
        entry.isReady = true;
        this.#drain();
      };
      const timer = setTimeout(ready, waitMs);
      void reads.then(ready);
    }
    this.#drain();
  }

  /** Prints what still waits, and the totals. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const entry of this.#waiting) entry.isReady = true;
    this.#drain();
    const seconds = (performance.now() - this.#beganMs) / 1000;
    this.#output.note?.(`${this.#total} events in ${seconds.toFixed(0)} s, ${(this.#total / seconds).toFixed(1)} a second`);
  }

  #drain(): void {
    while (this.#waiting[0]?.isReady === true) {
      const { event } = this.#waiting.shift()!;
      this.#printHeading();
      this.#output.line(eventLine(event, this.#paint, this.#names));
      this.#lines++;
    }
  }

  /** Prints the heading first, and again before it leaves the screen. */
  #printHeading(): void {
    const { heading } = this.#output;
    if (heading === null || this.#lines < this.#output.headingEvery()) return;
    this.#output.line(this.#paint.faint(heading));
    this.#lines = 0;
  }

  #add(event: StreamEvent): void {
    this.#total++;
    this.#count.events++;
    if (event.type !== 'trade') return;
    if (event.side === 'buy') this.#count.buys++;
    else this.#count.sells++;
    // A lying gateway may send a text here.
    this.#count.sol += Number(event.solAmount) || 0;
  }

  #printRate(): void {
    const { events, buys, sells, sol } = this.#count;
    this.#count = { events: 0, buys: 0, sells: 0, sol: 0 };
    const trades = buys + sells === 0 ? '' : `: ${buys} buys, ${sells} sells, ${sol.toFixed(2)} SOL`;
    this.#output.note?.(this.#paint.faint(`-- ${(events / (rateEveryMs / 1000)).toFixed(1)} events a second${trades}`));
  }
}

/** The mint of an event that does not name its token. */
function mintToName(event: StreamEvent): string | null {
  switch (event.type) {
    case 'trade':
    case 'price':
    case 'candle':
    case 'migration':
    case 'poolCreated':
    case 'liquidityAdded':
    case 'liquidityRemoved':
    case 'order':
    case 'trigger':
    case 'position':
      return event.mint;
    default:
      return null;
  }
}
