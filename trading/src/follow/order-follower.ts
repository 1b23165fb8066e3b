import type { LaneCounters } from '../send/lane.ts';
import type { OpenOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { OpenByState } from './followed-orders.ts';
import type { FollowerCounters } from './follower-counters.ts';
import type { LandedReader } from './evidence/landed-reader.ts';

/** Follows orders to their ends. This is the interface for the rest of the gateway. */
export interface OrderFollower {
  /**
   * Takes up the open orders of this gateway and those that other gateways left, if they belong to the chain with this genesis hash. Retries
   * while the store cannot be read. Resolves when that is done, or at `close`.
   */
  start(genesisHash: string): Promise<void>;
  /** Follows a stored order whose first round was sent. Returns false if too many orders are followed; it is then loaded from the store later. */
  follow(order: OpenOrder): boolean;
  /** Our own stream shows the transaction in a block, so the nodes are asked at once. Cheap: one lookup in a set. */
  seen(signature: string): void;
  readonly hasRoom: boolean;
  /** Orders that are followed now. */
  readonly size: number;
  readonly report: FollowReport;
  /** Stops following. Other gateways may take over the orders at once. Does not reject if the store fails. */
  close(): Promise<void>;
}

/** The state of a follower, at most some seconds old. */
export interface FollowReport {
  readonly counters: Readonly<FollowerCounters>;
  readonly openByState: OpenByState;
  readonly reads: LandedReader['counters'];
  readonly lanes: readonly { readonly name: string; readonly counters: Readonly<LaneCounters> }[];
}
