import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';

/** The example request of an endpoint. The samples of all languages are made from it. */
export interface SampleRequest {
  /** Of the endpoint. */
  readonly id: string;
  readonly method: string;
  /** `http://127.0.0.1:8080` */
  readonly origin: string;
  readonly url: string;
  /** Values in the path. */
  readonly params: readonly string[];
  /** Parameters in the query that are required. */
  readonly query: JsonObject;
  readonly needsKey: boolean;
  readonly body: JsonObject | null;
  readonly answers: 'json' | 'text' | 'bytes';
}

/** Methods of the client libraries by the id of their endpoint. Python writes them with underscores. */
export const clientMethods: Readonly<Record<string, string>> = {
  quote: 'quote',
  tradeBuy: 'buy',
  tradeSell: 'sell',
  tradeOrder: 'order',
  tradeOrders: 'orders',
  tokenInfo: 'tokenInfo',
  tokenSearch: 'searchTokens',
  tokenCandles: 'candles',
  tokenTrades: 'trades',
  tokenHolders: 'holders',
  portfolio: 'portfolio',
};
