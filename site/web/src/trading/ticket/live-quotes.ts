import { SluiceError, type QuoteBody } from '@sluice/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { quoting, requestsLeft } from '../../state/server.ts';
import { amountFor, type Side } from './amounts.ts';
import { orderFault } from './order-fault.ts';
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

/** What the visitor asks for. */
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

export interface LiveQuotes {
  readonly buy: SideQuote;
  readonly sell: SideQuote;
  /** The bounds of what is on the screen; null without a quote. */
  readonly boundsOf: (side: Side) => QuoteBounds | null;
  /** The market has left the quote on the screen. Shows `quote` in its place, or requests one. */
  readonly replace: (side: Side, quote: QuoteObject | null) => void;
  /** The wallet has changed. Requests the quotes soon, those that were refused too. */
  readonly refresh: () => void;
  /** A price of the coin has changed. Requests the quotes soon. */
  readonly priceChanged: () => void;
}

const nothing: SideQuote = { shown: null, fault: null };
const sides = ['buy', 'sell'] as const;

/** What a buy and a sell of this amount would give, as the market moves. */
export function useLiveQuotes(terms: QuoteTerms): LiveQuotes {
  const { mint, amount, slippage, publicKey } = terms;
  const key = JSON.stringify([mint, amount, slippage, publicKey]);
  const [drawn, setDrawn] = useState({ key, buy: nothing, sell: nothing });
  const feed = useRef<QuoteFeed | null>(null);
  useEffect(() => {
    const started = new QuoteFeed(terms, (side, quote) => setDrawn((last) => ({ ...blankUnless(key, last), [side]: quote })));
    feed.current = started;
    return () => started.close();
  }, [key]);
  const { buy, sell } = blankUnless(key, drawn);
  return {
    buy,
    sell,
    boundsOf: (side) => (drawn.key === key ? (feed.current?.boundsOf(side) ?? null) : null),
    replace: (side, quote) => feed.current?.replace(side, quote),
    refresh: () => feed.current?.refresh(),
    priceChanged: () => feed.current?.priceChanged(),
  };
}

/** Quotes of other terms are not shown. */
function blankUnless(key: string, drawn: { readonly key: string; readonly buy: SideQuote; readonly sell: SideQuote }): typeof drawn {
  return drawn.key === key ? drawn : { key, buy: nothing, sell: nothing };
}

/** Requests the quotes of both sides again and again while somebody may look at them. */
class QuoteFeed {
  readonly #terms: QuoteTerms;
  readonly #draw: (side: Side, quote: SideQuote) => void;
  readonly #screen: Readonly<Record<Side, ScreenQuotes>> = { buy: new ScreenQuotes(), sell: new ScreenQuotes() };
  readonly #ended = new AbortController();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #startedMs = -Infinity;
  #isRunning = false;
  #activeMs = performance.now();
  /** The earliest times of the next requests. */
  readonly #notBeforeMs: Record<Side, number> = { buy: 0, sell: 0 };

  constructor(terms: QuoteTerms, draw: (side: Side, quote: SideQuote) => void) {
    this.#terms = terms;
    this.#draw = draw;
    const { signal } = this.#ended;
    for (const name of inputs) addEventListener(name, () => this.#wake(), { signal, passive: true });
    document.addEventListener('visibilitychange', () => this.#wake(), { signal });
    this.#timer = setTimeout(() => void this.#run(), typedMs);
  }

  boundsOf(side: Side): QuoteBounds | null {
    return this.#screen[side].boundsAt(performance.now());
  }

  replace(side: Side, quote: QuoteObject | null): void {
    const screen = this.#screen[side];
    const last = screen.current;
    screen.clear();
    if (quote !== null && last !== null) screen.show({ quote, quoteMint: last.quoteMint, readAtMs: performance.now() }, performance.now());
    this.#draw(side, { shown: screen.current, fault: null });
    this.#runIn(soonestMs);
  }

  refresh(): void {
    for (const side of sides) this.#notBeforeMs[side] = 0;
    this.#runIn(soonestMs);
  }

  priceChanged(): void {
    if (requestsLeft.share(performance.now()) >= ampleShare) this.#runIn(soonestMs);
  }

  close(): void {
    this.#ended.abort();
    this.#stopTimer();
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
    if (this.#isRunning || this.#ended.signal.aborted) return;
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
      const { quote, quoteMint, ageMs } = await quoting.quote(body, { signal: this.#ended.signal });
      const nowMs = performance.now();
      const shown = { quote, quoteMint, readAtMs: nowMs - ageMs };
      // A refused order has shown a newer one meanwhile.
      if (screen.current !== null && shown.readAtMs < screen.current.readAtMs) return;
      screen.show(shown, nowMs);
      this.#draw(side, { shown, fault: null });
    } catch (error) {
      if (this.#ended.signal.aborted) return;
      // After a temporary failure the last quote stays, with its age.
      const isRefused = !(error instanceof SluiceError) || !error.retryable;
      if (isRefused) screen.clear();
      this.#notBeforeMs[side] = performance.now() + (isRefused ? refusedMs : Number(error.details['retryAfterMs'] ?? 0));
      this.#draw(side, { shown: screen.current, fault: orderFault(error) });
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
