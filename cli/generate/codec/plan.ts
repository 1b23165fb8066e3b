import {
  CandleEvent,
  MigrationEvent,
  NewTokenEvent,
  PriceEvent,
  RetractEvent,
  TokenMetadataEvent,
  TradeEvent,
} from '@sluice/shared/wire/events.ts';

// `pnpm generate` reads these lists and writes the codec into shared/src/codec. It compiles all programs first, and fails if one of them imports a
// generated name that does not exist yet. So run it before you import a new name.

/** The most frequent events have generated writers. `packValue` and `JSON.stringify` write the others. */
export const writtenEvents = { TradeEvent, PriceEvent } as const;

/** Readers of some fields of an event in MessagePack. `ts.received` is a field of the object `ts`. */
export const fieldReaders = [
  {
    name: 'MarketTradeFields',
    event: 'TradeEvent',
    purpose: 'Fields of a trade that the market keeper reads.',
    fields: [
      'id',
      'mint',
      'quoteMint',
      'pool',
      'poolAddress',
      'slot',
      'blockTime',
      'commitment',
      'ts.received',
      'late',
      'simulated',
      'side',
      'tokenAmount',
      'quoteUiAmount',
      'priceQuote',
      'priceSol',
      'priceUsd',
      'priceQuoteBefore',
      'reserves.virtualQuote',
      'reserves.realQuote',
      'depth',
      'curveCompleted',
    ],
  },
  {
    name: 'MarketPriceFields',
    event: 'PriceEvent',
    purpose: 'Fields of a price tick that the market keeper reads.',
    fields: ['id', 'mint', 'poolAddress', 'slot'],
  },
] as const;

/** Strings and integers that are found in the JSON of these events by a search for the name of the field. */
export const searchedFields = ['type', 'id', 'slot', 'commitment', 'ts.published'] as const;
export const searchedEvents = {
  TradeEvent,
  PriceEvent,
  NewTokenEvent,
  TokenMetadataEvent,
  MigrationEvent,
  CandleEvent,
  RetractEvent,
} as const;
