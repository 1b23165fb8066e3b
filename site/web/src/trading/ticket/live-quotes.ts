import { SluiceError, type QuoteBody } from '@sluice/client';
import { useMemo, useState } from 'preact/hooks';
import { useSignal } from '../../parts/hooks.ts';
import { quoting, requestsLeft } from '../../state/server.ts';
import { orderFault } from '../orders/words.ts';
import { amountFor, type Side } from './amounts.ts';
import { ScreenQuotes, type QuoteBounds, type QuoteObject, type ShownQuote } from './screen-quotes.ts';

/** A quote is requested this long after the one before, so that it is at most a second old when the next one arrives. */
const everyMs = 750;
/** After a trade it is requested sooner, but not sooner than this after the one before: the gateway reads a market once in 400 ms. */
const soonestMs = 500;
/** If less of the key's limit is left, a change of the price does not make a quote come sooner. */
const ampleShare = 0.4;
/** A quote that was refused, for example because the wallet holds nothing to sell, is requested again after this time. */
const refusedMs = 5_000;
/** The first quote waits until the visitor has typed. */
const typedMs = 250;
/** After this time without any input, nobody looks at the quotes. They stop until the next input. */
const idleMs = 120_000;
/** A number that is worth less, in quote coins, is meant as quote coins to spend, and not as tokens to sell. */
const leastSold = 0.000_001;
const fewestTokens = 1;
const inputs = ['pointermove', 'pointerdown', 'keydown', 'wheel', 'focus'] as const;

export interface QuoteTerms {
  readonly mint: string;
  readonly amount: string;
  readonly slippage: string;
  /** Empty without a wallet. */
  readonly publicKey: string;
}

export interface SideQuote {
  readonly shown: ShownQuote | null;
  /** Why there is no quote, or no newer one. */
  readonly fault: string | null;
}

const nothing: SideQuote = { shown: null, fault: null };
const sides = ['buy', 'sell'] as const;

/** What a buy and a sell of this amount would give, as the market moves. Quotes of other terms are not shown. */
export function useLiveQuotes(terms: QuoteTerms): LiveQuotes {
  const [, setChanges] = useState(0);
  const { mint, amount, slippage, publicKey } = terms;
  const quotes = useMemo(() => new LiveQuotes(terms, () => setChanges((count) => count + 1)), [mint, amount, slippage, publicKey]);
  useSignal([quotes], (signal) => quotes.start(signal));
  return quotes;
}

/** Requests the quotes of both sides again and again while somebody may look at them. */
export class LiveQuotes {
  buy = nothing;
  sell = nothing;
  readonly #terms: QuoteTerms;
  readonly #onChange: () => void;
  readonly #screen: Readonly<Record<Side, ScreenQuotes>> = { buy: new ScreenQuotes(), sell: new ScreenQuotes() };
  #ended: AbortSignal = AbortSignal.abort();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #startedMs = -Infinity;
  #isRunning = false;
  #activeMs = performance.now();
  /** The earliest times of the next requests. */
  readonly #notBeforeMs: Record<Side, number> = { buy: 0, sell: 0 };

  constructor(terms: QuoteTerms, onChange: () => void) {
    this.#terms = terms;
    this.#onChange = onChange;
  }

  start(signal: AbortSignal): void {
    this.#ended = signal;
    for (const name of inputs) addEventListener(name, () => this.#wake(), { signal, passive: true });
    document.addEventListener('visibilitychange', () => this.#wake(), { signal });
    signal.addEventListener('abort', () => this.#stopTimer());
    this.#timer = setTimeout(() => void this.#run(), typedMs);
  }

  /** The bounds of what is on the screen; null without a quote. */
  boundsOf(side: Side): QuoteBounds | null {
    return this.#screen[side].boundsAt(performance.now());
  }

  /** The market has left the quote on the screen. Shows `quote` in its place, or requests one. */
  replace(side: Side, quote: QuoteObject | null): void {
    const screen = this.#screen[side];
    const last = screen.current;
    screen.clear();
    if (quote !== null && last !== null) screen.show({ quote, quoteMint: last.quoteMint, readAtMs: performance.now() }, performance.now());
    this.#draw(side, null);
    this.#runIn(soonestMs);
  }

  /** The wallet has changed. Requests the quotes soon, those that were refused too. */
  refresh(): void {
    for (const side of sides) this.#notBeforeMs[side] = 0;
    this.#runIn(soonestMs);
  }

  /** A price of the coin has changed. Requests the quotes soon. */
  priceChanged(): void {
    if (requestsLeft.share(performance.now()) >= ampleShare) this.#runIn(soonestMs);
  }

  #draw(side: Side, fault: string | null): void {
    this[side] = { shown: this.#screen[side].current, fault };
    this.#onChange();
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #wake(): void {
    this.#activeMs = performance.now();
    if (this.#timer === null && !document.hidden) this.#runIn(soonestMs);
  }

  /** Begins a request this long after the last one began, unless one begins sooner, is under way, or nobody looks. */
  #runIn(ms: number): void {
    if (this.#isRunning || this.#ended.aborted) return;
    if (document.hidden || performance.now() - this.#activeMs > idleMs) return;
    this.#stopTimer();
    this.#timer = setTimeout(() => void this.#run(), Math.max(0, this.#startedMs + ms - performance.now()));
  }

  async #run(): Promise<void> {
    this.#timer = null;
    this.#isRunning = true;
    this.#startedMs = performance.now();
    await Promise.all(sides.map((side) => this.#read(side)));
    this.#isRunning = false;
    this.#runIn(everyMs);
  }

  async #read(side: Side): Promise<void> {
    const body = bodyOf(side, this.#terms, this.#screen.buy.current?.quote.price ?? 0);
    if (body === null || performance.now() < this.#notBeforeMs[side]) return;
    const screen = this.#screen[side];
    try {
      const { quote, quoteMint, ageMs } = await quoting.quote(body, { signal: this.#ended });
      const nowMs = performance.now();
      const shown = { quote, quoteMint, readAtMs: nowMs - ageMs };
      // A refused order has shown a newer one meanwhile.
      if (screen.current !== null && shown.readAtMs < screen.current.readAtMs) return;
      screen.show(shown, nowMs);
      this.#draw(side, null);
    } catch (error) {
      if (this.#ended.aborted) return;
      // After a temporary failure the last quote stays, with its age.
      const isRefused = !(error instanceof SluiceError) || !error.retryable;
      if (isRefused) screen.clear();
      this.#notBeforeMs[side] = performance.now() + (isRefused ? refusedMs : Number(error.details['retryAfterMs'] ?? 0));
      this.#draw(side, orderFault(error));
    }
  }
}

/** Null if the amount is none of this side. `price`: quote coins for a token; 0 if it is unknown. */
function bodyOf(side: Side, { mint, amount, slippage, publicKey }: QuoteTerms, price: number): QuoteBody | null {
  const asked = amountFor(side, amount);
  if (asked === null || (typeof asked === 'string' && publicKey === '')) return null;
  if (side === 'sell' && Number(asked) < fewestTokens && Number(asked) * price < leastSold) return null;
  return { side, mint, amount: asked, slippage: Number(slippage), ...(side === 'sell' && publicKey !== '' && { publicKey }) };
}
