import type { PoolNews } from '@sluice/shared/market/pools/pool-news.ts';
import type { SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { MarketStreamEvent, TokenMetadataEvent } from '@sluice/shared/wire/events/events.ts';
import type { ProgramRecord } from '@sluice/shared/wire/events/program-events.ts';
import {
  accountTradesTopic,
  allPoolsTopic,
  allTradesTopic,
  migrationsTopic,
  newTokensTopic,
  poolsTopic,
  pricesTopic,
  programsTopic,
  tradesTopic,
} from '@sluice/shared/wire/stream/topics.ts';

/** An event from the pipeline. */
export type PublishableEvent = Exclude<MarketStreamEvent, { type: 'candle' }>;

/**
 * The signatures of a confirmed block. `unread`: no endpoint returned the block in time, so the events of its slot stand as they were reported.
 */
export type SlotContents = ReadonlySet<string> | 'unread';

/** Verdicts on slots. They follow all events of these slots. */
export interface SlotNews extends SlotVerdict {
  readonly type: 'slots';
  /** By confirmed slot. A confirmed slot without an entry has no published events. */
  readonly contents?: ReadonlyMap<number, SlotContents>;
  /** Slots whose contents are in the order of the block. */
  readonly inOrder?: ReadonlySet<number>;
  readonly ts: { readonly received: number; published: number };
}

/** A pool was opened, or read from the chain as the main one of its mint. Only the keeper reads it. */
export interface OutgoingPool extends PoolNews {
  readonly type: 'pool';
  readonly ts: { readonly received: number; published: number };
}

/** An event of ingest in the log. */
export type LoggedEvent = PublishableEvent | ProgramRecord;

/** An item that waits to be published. */
export type Outgoing = LoggedEvent | SlotNews | OutgoingPool;

/** Retracts an event, on the topics that carried it. */
export interface Retraction {
  readonly type: 'retract';
  readonly id: string;
  readonly topics: readonly string[];
  /** When it became known. It has no time on the wire. */
  readonly ts: { readonly received: number; published: number };
}

export type LogItem = Outgoing | Retraction;

/** Whether the item is an event that clients get. */
export function isEvent(item: LogItem): item is LoggedEvent {
  return item.type !== 'slots' && item.type !== 'retract' && item.type !== 'pool';
}

const metadataEnding = '.metadata';

/** Id of a token's metadata, from the id of its creation. */
export const metadataIdOf = (creationId: string): string => creationId + metadataEnding;

/** The reverse of `metadataIdOf`. */
export const creationIdOf = ({ id }: TokenMetadataEvent): string => id.slice(0, -metadataEnding.length);

export function topicsOf(event: LoggedEvent): string[] {
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
    case 'programEvent':
    case 'programInstruction':
    case 'programAccount':
      return [programsTopic(event.program)];
  }
}
