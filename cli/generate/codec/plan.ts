import { PriceEvent, TradeEvent } from '@sluice/shared/wire/events.ts';

/** Nearly all events of the stream are of these types. Only they have generated writers; `packValue` and `JSON.stringify` write the others. */
export const writtenEvents = { TradeEvent, PriceEvent } as const;

/** Readers that take some fields out of an event's MessagePack and skip the others. `ts.received` is a field of the object `ts`. */
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
      'solAmount',
      'quoteUiAmount',
      'priceQuote',
      'priceSol',
      'priceUsd',
      'reserves.realQuote',
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
