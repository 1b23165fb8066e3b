import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Metric } from '@sluice/shared/operations/metric.ts';
import { ProcessMeter } from '@sluice/shared/operations/process-meter.ts';
import type { PartFault, Parts } from '@sluice/shared/operations/readiness.ts';
import { serveOperations, type OperationsServer } from '@sluice/shared/operations/server.ts';
import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { statusEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import type { Fleet } from './fleet.ts';
import type { BoundEndpoint } from '../http/endpoint.ts';
import type { OpenRequests } from '../http/open-requests.ts';
import { healthEndpoints, metricsBinding, statusBinding } from './endpoints.ts';
import { LagMeter } from './lag.ts';
import { gatewayMetrics, type ReadCounters } from './metrics.ts';
import { gatewayParts } from './readiness.ts';
import type { MarketHealth } from '../reads/market-health.ts';
import { statusOf, type TradingStatus } from './report.ts';
import type { Store } from '../store/store.ts';
import type { Hub } from '../stream/hub.ts';
import type { Transport } from '../transport/transport.ts';

/** What the trading half reports about itself. */
export interface TradingReports {
  /** Why no order would be accepted; null if orders would be. */
  fault(): PartFault;
  /** Newest slot that the trading part knows itself; 0 if the part knows none. */
  slot(): number;
  metrics(): readonly Metric[];
  status(): TradingStatus;
}

/** The sources of a gateway's reports about itself. */
export interface OperationsParts {
  readonly config: Pick<Config, 'redisUrls' | 'rpc' | 'operations' | 'allowedHosts'>;
  readonly fleet: Fleet;
  readonly hub: Hub;
  readonly health: MarketHealth;
  readonly counters: ReadCounters;
  readonly store: Store | null;
  readonly trading: TradingReports;
  readonly requests: OpenRequests;
  readonly transport: () => Transport | null;
  readonly isDraining: () => boolean;
  /** Metrics and readiness of what else runs in this process. */
  readonly embeddedIngest: { readonly metrics: () => readonly Metric[]; readonly parts: () => Parts };
  readonly log: Logger;
}

/** `/livez`, `/readyz`, `/metrics` and `/status`, on the gateway's port, and on a second port if one is configured. */
export interface Operations {
  readonly endpoints: readonly BoundEndpoint[];
  /** Opens the second port. Rejects with a `SettingError`. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createOperations(of: OperationsParts): Operations {
  const { config, fleet, hub, health, counters, store, trading, requests, transport, isDraining, embeddedIngest, log } = of;
  const { limiter } = fleet;
  const started = { atMs: Date.now(), steadyMs: performance.now() };
  const meter = new ProcessMeter();
  const parts = (): Parts => ({
    ...gatewayParts({ hub, health, store, limiter, rpc: counters.rpc(), trading: trading.fault() }),
    ...embeddedIngest.parts(),
  });
  const lagMeter = new LagMeter({ ownSlot: () => trading.slot(), health, now: () => performance.now() });
  const metrics = async (): Promise<readonly Metric[]> => [
    ...gatewayMetrics({
      hub,
      limiter,
      recordsRefused: fleet.seal.refused,
      reads: counters,
      store,
      lag: lagMeter.lag,
      parts: parts(),
      draining: isDraining(),
      gateways: fleet.size(),
      requests: requests.open,
      descriptors: transport()?.descriptors ?? null,
    }),
    ...trading.metrics(),
    ...embeddedIngest.metrics(),
    ...(await meter.metrics()),
  ];
  const status = async (): Promise<AnswerOf<typeof statusEndpoint>> =>
    statusOf({
      hub,
      transport: transport(),
      started,
      draining: isDraining(),
      bus: config.redisUrls,
      statuses: await fleet.statuses(),
      lag: lagMeter.lag,
      parts: parts(),
      rpc: counters.rpc(),
      rpcUrls: config.rpc?.httpUrls ?? [],
      trading: trading.status(),
    });
  let second: OperationsServer | null = null;
  return {
    endpoints: [
      ...healthEndpoints(() => ({ draining: isDraining(), parts: parts(), tradingRole: trading.status().trading?.role ?? null })),
      statusBinding(status),
      metricsBinding(metrics),
    ],
    start: async () => {
      lagMeter.start();
      const { metrics: place, sharePort } = config.operations;
      if (place === null) return;
      // A balancer may see only this port, so it must show here that the gateway drains.
      const withLife = (): Parts => ({
        gateway: isDraining() ? 'The gateway is draining and accepts no new connections.' : null,
        ...parts(),
      });
      second = await serveOperations({
        ...place,
        waitForPort: sharePort,
        allowedHosts: config.allowedHosts,
        metrics,
        parts: withLife,
        log,
      });
    },
    close: async () => {
      meter.close();
      lagMeter.close();
      await second?.close();
    },
  };
}
