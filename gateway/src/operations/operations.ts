import { ProcessMeter } from '@sluice/shared/operations/process-meter.ts';
import type { Metric } from '@sluice/shared/operations/metric.ts';
import type { PartFault, Parts } from '@sluice/shared/operations/readiness.ts';
import { serveOperations, type OperationsServer } from '@sluice/shared/operations/server.ts';
import { statusEndpoint } from '@sluice/shared/wire/rest/operations/operations.ts';
import { bindEndpoint } from '../http/endpoint.ts';
import type { MarketHealth } from '../reads/market-health.ts';
import { healthEndpoints, metricsBinding } from './endpoints.ts';
import { LagMeter } from './lag.ts';
import { gatewayMetrics } from './metrics.ts';
import { statusOf, type OperationsParts, type Status } from './report.ts';

/** `/livez`, `/readyz`, `/metrics` and `/status`, on the gateway's port, and on a second port if one is configured. */
export function createOperations(of: OperationsParts) {
  const { config, fleet, health, trading, isDraining, embeddedIngest, log } = of;
  const started = { atMs: Date.now(), steadyMs: performance.now() };
  const meter = new ProcessMeter();
  const parts = (): Parts => ({ ...gatewayParts(of), ...embeddedIngest.parts() });
  const lagMeter = new LagMeter({ ownSlot: () => trading.slot(), health, now: () => performance.now() });
  const metrics = async (): Promise<readonly Metric[]> => [
    ...gatewayMetrics(of, parts(), lagMeter.lag),
    ...trading.metrics(),
    ...embeddedIngest.metrics(),
    ...(await meter.metrics()),
  ];
  const status = async (): Promise<Status> =>
    statusOf(of, { started, statuses: await fleet.statuses(), lag: lagMeter.lag, parts: parts() });
  let second: OperationsServer | null = null;
  return {
    endpoints: [
      ...healthEndpoints(() => ({ draining: isDraining(), parts: parts(), tradingRole: trading.status().trading?.role ?? null })),
      bindEndpoint(statusEndpoint, async () => ({ json: await status() })),
      metricsBinding(metrics),
    ],
    /** Opens the second port. Rejects with a `SettingError`. */
    start: async (): Promise<void> => {
      lagMeter.start();
      const { metrics: place, sharePort } = config.operations;
      if (place === null) return;
      // A balancer may see only this port, so it must show here that the gateway drains.
      const withLife = (): Parts => ({
        gateway: isDraining() ? 'The gateway is draining and accepts no new connections.' : null,
        ...parts(),
      });
      const { allowedHosts } = config;
      second = await serveOperations({ ...place, waitForPort: sharePort, allowedHosts, metrics, parts: withLife, log });
    },
    close: async (): Promise<void> => {
      meter.close();
      lagMeter.close();
      await second?.close();
    },
  };
}

/** Slots last about 200 ms. If ingest has received none for this long, the stream has stopped. */
const maxSlotAgeMs = 10_000;

/** The fault of each part that a gateway needs. One endpoint of several that fails is no fault. */
function gatewayParts({ hub, health, store, fleet, counters, trading }: OperationsParts): Parts {
  const rpc = counters.rpc();
  return {
    bus: hub.delivery.ready ? null : hub.delivery.linkUp ? 'The history of the bus is still being read.' : 'The link to the bus is down.',
    ingest: ingestFault(health),
    store: store?.health.fault() ?? null,
    clock: store?.time.fault() ?? null,
    limits: fleet.limiter.unavailable
      ? 'Redis does not count requests. Each gateway counts its share, and refuses requests that can spend.'
      : null,
    chain: rpc.length > 0 && rpc.every(({ avoided }) => avoided) ? 'No RPC endpoint gives a usable answer.' : null,
    trading: trading.fault(),
  };
}

function ingestFault(health: MarketHealth): PartFault {
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
