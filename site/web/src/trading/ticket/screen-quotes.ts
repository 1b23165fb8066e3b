import type { QuoteAnswer } from '@sluice/client';

export type QuoteObject = QuoteAnswer['quote'];

export interface ShownQuote {
  readonly quote: QuoteObject;
  readonly quoteMint: string;
  /** When the state behind it was read, in milliseconds of `performance.now()`. */
  readonly readAtMs: number;
}

/** The bounds with which an order is placed. Raw amounts. */
export interface QuoteBounds {
  /** The least to receive. */
  readonly minOut: string;
  /** The amount that was quoted: the most to give. */
  readonly maxIn: string;
}

/** A person who presses a button has not seen a change of the screen within this time before. */
const reactionMs = 500;

/** The quotes of one side that were on the screen during the last moment. */
export class ScreenQuotes {
  #current: ShownQuote | null = null;
  /** Replaced quotes, each with the time of its replacement. */
  #replaced: readonly { readonly shown: ShownQuote; readonly untilMs: number }[] = [];

  get current(): ShownQuote | null {
    return this.#current;
  }

  show(shown: ShownQuote, nowMs: number): void {
    const last = this.#current === null ? [] : [{ shown: this.#current, untilMs: nowMs }];
    this.#replaced = [...this.#seen(nowMs), ...last];
    this.#current = shown;
  }

  clear(): void {
    this.#current = null;
    this.#replaced = [];
  }

  /** The bounds of the quote on the screen, and of those that it has just replaced: the strictest of them. Null without a quote. */
  boundsAt(nowMs: number): QuoteBounds | null {
    if (this.#current === null) return null;
    const { inAmount } = this.#current.quote;
    const same = this.#seen(nowMs).filter(({ shown }) => shown.quote.inAmount === inAmount);
    const minOut = same.reduce((most, { shown }) => larger(most, shown.quote.minOut), this.#current.quote.minOut);
    return { minOut, maxIn: inAmount };
  }

  #seen(nowMs: number) {
    return this.#replaced.filter(({ untilMs }) => nowMs - untilMs < reactionMs);
  }
}

const larger = (one: string, other: string): string => (BigInt(one) > BigInt(other) ? one : other);
