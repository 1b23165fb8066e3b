/** The sums of a window of time. */
export interface WindowSums {
  readonly buys: number;
  readonly sells: number;
  readonly volumeSol: number;
  readonly volumeUsd: number;
}

const minuteS = 60;
/** The number of minutes in a window, including the current one. */
const windowMinutes = { '5m': 5, '1h': 60, '24h': 1440 } as const;
export type WindowName = keyof typeof windowMinutes;
const longestS = windowMinutes['24h'] * minuteS;
/** How far the chain's clock may be ahead of ours, in seconds. A trade further ahead counts in the current minute. */
const maxAheadS = 120;

interface Minute extends WindowSums {
  readonly startS: number;
}

/** The trades of one token in the last day, by minute. Only minutes with trades are stored. */
export class Minutes {
  /** By `startS`, oldest first. */
  #minutes: { -readonly [Field in keyof Minute]: Minute[Field] }[] = [];

  constructor(minutes: readonly Minute[]) {
    this.#minutes = minutes.map(({ startS, buys, sells, volumeSol, volumeUsd }) => ({ startS, buys, sells, volumeSol, volumeUsd }));
  }

  get size(): number {
    return this.#minutes.length;
  }

  add(atS: number, trade: WindowSums, nowS: number): void {
    const inTime = Math.min(atS, nowS + maxAheadS);
    const startS = inTime - (inTime % minuteS);
    let at = this.#minutes.length;
    while (at > 0 && this.#minutes[at - 1]!.startS > startS) at--;
    const found = this.#minutes[at - 1];
    if (found?.startS !== startS) {
      if (startS <= nowS - longestS) return;
      this.#minutes.splice(at, 0, { startS, ...trade });
      this.#prune(nowS);
      return;
    }
    found.buys += trade.buys;
    found.sells += trade.sells;
    found.volumeSol += trade.volumeSol;
    found.volumeUsd += trade.volumeUsd;
  }

  sums(nowS: number): Readonly<Record<WindowName, WindowSums>> {
    const of = (minutes: number): WindowSums => {
      const fromS = nowS - (nowS % minuteS) - (minutes - 1) * minuteS;
      const sum = { buys: 0, sells: 0, volumeSol: 0, volumeUsd: 0 };
      for (let at = this.#minutes.length - 1; at >= 0 && this.#minutes[at]!.startS >= fromS; at--) {
        const minute = this.#minutes[at]!;
        sum.buys += minute.buys;
        sum.sells += minute.sells;
        sum.volumeSol += minute.volumeSol;
        sum.volumeUsd += minute.volumeUsd;
      }
      return sum;
    };
    return { '5m': of(windowMinutes['5m']), '1h': of(windowMinutes['1h']), '24h': of(windowMinutes['24h']) };
  }

  #prune(nowS: number): void {
    let gone = 0;
    while (gone < this.#minutes.length && this.#minutes[gone]!.startS <= nowS - longestS - minuteS) gone++;
    if (gone > 0) this.#minutes = this.#minutes.slice(gone);
  }
}
