import { readFileSync } from 'node:fs';
import type { BusStatus } from '@sluice/shared/bus/bus.ts';
import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { statusEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { apiVersion } from './http/answers.ts';
import { counter, gauge, type Metric } from './http/routes/metrics.ts';
import type { RpcAccountReader } from './chain/rpc-account-reader.ts';
import type { Markets } from './quote/markets.ts';
import type { CountingLimiter } from './ratelimit/limiter.ts';
import type { TokenBook } from './reads/token-book.ts';
import type { Hub } from './stream/hub.ts';
import { orderMetrics, orderStatus, type OrderReport } from './trade/order-report.ts';
import type { Transport } from './transport/transport.ts';

/** Version of the program. */
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

export interface StatusParts {
  readonly hub: Hub;
  readonly transport: Transport | null;
  readonly startedAtMs: number;
  readonly draining: boolean;
  /** Addresses of the bus; null where it is in this process. Only their presence is shown. */
  readonly bus: readonly string[] | null;
  readonly statuses: readonly BusStatus[];
  /** Null: this gateway does not trade. */
  readonly orders: OrderReport | null;
}

/** The body of `/status`. Says nothing of keys, clients or addresses. */
export function statusOf({ hub, transport, startedAtMs, draining, bus, statuses, orders }: StatusParts): AnswerOf<typeof statusEndpoint> {
  const { stats, fanout, dialect, history } = hub;
  const ingests = statuses.filter(({ name }) => name.startsWith('ingest:'));
  return {
    name: 'sluice',
    version,
    apiVersion,
    node: process.versions.node,
    transport: transport?.kind ?? null,
    startedAtMs,
    uptimeMs: Date.now() - startedAtMs,
    draining,
    cluster: { simulated: simulatedBy(ingests) },
    bus: { kind: bus === null ? 'in-process' : 'redis', linkUp: hub.linkUp, caughtUp: hub.ready, epoch: hub.epoch },
    stream: {
      connections: hub.connections,
      topics: fanout.topicCount + dialect.topicCount,
      events: stats.events,
      gaps: stats.gaps,
      slowCloses: stats.slowCloses,
      latencyUs: stats.latencyUs.summary(),
      history: { entries: history.entries, bytes: history.bytes },
    },
    orders: orders === null ? null : orderStatus(orders),
    ingest: ingests.map(({ name, value }) => ({ name, value })),
  };
}

/** Whether the chain is the simulated one; null while no ingest tells. */
function simulatedBy(ingests: readonly BusStatus[]): boolean | null {
  const known = ingests.map(({ value }) => value['simulated']).filter((simulated) => typeof simulated === 'boolean');
  return known.length === 0 ? null : known.some(Boolean);
}

/** What the reading endpoints counted. */
export interface ReadCounters {
  readonly tokens: TokenBook;
  readonly accounts: RpcAccountReader['counters'];
  readonly markets: Markets['counters'];
}

/** The gateway's own numbers; no label has an unbounded set of values. */
export function metricsOf({
  hub: { stats, connections, fanout, dialect, history, linkUp },
  limiter,
  reads: { tokens, accounts, markets },
  orders,
  startedAtMs,
}: {
  readonly hub: Hub;
  readonly limiter: CountingLimiter;
  readonly reads: ReadCounters;
  readonly orders: OrderReport | null;
  readonly startedAtMs: number;
}): Metric[] {
  const { latencyUs } = stats;
  return [
    gauge('uptime_seconds', 'Time since the start.', (Date.now() - startedAtMs) / 1000),
    gauge('bus_link_up', 'The link to the bus is up.', linkUp ? 1 : 0),
    gauge('connections', 'Open stream connections.', connections),
    gauge('topics', 'Topics that somebody follows.', fanout.topicCount + dialect.topicCount),
    gauge('history_entries', 'Events retained for replays.', history.entries),
    gauge('history_bytes', 'Memory of the retained events.', history.bytes),
    gauge('resident_bytes', 'Resident memory of the process.', process.memoryUsage.rss()),
    gauge('stream_latency_p50_seconds', 'Publishing to sending, median.', (latencyUs.percentile(0.5) ?? 0) / 1e6),
    gauge('stream_latency_p99_seconds', 'Publishing to sending, 99th percentile.', (latencyUs.percentile(0.99) ?? 0) / 1e6),
    counter('connections_opened_total', 'Stream connections accepted.', stats.connectionsOpened),
    counter('handshakes_refused_total', 'Stream handshakes refused.', stats.refusedHandshakes),
    counter('events_total', 'Events taken from the bus.', stats.events),
    counter('publishes_total', 'Messages handed to a room of sockets.', stats.publishes),
    counter('published_bytes_total', 'Bytes of those, once for each room.', stats.publishedBytes),
    counter('replayed_frames_total', 'Frames replayed from history.', stats.replayedFrames),
    counter('gaps_total', 'Gaps told to clients.', stats.gaps),
    counter('lost_entries_total', 'Entries the bus could not give.', stats.lostEntries),
    counter('drops_total', 'Messages that a socket had no room for.', stats.drops),
    counter('slow_closes_total', 'Connections closed as too slow.', stats.slowCloses),
    counter('silent_closes_total', 'Connections closed without a sign of life.', stats.silentCloses),
    counter('commands_total', 'Messages from clients.', stats.commands),
    gauge('limits_local', 'Limits are counted by this gateway alone: Redis does not answer.', limiter.away ? 1 : 0),
    counter('limit_admitted_total', 'Requests of keys admitted by their limits.', limiter.counters.taken),
    counter('limit_refused_total', 'Requests of keys refused by their limits.', limiter.counters.refused),
    counter('limit_local_total', 'Looks at limits that were counted locally.', limiter.counters.local),
    counter('limit_outages_total', 'Times that Redis stopped answering for limits.', limiter.counters.outages),
    counter('commands_refused_total', 'Messages answered with an error.', stats.refusedCommands),
    gauge('tokens', 'Tokens kept in memory, as they were asked for.', tokens.size),
    counter('token_loads_total', 'Tokens that were cold and read.', tokens.counters.loads),
    counter('token_refreshes_total', 'Tokens that were read again.', tokens.counters.refreshes),
    counter('token_shared_total', 'Questions for a token that was being read already.', tokens.counters.shared),
    counter('token_refused_total', 'Questions refused, as too many tokens were being read.', tokens.counters.refused),
    counter('token_negative_hits_total', 'Questions for an address known to be no token.', tokens.counters.negativeHits),
    counter('token_evicted_total', 'Tokens that had to make room.', tokens.counters.evicted),
    counter('chain_calls_total', 'Reads of accounts sent to nodes.', accounts.calls),
    counter('chain_failures_total', 'Reads of accounts without a usable answer.', accounts.failures),
    counter('chain_shared_total', 'Reads of accounts that took the answer of one under way.', accounts.shared),
    counter('chain_refused_total', 'Reads of accounts refused, as too many waited.', accounts.refused),
    counter('quote_market_hits_total', 'Markets for quotes that were read a moment ago.', markets.hits),
    counter('quote_market_reads_total', 'Markets for quotes that were read.', markets.reads),
    counter('quote_market_shared_total', 'Questions for a market that was being read already.', markets.shared),
    counter('quote_market_malformed_total', 'Markets whose accounts could not be understood.', markets.malformed),
    ...(orders === null ? [] : orderMetrics(orders)),
  ];
}
