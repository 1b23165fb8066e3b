import { clockMetrics } from '@sluice/shared/operations/clock-metrics.ts';
import { metricsOf, type Metric } from '@sluice/shared/operations/metric.ts';
import type { Parts } from '@sluice/shared/operations/readiness.ts';
import { rpcMetrics } from '@sluice/shared/operations/rpc-metrics.ts';
import type { EndpointHealth } from '@sluice/shared/solana/rpc/rpc.ts';
import type { RecordSeal } from '../auth/record-seal.ts';
import type { RpcAccountReader } from '../reads/chain/rpc-account-reader.ts';
import type { Lag } from './lag.ts';
import type { CountingLimiter } from '../ratelimit/limiter.ts';
import type { TokenBook } from '../reads/tokens/token-book.ts';
import { version } from './report.ts';
import type { Store } from '../store/store.ts';
import type { Hub } from '../stream/hub.ts';
import type { Transport } from '../transport/transport.ts';

const makers = metricsOf('sluice_gateway');
const { counter, gauge, histogram } = makers;

/** The counters of the read endpoints. */
export interface ReadCounters {
  readonly tokens: TokenBook;
  readonly accounts: RpcAccountReader['counters'];
  /** One entry for each RPC endpoint. */
  readonly rpc: () => readonly EndpointHealth[];
}

export interface GatewayMetricsParts {
  readonly hub: Hub;
  readonly limiter: CountingLimiter;
  readonly recordsRefused: RecordSeal['refused'];
  readonly reads: ReadCounters;
  readonly store: Pick<Store, 'health' | 'time'> | null;
  readonly lag: Lag;
  readonly parts: Parts;
  readonly draining: boolean;
  /** Gateways on the same bus, this one among them. */
  readonly gateways: number;
  /** Requests over HTTP that wait for their answer. */
  readonly requests: number;
  /** Null before the gateway listens. */
  readonly descriptors: Transport['descriptors'] | null;
}

/** The gateway's metrics. No label has an unbounded set of values. */
export function gatewayMetrics(of: GatewayMetricsParts): Metric[] {
  return [
    gauge('info', 'Always 1; the version of the program.', 1, { version }),
    gauge('draining', 'The gateway is draining and accepts no new connections.', of.draining ? 1 : 0),
    ...Object.entries(of.parts).map(([part, fault]) =>
      gauge('part_ok', 'What `/readyz` says of a part.', fault === null ? 1 : 0, { part }),
    ),
    gauge('gateways', 'Gateways on the same bus, this one among them.', of.gateways),
    gauge('lag_slots', 'Slots by which ingest is behind the newest slot that this gateway knows; -1 if it knows none.', of.lag.slots ?? -1),
    gauge(
      'lag_seconds',
      'Time since ingest received a new slot, as of its last report; -1 if no ingest process reports one.',
      of.lag.ms === null ? -1 : of.lag.ms / 1e3,
    ),
    gauge('requests_open', 'Requests over HTTP that wait for their answer.', of.requests),
    gauge(
      'descriptors_scarce',
      '1 if few file descriptors are left, so that new streams are refused.',
      of.descriptors?.scarce === true ? 1 : 0,
    ),
    counter(
      'connections_refused_total',
      'New connections that were closed at once, because hardly any file descriptor was left.',
      of.descriptors?.closed ?? 0,
    ),
    ...streamMetrics(of.hub),
    ...limitMetrics(of.limiter),
    ...Object.entries(of.recordsRefused).map(([purpose, refused]) =>
      counter('records_refused_total', 'Records from Redis refused: not sealed by a gateway, expired, or used before.', refused, {
        kind: purpose.replaceAll(' ', '_'),
      }),
    ),
    ...readMetrics(of.reads),
    ...(of.store === null ? [] : storeMetrics(of.store)),
  ];
}

