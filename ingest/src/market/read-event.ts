import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { solDecimals, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { MigrationEvent, TradeEvent, VenueName } from '@sluice/shared/wire/events.ts';
import { allTradesTopic, migrationsTopic, pricesTopic } from '@sluice/shared/wire/topics.ts';
import { MsgpackFields } from './msgpack-fields.ts';

/** A price tick: its bytes alone, as only the newest of a mint is looked at. */
export interface PriceTick {
  readonly kind: 'price';
  readonly mint: string;
  readonly json: Uint8Array;
}

/** What the market's state takes from the log. */
export type MarketEvent = TradeOrMigration | PriceTick;

/** Amounts in whole coins; times in Unix seconds and microseconds. */
export interface TradeOrMigration {
  readonly kind: 'trade' | 'migration';
  readonly mint: string;
  readonly quoteMint: string;
  /** Of a migration: where it went. */
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly slot: number;
  /** By the chain's clock; when it was received where that is not known. */
  readonly atS: number;
  readonly receivedUs: number;
  readonly late: boolean;
  readonly simulated: boolean;
  readonly priceQuote: number | null;
  readonly priceSol: number | null;
  readonly priceUsd: number | null;
  /** What the pool holds of its quote coin, in SOL; 0 where that cannot be told. */
  readonly depthSol: number;
  /** Of a trade; 0, null and false for a migration. */
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
export function readEvent({ topics, json, msgpack }: Pick<LogEntry, 'topics' | 'json' | 'msgpack'>): MarketEvent | null {
  const topic = topics[0]?.topic ?? '';
  if (topic === allTradesTopic) return readTrade(msgpack, json) ?? readParsed(json);
  if (topic.startsWith(pricesPrefix)) return { kind: 'price', mint: topic.slice(pricesPrefix.length), json };
  return topic === migrationsTopic ? readParsed(json) : null;
}

/** A trade from its MessagePack, whose fields come in the order in which `encodeEvent` writes them; null where they don't. */
function readTrade(msgpack: Uint8Array, json: Uint8Array): TradeOrMigration | null {
  const fields = new MsgpackFields(msgpack);
  fields.skip('type');
  fields.skip('id');
  const mint = fields.text('mint');
  const quoteMint = fields.text('quoteMint');
  const pool = fields.text('pool') as VenueName;
  const poolAddress = fields.text('poolAddress');
  fields.skip('signature');
  const slot = fields.number('slot') ?? 0;
  const blockTime = fields.number('blockTime');
  fields.skip('commitment');
  fields.enter('ts');
  const receivedUs = fields.number('received') ?? 0;
  fields.skip('published');
  const late = fields.flag('late');
  const simulated = fields.flag('simulated');
  const isBuy = fields.text('side') === 'buy';
  for (const name of ['trader', 'feePayer', 'baseAmount', 'baseDecimals', 'quoteAmount', 'quoteDecimals']) fields.skip(name);
  const base = fields.number('tokenAmount') ?? 0;
  const sol = fields.number('solAmount');
  const quote = fields.number('quoteUiAmount') ?? 0;
  const priceQuote = fields.number('priceQuote');
  const priceSol = fields.number('priceSol');
  const priceUsd = fields.number('priceUsd');
  for (const name of ['marketCapSol', 'marketCapUsd', 'fees']) fields.skip(name);
  fields.enter('reserves');
  for (const name of ['virtualBase', 'virtualQuote', 'realBase']) fields.skip(name);
  const realQuote = Number(fields.text('realQuote'));
  const completesCurve = fields.flag('curveCompleted');
  if (fields.failed) return null;
  const atS = secondsOf(blockTime, receivedUs);
  const depthSol = solOf(realQuote, quoteMint, priceQuote, priceSol);
  // One literal: an object put together of parts costs ten times as much.
  return {
    kind: 'trade',
    mint,
    quoteMint,
    pool,
    poolAddress,
    slot,
    atS,
    receivedUs,
    late,
    simulated,
    priceQuote,
    priceSol,
    priceUsd,
    depthSol,
    isBuy,
    base,
    quote,
    sol,
    completesCurve,
    json,
  };
}

/** The same from any JSON text of a trade or a migration; null where it is none. */
function readParsed(json: Uint8Array): TradeOrMigration | null {
  const event = parse(json);
  if (event === null) return null;
  const isTrade = event.type === 'trade';
  const realQuote = isTrade ? event.reserves.realQuote : event.quoteAmount;
  return {
    kind: event.type,
    mint: event.mint,
    quoteMint: event.quoteMint,
    pool: event.pool,
    poolAddress: event.poolAddress,
    slot: event.slot,
    atS: secondsOf(event.blockTime, event.ts.received),
    receivedUs: event.ts.received,
    late: event.late === true,
    simulated: event.simulated === true,
    priceQuote: event.priceQuote,
    priceSol: event.priceSol,
    priceUsd: event.priceUsd,
    depthSol: solOf(Number(realQuote), event.quoteMint, event.priceQuote, event.priceSol),
    isBuy: isTrade && event.side === 'buy',
    base: isTrade ? event.tokenAmount : 0,
    quote: isTrade ? event.quoteUiAmount : 0,
    sol: isTrade ? event.solAmount : null,
    completesCurve: isTrade && event.curveCompleted === true,
    json,
  };
}

function parse(json: Uint8Array): TradeEvent | MigrationEvent | null {
  try {
    const value = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')) as { readonly type?: unknown };
    return value.type === 'trade' || value.type === 'migration' ? (value as TradeEvent | MigrationEvent) : null;
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
