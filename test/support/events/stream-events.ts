import { LogEntry, type BusEntry } from '@sluice/shared/bus/bus.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import { EventView } from '@sluice/shared/codec/event-view.ts';
import {
  LiquidityRemovedEvent,
  PoolCreatedEvent,
  PriceEvent,
  TradeEvent,
  type CandleEvent,
  type LiquidityEvent,
  type MigrationEvent,
  type NewTokenEvent,
  type StreamEvent,
} from '@sluice/shared/wire/events/events.ts';
import { exampleOf } from '@sluice/shared/wire/documents/openapi/example.ts';
import {
  accountTradesTopic,
  allPoolsTopic,
  allTradesTopic,
  candlesTopic,
  migrationsTopic,
  newTokensTopic,
  poolsTopic,
  pricesTopic,
  programsTopic,
  tradesTopic,
} from '@sluice/shared/wire/stream/topics.ts';

/** A valid address made from a number. */
export function addressOf(n: number): string {
  const bytes = new Uint8Array(32).fill(7);
  new DataView(bytes.buffer).setUint32(0, n + 1);
  return encodeBase58(bytes);
}

let made = 0;

/** A signature of its own for every call: 64 bytes, base58. */
function signatureOf(n = made++): string {
  const bytes = new Uint8Array(64).fill(9);
  new DataView(bytes.buffer).setUint32(0, n + 1);
  return encodeBase58(bytes);
}

function common(mint: string) {
  const signature = signatureOf();
  const us = Math.round((performance.timeOrigin + performance.now()) * 1000);
  return {
    id: `${signature}:2.1`,
    mint,
    quoteMint: wrappedSolMint,
    pool: 'pump',
    poolAddress: addressOf(900_001),
    signature,
    slot: 380_146_923,
    blockTime: 1_795_248_000,
    commitment: 'processed',
    ts: { received: us - 300, published: us },
  } as const;
}

const valuation = { priceQuote: 3.06e-8, priceSol: 3.06e-8, priceUsd: 0.0000048, marketCapSol: 30.6, marketCapUsd: 4800 } as const;
const reserves = {
  virtualBase: '1005937500000001',
  virtualQuote: '31999999999',
  realBase: '726037500000001',
  realQuote: '1999999999',
} as const;

// The schemas' examples give a value to each new field, so that no test needs a change.
const tradeExample = exampleOf(TradeEvent) as unknown as TradeEvent;
const priceExample = exampleOf(PriceEvent) as unknown as PriceEvent;

export function tradeEvent(mint: string, changes: Partial<TradeEvent> = {}): TradeEvent {
  return {
    ...tradeExample,
    ...common(mint),
    side: 'buy',
    trader: addressOf(500_000),
    feePayer: null,
    baseAmount: '30589322786086',
    baseDecimals: 6,
    quoteAmount: '2629842459',
    quoteDecimals: 9,
    tokenAmount: 30589322.786086,
    solAmount: 2.629842459,
    quoteUiAmount: 2.629842459,
    ...valuation,
    priceQuoteBefore: null,
    fees: [
      { kind: 'protocol', amount: '19000000', bps: 95, mint: wrappedSolMint },
      { kind: 'creator', amount: '6000000', bps: 30, mint: wrappedSolMint },
    ],
    feeTotal: '25000000',
    reserves,
    ...changes,
  };
}

export function priceEvent(mint: string, changes: Partial<PriceEvent> = {}): PriceEvent {
  return {
    ...priceExample,
    ...common(mint),
    source: 'trade',
    ...valuation,
    solUsd: { price: 158.2, slot: 380_146_900, ageMs: 900 },
    reserves,
    ...changes,
  };
}

