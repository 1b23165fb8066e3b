import { dropOldest, soon } from '../bounded.ts';
import { requestsLeft } from '../server.ts';

/** Requests in progress at the same time, of all lists together. */
const maxAtOnce = 4;
/** Maximum number of mints that wait in one list. Above it, the oldest is dropped. */
const maxWaiting = 60;
/** No request begins while a smaller share of the key's requests is left. What the visitor does comes first. */
const minShareLeft = 0.5;
const pauseMs = 500;

/** In the order of their importance. */
const lists: RequestQueue[] = [];
let atOnce = 0;
const nextLater = soon(() => next(), pauseMs);

/** Mints about which the page requests something, a few at once. The newest come first. */
export class RequestQueue {
  readonly #load: (mint: string) => Promise<void>;
  readonly #waiting = new Set<string>();
  readonly #underWay = new Set<string>();

  /** `load` never rejects. */
  constructor(load: (mint: string) => Promise<void>) {
    this.#load = load;
    lists.push(this);
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  add(mint: string): void {
    if (this.#waiting.has(mint) || this.#underWay.has(mint)) return;
    this.#waiting.add(mint);
    dropOldest(this.#waiting, maxWaiting);
    next();
  }

  drop(mint: string): void {
    this.#waiting.delete(mint);
  }

  async loadNewest(): Promise<void> {
    const mint = [...this.#waiting].at(-1)!;
    this.#waiting.delete(mint);
    this.#underWay.add(mint);
    await this.#load(mint);
    this.#underWay.delete(mint);
  }
}

function next(): void {
  while (atOnce < maxAtOnce) {
    const list = lists.find(({ hasWaiting }) => hasWaiting);
    if (list === undefined) return;
    if (document.hidden || requestsLeft.share(performance.now()) < minShareLeft) {
      return nextLater();
    }
    atOnce++;
    void loadFrom(list);
  }
}

async function loadFrom(list: RequestQueue): Promise<void> {
  await list.loadNewest();
  atOnce--;
  next();
}
