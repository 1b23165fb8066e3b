import type { BusStatus } from '@sluice/shared/bus/bus.ts';
import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { statusEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { partReports, type Parts } from '@sluice/shared/operations/readiness.ts';
import type { EndpointHealth } from '@sluice/shared/solana/rpc/rpc.ts';
import { shownHost } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { apiVersion } from '../http/answers.ts';
import { chainStatus, sourceStatuses } from './ingest-report.ts';
import type { Lag } from './lag.ts';
import type { Hub } from '../stream/hub.ts';
import type { Transport } from '../transport/transport.ts';
import manifest from '../../package.json' with { type: 'json' };

/** Version of the program. */
export const { version } = manifest;

type Status = AnswerOf<typeof statusEndpoint>;

/** What `/status` says of trading; null if this gateway does not trade. */
export type TradingStatus = Pick<Status, 'orders' | 'trading'>;

export interface StatusParts {
  readonly hub: Hub;
  readonly transport: Transport | null;
  /** When the process began to serve: by the wall clock, which is shown, and by the steady clock. */
  readonly started: { readonly atMs: number; readonly steadyMs: number };
  readonly draining: boolean;
  /** Addresses of the bus; null if it is in this process. The status shows only whether there are any. */
  readonly bus: readonly string[] | null;
  readonly statuses: readonly BusStatus[];
  readonly lag: Lag;
  /** What is wrong with each part. */
  readonly parts: Parts;
  /** The RPC endpoints, in the order of the settings. */
  readonly rpc: readonly EndpointHealth[];
  /** Their URLs, in the same order. */
  readonly rpcUrls: readonly string[];
  /** Of trading. */
  readonly trading: TradingStatus;
}

/** The body of `/status`. It contains no keys, clients or addresses, and of the hosts of nodes only what `shownHost` gives. */
export function statusOf(of: StatusParts): Status {
  const { hub, transport, started, draining, bus, statuses, lag, parts, rpc, rpcUrls, trading } = of;
  const { stats, fanout, dialect, history } = hub;
  const ingests = statuses.filter(({ name }) => name.startsWith('ingest:'));
  return {
    name: 'sluice',
    version,
    apiVersion,
    node: process.versions.node,
    transport: transport?.kind ?? null,
    startedAtMs: started.atMs,
    uptimeMs: Math.round(performance.now() - started.steadyMs),
    draining,
    lag,
    parts: partReports(parts),
    chain: chainStatus(ingests),
    sources: sourceStatuses(ingests, lag.slots ?? 0),
    cluster: { simulated: simulatedBy(ingests) },
    endpoints: rpc.map(({ impossibleAnswers, suspendedForMs }, index) => ({
      endpoint: index + 1,
      host: shownHost(rpcUrls[index] ?? ''),
      impossibleAnswers,
      suspended: suspendedForMs > 0,
      suspendedForMs,
    })),
    bus: { kind: bus === null ? 'in-process' : 'redis', linkUp: hub.delivery.linkUp, caughtUp: hub.delivery.ready, epoch: hub.bus.epoch },
    stream: {
      connections: hub.connections.size,
      topics: fanout.topicCount + dialect.topicCount,
      events: stats.events,
      gaps: stats.losses,
      slowCloses: stats.slowCloses,
      latencyUs: stats.latencyUs.summary(),
      history: { entries: history.entries, bytes: history.bytes, oldestAtMs: history.oldestAtMs },
    },
    ...trading,
    ingest: ingests.map(({ name, value }) => ({ name, value })),
  };
}

/** Whether the chain is the simulated one; null while no ingest process reports it. */
function simulatedBy(ingests: readonly BusStatus[]): boolean | null {
  const known = ingests.map(({ value }) => value['simulated']).filter((simulated) => typeof simulated === 'boolean');
  return known.length === 0 ? null : known.some(Boolean);
}
