import type { LaneCounters } from '../send/lane.ts';
import type { OpenOrder } from '../model/order.ts';
import type { OpenByState } from './followed-orders.ts';
import type { FollowerCounters } from './follower-counters.ts';
import type { LandedReader } from '../evidence/landed-reader.ts';

/** What follows orders to their ends, as the rest of the gateway sees it. */
export interface OrderFollower {
  /**
   * Takes up what this gateway held before, then what others left, of the chain with this genesis hash. Tries again where the store
   * cannot be read; resolves when it is done, or with `close`.
   */
  start(genesisHash: string): Promise<void>;
  /** Follows an order that is stored, and whose first round is begun. False where there is no room; then it is taken up later. */
  follow(order: OpenOrder): boolean;
  /** Our own stream shows the transaction in a block, so the nodes are asked at once. Costs a look into a map. */
  seen(signature: string): void;
  readonly hasRoom: boolean;
  /** Orders that are followed now. */
  readonly size: number;
  readonly report: FollowReport;
  /** Ends following; other gateways may take over at once. Never rejects for the store. */
  close(): Promise<void>;
}

/** What it tells of its work, some moments ago. */
export interface FollowReport {
  readonly counters: Readonly<FollowerCounters>;
  readonly openByState: OpenByState;
  readonly reads: LandedReader['counters'];
  readonly lanes: readonly { readonly name: string; readonly counters: Readonly<LaneCounters> }[];
}
