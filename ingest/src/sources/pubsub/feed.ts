import type { Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { SourceCounts, SourceSink } from '../source.ts';

/** What one source reads of transactions from its PubSub connections. */
export interface PubSubFeed {
  /** As in SOURCES. */
  readonly name: string;
  /** It reads whole transactions. */
  readonly showsWhole: boolean;
  readonly subscriptions: readonly Subscription[];
  /** Method of its notifications. */
  readonly method: string;
  /** Reads a frame without parsing it. False for a frame of another kind or form, which is then parsed. */
  takeFrame?(frame: Buffer, receivedUs: number, from: FeedEndpoint): boolean;
  /** Reads a notification that was parsed. */
  takeNotification(params: unknown, receivedUs: number, from: FeedEndpoint): void;
}

/** The endpoint that sent a frame. */
export interface FeedEndpoint {
  /** Its number among the endpoints. */
  readonly index: number;
  readonly sink: SourceSink;
  readonly counts: SourceCounts;
  /** False for a slot that the chain cannot have reached. */
  isPossible(slot: number): boolean;
  /** Counts a frame of an unknown subscription as a fault. */
  checkAsked(subscription: unknown): void;
  /** Counts a frame in an unknown form as a fault. */
  malformed(): void;
  /** The endpoint reported something of this slot that could not be read. */
  missed(slot: number): void;
}
