import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { solDecimals, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { MigrationEvent, PriceEvent, TradeEvent, VenueName } from '@sluice/shared/wire/events.ts';
import { allTradesTopic, migrationsTopic, pricesTopic } from '@sluice/shared/wire/topics.ts';

/** What the market's state takes from an event. Amounts in whole coins; times in Unix seconds and microseconds. */
export interface MarketEvent {
  readonly kind: 'trade' | 'price' | 'migration';
  readonly mint: string;
  readonly quoteMint: string;
  /** Of a migration: where it went. */
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly slot: number;
  /** By the chain's clock; when it was received where that is not known. */
  readonly atS: number;
  readonly receivedUs: number;
  readonly simulated: boolean;
  readonly priceQuote: number | null;
  readonly priceSol: number | null;
  readonly priceUsd: number | null;
  /** What the pool holds of its quote coin, in SOL; 0 where that cannot be told. */
  readonly depthSol: number;
  /** Of a trade; 0, null and false elsewhere. */
  readonly isBuy: boolean;
  readonly base: number;
  readonly quote: number;
  readonly sol: number | null;
  readonly completesCurve: boolean;
  readonly json: Uint8Array;
}

const pricesPrefix = pricesTopic('');
const usdcDecimals = 6;
const maxSeconds = 0xffff_ffff;

/** The event of an entry, told by its topics; null for what the market's state does not take. */
export function readEvent({ topics, json }: Pick<LogEntry, 'topics' | 'json'>): MarketEvent | null {
  const topic = topics[0]?.topic ?? '';
  const isTrade = topic === allTradesTopic;
  if (!isTrade && !topic.startsWith(pricesPrefix) && topic !== migrationsTopic) return null;
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('latin1');
  if (topic !== migrationsTopic) return readHot(text, isTrade, json) ?? readParsed(json);
  return readParsed(json);
}

/**
 * Trades and prices, nearly all of the log, as `encodeEvent` writes them: their fields come in a known order and nothing in them
 * is escaped, so that each is found behind the one before. Some 2 µs; parsing takes 8. Null where it is not of that form.
 */
function readHot(text: string, isTrade: boolean, json: Uint8Array): MarketEvent | null {
  const fields = new Fields(text);
  const mint = fields.text('"mint":"');
  const quoteMint = fields.text('"quoteMint":"');
  const pool = fields.text('"pool":"') as VenueName;
  const poolAddress = fields.text('"poolAddress":"');
  const slot = fields.number('"slot":');
  const blockTime = fields.number('"blockTime":');
  const receivedUs = fields.number('"received":');
  const simulated = fields.isNext(',"published":', ',"simulated":true');
  const isBuy = isTrade && fields.text('"side":"') === 'buy';
  const base = isTrade ? fields.number('"tokenAmount":') : 0;
  const sol = isTrade ? fields.number('"solAmount":') : null;
  const quote = isTrade ? fields.number('"quoteUiAmount":') : 0;
  const priceQuote = fields.number('"priceQuote":');
  const priceSol = fields.number('"priceSol":');
  const priceUsd = fields.number('"priceUsd":');
  const realQuote = fields.text('"realQuote":"');
  const completesCurve = isTrade && fields.isNext('"', ',"curveCompleted":true');
  if (fields.failed || slot === null || receivedUs === null || base === null || quote === null) return null;
  return {
    kind: isTrade ? 'trade' : 'price',
    mint,
    quoteMint,
    pool,
    poolAddress,
    slot,
    atS: secondsOf(blockTime, receivedUs),
    receivedUs,
    simulated,
    priceQuote,
    priceSol,
    priceUsd,
    depthSol: solOf(Number(realQuote), quoteMint, priceQuote, priceSol),
    isBuy,
    base,
    quote,
    sol,
    completesCurve,
    json,
  };
}

/** A cursor over an event's text. */
class Fields {
  failed = false;
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Up to the next quote. */
  text(mark: string): string {
    return this.#value(mark, '"');
  }

  /** Null as such; a number ends at a comma or a brace. */
  number(mark: string): number | null {
    const value = this.#value(mark, ',');
    if (value === 'null') return null;
    const number = Number(value.endsWith('}') ? value.slice(0, -1) : value);
    if (!Number.isFinite(number) || value === '') this.failed = true;
    return number;
  }

  /** Whether `what` stands behind the value of `mark`, up to which only digits come. */
  isNext(mark: string, what: string): boolean {
    let at = this.#text.indexOf(mark, this.#at);
    if (at === -1) {
      this.failed = true;
      return false;
    }
    at += mark.length;
    while (this.#text.charCodeAt(at) >= 0x30 && this.#text.charCodeAt(at) <= 0x39) at++;
    if (this.#text.charCodeAt(at) === 0x7d) at++;
    return this.#text.startsWith(what, at);
  }

  #value(mark: string, end: string): string {
    const markAt = this.#text.indexOf(mark, this.#at);
    const from = markAt + mark.length;
    const to = markAt === -1 ? -1 : this.#text.indexOf(end, from);
    if (to === -1) {
      this.failed = true;
      return '';
    }
    this.#at = to;
    return this.#text.slice(from, to);
  }
}

/** The same from any JSON text of the schema; null where it is none. */
function readParsed(json: Uint8Array): MarketEvent | null {
  const event = parse(json);
  if (event === null) return null;
  const common = {
    mint: event.mint,
    quoteMint: event.quoteMint,
    pool: event.pool,
    poolAddress: event.poolAddress,
    slot: event.slot,
    atS: secondsOf(event.blockTime, event.ts.received),
    receivedUs: event.ts.received,
    simulated: event.simulated === true,
    priceQuote: event.priceQuote,
    priceSol: event.priceSol,
    priceUsd: event.priceUsd,
    isBuy: false,
    base: 0,
    quote: 0,
    sol: null,
    completesCurve: false,
    json,
  } as const;
  const depthOf = (realQuote: string): number => solOf(Number(realQuote), event.quoteMint, event.priceQuote, event.priceSol);
  switch (event.type) {
    case 'trade':
      return {
        ...common,
        kind: 'trade',
        depthSol: depthOf(event.reserves.realQuote),
        isBuy: event.side === 'buy',
        base: event.tokenAmount,
        quote: event.quoteUiAmount,
        sol: event.solAmount,
        completesCurve: event.curveCompleted === true,
      };
    case 'price':
      return { ...common, kind: 'price', depthSol: depthOf(event.reserves.realQuote) };
    case 'migration':
      return { ...common, kind: 'migration', depthSol: depthOf(event.quoteAmount) };
  }
}

function parse(json: Uint8Array): TradeEvent | PriceEvent | MigrationEvent | null {
  try {
    const value = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')) as { readonly type?: unknown };
    return value.type === 'trade' || value.type === 'price' || value.type === 'migration' ? (value as TradeEvent) : null;
  } catch (error) {
    // Not what ingest publishes; the bus carries any bytes.
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}

function secondsOf(blockTime: number | null, receivedUs: number): number {
  const isTime = blockTime !== null && blockTime >= 0 && blockTime <= maxSeconds;
  return isTime ? Math.floor(blockTime) : Math.floor(receivedUs / 1_000_000);
}

/** Raw quote coins in SOL: what they are, or by what the event's prices say of their worth. */
function solOf(raw: number, quoteMint: string, priceQuote: number | null, priceSol: number | null): number {
  if (quoteMint === wrappedSolMint) return raw / 10 ** solDecimals;
  if (quoteMint !== usdcMint || priceQuote === null || priceSol === null || priceQuote === 0) return 0;
  return (raw / 10 ** usdcDecimals) * (priceSol / priceQuote);
}
