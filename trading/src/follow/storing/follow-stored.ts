import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { simnetGenesisPrefix } from '@sluice/shared/solana/well-known.ts';
import type { Evidence, OrderError } from '@sluice/gateway/store/order-model/life.ts';
import type { OpenOrder } from '@sluice/gateway/store/order-model/order.ts';
import { maxOrderRows } from '@sluice/gateway/store/sql/tables/orders/order-rows.ts';
import type { FollowingGateway } from '@sluice/gateway/store/sql/tables/orders/order-claims.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { ChainIdentity } from '../../nodes/chain-identity.ts';
import type { ThreadedFollower } from '../thread/threaded-follower.ts';

/** Pause before the next attempt if the store did not answer. */
const againMs = 500;

const chainHasEnded: OrderError = {
  code: 'TRANSACTION_EXPIRED',
  message: 'The simulated chain of this order has ended, so the order cannot land any more.',
  detailsJson: '{}',
};

export interface StoredOrdersParts {
  readonly chain: Pick<ChainIdentity, 'known'>;
  readonly follower: Pick<ThreadedFollower, 'start'>;
  readonly orders: Pick<OrderTable, 'openElsewhere'>;
  readonly ledger: { apply(order: OpenOrder, evidence: Evidence): Promise<OpenOrder> };
  readonly gatewayId: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Lets the follower load the open orders of the nodes' chain, as soon as that chain is known and the store answers. Orders of other simulated chains
 * end: such a chain ends with its process. Those of other clusters stay as they are, because these nodes cannot report what became of them. Resolves
 * when that is done, or when `signal` fires.
 */
export async function followStoredOrders(parts: StoredOrdersParts): Promise<void> {
  const { chain, follower, gatewayId, log, signal } = parts;
  const genesisHash = await chain.known;
  if (genesisHash === null) return;
  const steps = [() => follower.start(genesisHash), () => endVanished(parts, { gatewayId, genesisHash })];
  for (const step of steps) {
    for (let isDone = false; !isDone && !signal.aborted;) {
      try {
        await step();
        isDone = true;
      } catch (error) {
        log.error({ err: error }, 'stored_orders_not_followed');
        await pause(againMs, signal);
      }
    }
  }
}

/** Ends the orders of simulated chains that do not exist any more. */
async function endVanished({ orders, ledger, log, signal }: StoredOrdersParts, gateway: FollowingGateway): Promise<void> {
  let [left, after] = [0, null as string | null];
  for (;;) {
    const found = await orders.openElsewhere(gateway, after, maxOrderRows);
    for (const order of found) {
      if (signal.aborted) return;
      if (order.genesisHash?.startsWith(simnetGenesisPrefix) === true) {
        await ledger.apply(order, { kind: 'expired', error: chainHasEnded });
      } else left++;
    }
    if (found.length < maxOrderRows) break;
    after = found.at(-1)!.id;
  }
  if (left > 0) log.warn({ orders: left, genesisHash: gateway.genesisHash }, 'orders_of_other_chains');
}
