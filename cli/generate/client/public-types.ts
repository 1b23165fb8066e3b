import { eventSchemas } from '@sluice/shared/wire/events/events.ts';
import { filterSchemas } from '@sluice/shared/wire/stream/filters.ts';
import { Position } from '@sluice/shared/wire/stream/commands.ts';
import { Gap, SubscribedReply } from '@sluice/shared/wire/stream/replies.ts';
import { BatchAnswer, BatchBody, BatchBuy, BatchSell, RefusedOrder } from '@sluice/shared/wire/rest/trading/batch.ts';
import { ErrorAnswer } from '@sluice/shared/wire/rest/answers.ts';
import { Explanation } from '@sluice/shared/wire/rest/explain.ts';
import { paperBalanceEndpoint, paperWalletEndpoint, portfolioEndpoint } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import { Positions } from '@sluice/shared/wire/rest/wallets/positions.ts';
import { QuoteAnswer, QuoteBody } from '@sluice/shared/wire/rest/trading/quote.ts';
import { tokenCandlesEndpoint, tokenTradesEndpoint } from '@sluice/shared/wire/rest/tokens/token-history.ts';
import { tokenHoldersEndpoint, TokenInfo, tokenSearchEndpoint } from '@sluice/shared/wire/rest/tokens/token.ts';
import { BuyBody, OrderObject, orderPageEndpoint, SellBody, TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import { cancelTriggersEndpoint, TriggerBody, TriggerObject, triggerPageEndpoint } from '@sluice/shared/wire/rest/trading/triggers.ts';
import type { Channel } from '@sluice/shared/wire/stream/topics.ts';
import type { SchemaShape } from '@sluice/shared/wire/values/values.ts';

export type NamedShape = readonly [name: string, shape: SchemaShape];

export const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** The names of the event types of each channel. A retraction may follow any of them. */
export const channelEvents: Readonly<Record<Channel, readonly (keyof typeof eventSchemas)[]>> = {
  newTokens: ['newToken', 'tokenMetadata'],
  migrations: ['migration'],
  trades: ['trade'],
  prices: ['price'],
  candles: ['candle'],
  pools: ['poolCreated', 'liquidityAdded', 'liquidityRemoved'],
  programs: ['programEvent', 'programInstruction', 'programAccount'],
  orders: ['order', 'trigger', 'position'],
};

/** The name of the type of an event. `Position` is a place in the stream. */
export function eventName(type: string): string {
  return type === 'position' ? 'PositionChange' : capitalized(type);
}

const named = (schemas: Readonly<Record<string, unknown>>): readonly NamedShape[] =>
  Object.entries(schemas).map(([name, schema]) => [name, schema as SchemaShape]);

/** What a gateway sends to clients. The methods of the clients return the answers. */
export const eventShapes: readonly NamedShape[] = named(eventSchemas).map(([type, shape]) => [eventName(type), shape]);
export const streamShapes: readonly NamedShape[] = named({ Position, Gap });
export const replyShapes: readonly NamedShape[] = named({ ErrorBody: ErrorAnswer, SubscribedReply });
export const rejectedKeyShape = SubscribedReply.properties.rejected.items as SchemaShape;
export const answerShapes: readonly NamedShape[] = named({
  QuoteAnswer,
  TradeAnswer,
  RefusedOrder,
  BatchAnswer,
  OrderObject,
  OrderPage: orderPageEndpoint.answer,
  TriggerObject,
  TriggerPage: triggerPageEndpoint.answer,
  CancelledTriggers: cancelTriggersEndpoint.answer,
  TokenInfo,
  TokenSearch: tokenSearchEndpoint.answer,
  CandlePage: tokenCandlesEndpoint.answer,
  TradePage: tokenTradesEndpoint.answer,
  TokenHolders: tokenHoldersEndpoint.answer,
  Portfolio: portfolioEndpoint.answer,
  Positions,
  PaperWallet: paperWalletEndpoint.answer,
  Explanation,
});

/** What clients send. Filters have the name of their channel. */
export const filterShapes: readonly NamedShape[] = named(filterSchemas);
export const bodyShapes: readonly NamedShape[] = named({
  QuoteBody,
  BuyBody,
  SellBody,
  BatchBuy,
  BatchSell,
  BatchBody,
  TriggerBody,
  PaperWalletBody: paperWalletEndpoint.body,
  PaperBalanceBody: paperBalanceEndpoint.body,
});
export const queryShapes: readonly NamedShape[] = named({
  OrdersQuery: orderPageEndpoint.query,
  TriggersQuery: triggerPageEndpoint.query,
  CancelTriggersQuery: cancelTriggersEndpoint.query,
  TokenSearchQuery: tokenSearchEndpoint.query,
  CandlesQuery: tokenCandlesEndpoint.query,
  TradesQuery: tokenTradesEndpoint.query,
});

/** The schemas in a schema, without those of its fields. */
export function partsOf({ anyOf = [], items, patternProperties = {} }: SchemaShape): readonly SchemaShape[] {
  return [...anyOf, ...(items === undefined ? [] : [items]), ...Object.values(patternProperties)];
}

/** How a language writes types. */
export interface Language {
  readonly literals: (values: readonly unknown[]) => string;
  readonly object: (shape: SchemaShape) => string;
  readonly map: (type: string) => string;
  readonly list: (type: string) => string;
  /** By the name in a schema; without an entry, `any`. */
  readonly words: Readonly<Record<string, string>>;
  readonly any: string;
}

export function typeOf(shape: SchemaShape, language: Language): string {
  const { type = '', const: constant, enum: values, anyOf, items, properties, patternProperties } = shape;
  if (constant !== undefined) return language.literals([constant]);
  if (values !== undefined) return language.literals(values);
  if (anyOf !== undefined) return anyOf.map((one) => typeOf(one, language)).join(' | ');
  if (properties !== undefined) return language.object(shape);
  if (patternProperties !== undefined) return language.map(typeOf(Object.values(patternProperties)[0]!, language));
  return items === undefined ? (language.words[type] ?? language.any) : language.list(typeOf(items, language));
}
