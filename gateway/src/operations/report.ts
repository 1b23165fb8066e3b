import type { BusStatus } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Metric } from '@sluice/shared/operations/metric.ts';
import { partReports, type PartFault, type Parts } from '@sluice/shared/operations/readiness.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { shownHost } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { statusEndpoint } from '@sluice/shared/wire/rest/operations/operations.ts';
import manifest from '../../package.json' with { type: 'json' };
import { apiVersion } from '../http/answers.ts';
import type { OpenRequests } from '../http/open-requests.ts';
import type { MarketHealth } from '../reads/market-health.ts';
import type { Store } from '../store/store.ts';
import type { Hub } from '../stream/hub.ts';
import type { Transport } from '../transport/transport.ts';
import type { Fleet } from './fleet.ts';
import { chainStatus, sourceStatuses } from './ingest-report.ts';
import type { Lag } from './lag.ts';
import type { ReadCounters } from './metrics.ts';

/** Version of the program. */
export const { version } = manifest;

export type Status = AnswerOf<typeof statusEndpoint>;

/** What `/status` says of trading; null if this gateway does not trade. */
export type TradingStatus = Pick<Status, 'orders' | 'trading' | 'triggers'>;

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

interface StatusNow {
  /** When the process began to serve: by the wall clock, which is shown, and by the steady clock. */
  readonly started: { readonly atMs: number; readonly steadyMs: number };
  readonly statuses: readonly BusStatus[];
  readonly lag: Lag;
  readonly parts: Parts;
}

/** The body of `/status`. It contains no keys, clients or addresses, and of the hosts of nodes only what `shownHost` gives. */
export function statusOf(
  { hub, transport, isDraining, config, counters, trading }: OperationsParts,
  { started, statuses, lag, parts }: StatusNow,
): Status {
  const { stats, fanout, dialect, history } = hub;
  const ingests = statuses.filter(({ name }) => name.startsWith('ingest:'));
  return {
    name: 'sluice',
    version,
    apiVersion,
    node: process.versions.node,
    transport: transport()?.kind ?? null,
    startedAtMs: started.atMs,
    uptimeMs: Math.round(performance.now() - started.steadyMs),
    draining: isDraining(),
    lag,
    parts: partReports(parts),
    chain: chainStatus(ingests),
    sources: sourceStatuses(ingests, lag.slots ?? 0),
    cluster: { simulated: simulatedBy(ingests) },
    endpoints: counters.rpc().map(({ impossibleAnswers, suspendedForMs }, index) => ({
      endpoint: index + 1,
      host: shownHost(config.rpc?.httpUrls[index] ?? ''),
      impossibleAnswers,
      suspended: suspendedForMs > 0,
      suspendedForMs,
    })),
    bus: {
      kind: config.redisUrls === null ? 'in-process' : 'redis',
      linkUp: hub.delivery.linkUp,
      caughtUp: hub.delivery.ready,
      epoch: hub.bus.epoch,
    },
    stream: {
      connections: hub.connections.size,
      topics: fanout.topicCount + dialect.topicCount,
      events: stats.events,
      gaps: stats.losses,
      slowCloses: stats.slowCloses,
      latencyUs: stats.latencyUs.summary(),
      history: { entries: history.entries, bytes: history.bytes, oldestAtMs: history.oldestAtMs },
    },
    ...trading.status(),
    ingest: ingests.map(({ name, value }) => ({ name, value })),
  };
}

/** Whether the chain is the simulated one; null while no ingest process reports it. */
function simulatedBy(ingests: readonly BusStatus[]): boolean | null {
  const known = ingests.map(({ value }) => value['simulated']).filter((simulated) => typeof simulated === 'boolean');
  return known.length === 0 ? null : known.some(Boolean);
}
