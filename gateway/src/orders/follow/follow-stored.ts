import { pause } from '@sluice/shared/abort/pause.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { OrderTable } from '../../store/interfaces/order-table.ts';
import type { ChainIdentity } from '../nodes/chain-identity.ts';
import type { OrderFollower } from './order-follower.ts';

/** Pause before the next attempt if the store did not answer. */
const againMs = 500;

export interface StoredOrdersParts {
  readonly chain: Pick<ChainIdentity, 'known'>;
  readonly follower: Pick<OrderFollower, 'start'>;
  readonly orders: Pick<OrderTable, 'countOpenElsewhere'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Lets the follower load the open orders of the nodes' chain, as soon as that chain is known and the store answers. Orders of other chains
 * stay as they are, because these nodes cannot report what became of them. Resolves when that is done, or when `signal` fires.
 */
export async function followStoredOrders({ chain, follower, orders, log, signal }: StoredOrdersParts): Promise<void> {
  const genesisHash = await chain.known;
  if (genesisHash === null) return;
  while (!signal.aborted) {
    try {
      const elsewhere = await orders.countOpenElsewhere(genesisHash);
      if (elsewhere > 0) log.warn({ orders: elsewhere, genesisHash }, 'orders_of_other_chains');
      return await follower.start(genesisHash);
    } catch (error) {
      log.error({ err: error }, 'stored_orders_not_followed');
      await pause(againMs, signal);
    }
  }
}
