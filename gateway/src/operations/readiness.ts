import type { PartFault, Parts } from '@sluice/shared/operations/readiness.ts';
import type { EndpointHealth } from '@sluice/shared/solana/rpc/rpc.ts';
import type { CountingLimiter } from '../ratelimit/limiter.ts';
import type { MarketHealth } from '../reads/market-health.ts';
import type { Store } from '../store/store.ts';
import type { Hub } from '../stream/hub.ts';

/** Slots last about 200 ms. If ingest has received none for this long, the stream has stopped. */
const maxSlotAgeMs = 10_000;

export interface ReadinessParts {
  readonly hub: { readonly delivery: Pick<Hub['delivery'], 'ready' | 'linkUp'> };
  readonly health: Pick<MarketHealth, 'fault' | 'slotAgeMs'>;
  /** Null if the keys do not come from a store. */
  readonly store: Pick<Store, 'health' | 'time'> | null;
  readonly limiter: Pick<CountingLimiter, 'unavailable'>;
  readonly rpc: readonly EndpointHealth[];
  /** Why no order would be accepted; null if orders would be. */
  readonly trading: PartFault;
}

/** The fault of each part that a gateway needs. One endpoint of several that fails is no fault. */
export function gatewayParts({ hub, health, store, limiter, rpc, trading }: ReadinessParts): Parts {
  return {
    bus: hub.delivery.ready ? null : hub.delivery.linkUp ? 'The history of the bus is still being read.' : 'The link to the bus is down.',
    ingest: ingestFault(health),
    store: store?.health.fault() ?? null,
    clock: store?.time.fault() ?? null,
    limits: limiter.unavailable
      ? 'Redis does not count requests. Each gateway counts its share, and refuses requests that can spend.'
      : null,
    chain: rpc.length > 0 && rpc.every(({ avoided }) => avoided) ? 'No RPC endpoint gives a usable answer.' : null,
    trading,
  };
}

function ingestFault(health: ReadinessParts['health']): PartFault {
  switch (health.fault()) {
    case 'bus_down':
      return 'Unknown, because the link to the bus is down.';
    case 'no_ingest':
      return 'No ingest process leads.';
    case 'ingest_blind':
      return 'No RPC endpoint of ingest is up.';
    case null:
      return (health.slotAgeMs() ?? 0) > maxSlotAgeMs ? 'Ingest has received no new slot.' : null;
  }
}