export function newTokenEvent(mint: string, changes: Partial<NewTokenEvent> = {}): NewTokenEvent {
  return {
    type: 'newToken',
    ...common(mint),
    quoteSymbol: 'SOL',
    name: 'America First Coalition',
    symbol: 'AMERICA',
    uri: 'https://metadata.example.com/b14043e1.json',
    creator: addressOf(600_000),
    trader: addressOf(600_000),
    tokenProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
    bondingCurve: addressOf(900_001),
    platform: null,
    supply: '1000000000000000',
    decimals: 6,
    initialBuy: {
      trader: addressOf(600_000),
      baseAmount: '67062499999999',
      quoteAmount: '2000000000',
      tokenAmount: 67062499.999999,
      solAmount: 2,
    },
    ...valuation,
    reserves,
    traits: [],
    creatorFeeBps: 30,
    ...changes,
  };
}

export function migrationEvent(mint: string, changes: Partial<MigrationEvent> = {}): MigrationEvent {
  return {
    type: 'migration',
    ...common(mint),
    pool: 'pump-amm',
    poolAddress: addressOf(900_002),
    from: { pool: 'pump', poolAddress: addressOf(900_001) },
    baseAmount: '206900000000000',
    baseDecimals: 6,
    quoteAmount: '84990359679',
    quoteDecimals: 9,
    solAmount: 84.990359679,
    migrationFee: '15000001',
    ...valuation,
    ...changes,
  };
}

const removedExample = exampleOf(LiquidityRemovedEvent) as unknown as LiquidityEvent;
const openedExample = exampleOf(PoolCreatedEvent) as unknown as PoolCreatedEvent;

export function removedEvent(mint: string, changes: Partial<LiquidityEvent> = {}): LiquidityEvent {
  return { ...removedExample, ...common(mint), ...valuation, ...changes };
}

export function poolCreatedEvent(mint: string, changes: Partial<PoolCreatedEvent> = {}): PoolCreatedEvent {
  return { ...openedExample, ...common(mint), ...valuation, ...changes };
}

export function candleEvent(mint: string, changes: Partial<CandleEvent> = {}): CandleEvent {
  const { signature: _, ...fields } = common(mint);
  return {
    type: 'candle',
    ...fields,
    id: `${mint}:1m:1795248000:3`,
    signature: null,
    interval: '1m',
    start: 1_795_248_000,
    open: 3.06e-8,
    high: 3.1e-8,
    low: 3e-8,
    close: 3.05e-8,
    openUsd: 0.0000048,
    highUsd: 0.0000049,
    lowUsd: 0.0000047,
    closeUsd: 0.0000048,
    volumeBase: 30_589_322.8,
    volumeQuote: 0.93,
    volumeSol: 0.93,
    volumeUsd: 147.2,
    buys: 2,
    sells: 1,
    trades: 3,
    closed: false,
    ...changes,
  };
}

/** The topics of an event. */
function topicsOf(event: StreamEvent): string[] {
  switch (event.type) {
    case 'trade':
      return [allTradesTopic, tradesTopic(event.mint), accountTradesTopic(event.trader)];
    case 'price':
      return [pricesTopic(event.mint)];
    case 'newToken':
    case 'tokenMetadata':
      return [newTokensTopic];
    case 'migration':
      return [migrationsTopic];
    case 'poolCreated':
    case 'liquidityAdded':
    case 'liquidityRemoved':
      return [allPoolsTopic, poolsTopic(event.mint)];
    case 'candle':
      return [candlesTopic(event.mint, event.interval)];
    case 'programEvent':
    case 'programInstruction':
    case 'programAccount':
      return [programsTopic(event.program)];
    case 'order':
    case 'trigger':
    case 'position':
    case 'retract':
      return [];
  }
}

/** An event as ingest puts it on the bus. */
export function entryOf(event: StreamEvent, topics = topicsOf(event)): BusEntry {
  return { topics, record: encodeEvent(event) };
}

/** An entry as readers of the log get it. Each of its topics has the same seq. */
export function logged({ topics, record }: BusEntry, offset = 1, seq = offset): LogEntry {
  return new LogEntry(
    offset,
    topics.map((topic) => ({ topic, seq })),
    record,
  );
}

/** An event as clients get it in JSON. */
export function jsonOf(event: StreamEvent): Uint8Array {
  return new EventView(encodeEvent(event)).json;
}