function streamMetrics(hub: Hub): Metric[] {
  const { stats, fanout, dialect, history } = hub;
  const bus = hub.bus.counters;
  return [
    gauge('bus_link_up', 'The link to the bus is up.', hub.delivery.linkUp ? 1 : 0),
    counter('bus_refills_total', 'Times that announcements were missing and the log was read instead.', bus.refills),
    counter('bus_malformed_total', 'Messages on the bus that were malformed.', bus.malformed),
    counter('bus_epochs_total', 'Epochs of the log that ended.', bus.epochChanges),
    gauge('connections', 'Open stream connections.', hub.connections.size),
    gauge('compressed_connections', 'Open stream connections whose messages are compressed.', hub.connections.compressed),
    gauge('buffered_bytes', 'Bytes buffered in this process for stream connections.', hub.slowConsumers.bufferedBytes),
    gauge('catch_ups', 'Replays in progress.', hub.catchUps.size),
    gauge('topics', 'Topics with at least one follower.', fanout.topicCount + dialect.topicCount),
    gauge('history_entries', 'Events retained for replays.', history.entries),
    gauge('history_bytes', 'Memory of the retained events.', history.bytes),
    histogram(
      'stream_latency_seconds',
      'From the publication of an event until it was passed to the transport.',
      stats.latencyUs.distribution(),
    ),
    counter('connections_opened_total', 'Stream connections accepted.', stats.connectionsOpened),
    counter('handshakes_refused_total', 'Stream handshakes refused.', stats.refusedHandshakes),
    counter('events_total', 'Events received from the bus.', stats.events),
    counter('publishes_total', 'Messages published to a group of sockets.', stats.publishes),
    counter('published_bytes_total', 'Bytes of the published messages, counted once for each group.', stats.publishedBytes),
    counter('replayed_frames_total', 'Frames replayed from history.', stats.replayedFrames),
    counter('gaps_total', 'Losses reported to clients that followed a topic.', stats.losses),
    counter(
      'resumes_incomplete_total',
      'Gaps reported to resuming clients: their position was too old, or belongs to another log.',
      stats.incompleteResumes,
    ),
    counter('lost_entries_total', 'Entries that the bus reported as lost.', stats.lostEntries),
    counter('unreadable_entries_total', 'Entries of the bus that could not be read.', stats.unreadableEntries),
    counter('drops_total', 'Messages that were dropped because the send buffer of a socket was full.', stats.drops),
    counter('slow_closes_total', 'Connections closed as slow consumers.', stats.slowCloses),
    counter('silent_closes_total', 'Connections closed because the client had sent nothing for too long.', stats.idleCloses),
    counter('commands_total', 'Messages from clients.', stats.commands),
    counter('commands_refused_total', 'Messages refused with an error.', stats.refusedCommands),
  ];
}

function limitMetrics({ unavailable, counters: { taken, refused, local, outages, overruled } }: CountingLimiter): Metric[] {
  return [
    gauge('limits_local', 'Limits are counted by this gateway alone: Redis does not answer.', unavailable ? 1 : 0),
    counter('limit_admitted_total', 'Requests of keys admitted by their limits.', taken),
    counter('limit_refused_total', 'Requests of keys refused by their limits.', refused),
    counter('limit_local_total', 'Checks of limits that were counted locally.', local),
    counter('limit_outages_total', 'Times that Redis stopped answering for limits.', outages),
    counter('limit_overruled_total', 'Requests that Redis admitted beyond what this gateway admits of a key by itself.', overruled),
  ];
}

function readMetrics({ tokens, accounts, rpc }: ReadCounters): Metric[] {
  const { counters } = tokens;
  return [
    gauge('tokens', 'Tokens in memory that were requested.', tokens.size),
    counter('token_loads_total', 'Tokens that were cold and read.', counters.loads),
    counter('token_refreshes_total', 'Tokens that were read again.', counters.refreshes),
    counter('token_shared_total', 'Requests for a token that was being read already.', counters.shared),
    counter('token_refused_total', 'Requests refused because too many tokens were being read.', counters.refused),
    counter('token_negative_hits_total', 'Requests for an address that is known not to be a token.', counters.negativeHits),
    counter('token_evicted_total', 'Tokens evicted to make space for others.', counters.evicted),
    counter('chain_calls_total', 'Reads of accounts sent to nodes.', accounts.calls),
    counter('chain_failures_total', 'Reads of accounts without a usable answer.', accounts.failures),
    counter('chain_shared_total', 'Reads of accounts that shared a running call.', accounts.shared),
    counter('chain_refused_total', 'Reads of accounts refused because too many waited.', accounts.refused),
    counter('chain_alone_total', 'Reads of accounts that only one endpoint answered.', accounts.alone),
    counter(
      'chain_contradicted_total',
      'Reads of accounts that the endpoints answered differently, without a majority.',
      accounts.contradicted,
    ),
    ...rpcMetrics(makers, rpc()),
  ];
}

function storeMetrics({ health, time }: Pick<Store, 'health' | 'time'>): Metric[] {
  return [
    counter('store_calls_total', 'Reads and changes of the store.', health.calls),
    counter('store_failures_total', 'Reads and changes that the store did not answer.', health.failures),
    ...clockMetrics(makers, time),
  ];
}
