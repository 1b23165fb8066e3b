import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { startFollowers } from '@sluice/followers/index.ts';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { venuesOf } from '@sluice/shared/config/settings/source-settings.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { SourceName } from '@sluice/shared/config/settings/source-settings.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import type { PoolDirectory } from '@sluice/shared/market/pools/pool-directory.ts';
import type { SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import type { Metric } from '@sluice/shared/operations/metric.ts';
import type { Parts } from '@sluice/shared/operations/readiness.ts';
import { logSuspensions } from '@sluice/shared/solana/rpc/answers/suspensions.ts';
import { createRpc, type Rpc, type RpcPool } from '@sluice/shared/solana/rpc/rpc.ts';
import { simnetGenesisPrefix } from '@sluice/shared/solana/well-known.ts';
import { pricePools, venues as allVenues } from '@sluice/venues/registry.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { Continuity } from './continuity/continuity.ts';
import { Unseen } from './continuity/unseen.ts';
import { readWatermark, watermarkOfOthers } from './continuity/watermark.ts';
import { NewTokenMetadata } from './metadata/token-metadata.ts';
import { ingestMetrics, ingestParts } from './metrics.ts';
import { Pipeline } from './pipeline/pipeline.ts';
import { SolUsdFeed } from './pipeline/sol-usd.ts';
import type { PublishableEvent } from './publisher/outgoing.ts';
import { ProgramReader } from './sources/programs/program-reader.ts';
import { Publisher } from './publisher/publisher.ts';
import { Report, type Loss } from './report.ts';
import { SightingRouter } from './continuity/sighting-router.ts';
import { blockTimeoutMs, chooseSources, openSources } from './sources/open-sources.ts';
import { Sources } from './sources/source.ts';
import type { Source } from './sources/source.ts';
import { BlockFetcher } from './sources/blocks/block-fetcher.ts';
import { AccountFetcher } from './sources/rpc/account-fetcher.ts';
import { TransactionFetcher, type FetcherOptions } from './sources/rpc/transaction-fetcher.ts';
import { readStats, type IngestStats, type RunningParts } from './stats.ts';

export type { IngestStats } from './stats.ts';

const rpcTimeoutMs = 5_000;
/** Concurrent requests for transactions of a gap, and the time for each. */
const maxFilling = 64;
const fillGiveUpAfterMs = 10_000;
const genesisPauseMs = 500;
const maxGenesisPauseMs = 5_000;
/** How often account changes and events that are held back are checked. */
const ticksEveryMs = 50;
/** A process that sees the chain through no endpoint for this long leaves the lead to another. */
const maxBlindMs = 1_500;
const sightEveryMs = 50;
const reportEveryMs = 1_000;
/** Clients learn from the statuses how old the newest slot is. */
const statusEveryMs = 100;
/** How often losses are reported to clients; each report goes to all of them. */
const unseenEveryMs = 5_000;
const statusTtlMs = 5_000;
/** Time for the last events to reach the bus at a close. */
const closeWithinMs = 3_000;

export interface IngestOptions {
  /** `rpc` must be set. */
  readonly config: Config;
  readonly bus: Bus;
  /**
   * State of the market in this process; a new one if it is not given. If the settings name Redis, the state is there: of all ingest
   * processes, one keeps it, in a thread with its own connections.
   */
  readonly market?: MarketStore;
  /** Where sightings come from: the sources of the settings, if it is not given. */
  readonly source?: Source;
  /** Directory of pools; the same holds. */
  readonly pools?: PoolDirectory;
  /** Off-chain metadata of new tokens; fetched from the public internet if it is not given. */
  readonly metadata?: TokenMetadataBook;
  /** Time for continuity and for followers in this thread. */
  readonly clock?: Clock;
  /** Time for the bounds within which a confirmed block must be read. */
  readonly blockClock?: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface Ingest {
  stats(): IngestStats;
  metrics(): Metric[];
  parts(): Parts;
  close(): Promise<void>;
}

/**
 * Reads the chain through all endpoints of the settings and publishes the contract's events on the bus. If another process publishes, it is
 * ready to take over. Endpoints are connected, and reconnected, from then on. Nothing is published before the genesis hash is known,
 * because events of simnet must be labelled.
 */
export async function startIngest(options: IngestOptions): Promise<Ingest> {
  const { config, bus, metadata, log, signal } = options;
  if (config.rpc === null) throw new TypeError('Ingest needs the address of an RPC.');
  const { httpUrls, wsUrls } = config.rpc;
  const life = new AbortController();
  const ended = AbortSignal.any([signal, life.signal]);
  // Each part adds a listener.
  setMaxListeners(0, ended);
  const publisher = new Publisher(bus, log);
  const followers = startFollowers(options);
  const rpc = createRpc(httpUrls, { timeoutMs: rpcTimeoutMs });
  logSuspensions(httpUrls, log);
  const instance = randomBytes(4).toString('hex');
  const startedAtMs = performance.now();
  const report = new Report(log, [...httpUrls, ...wsUrls, ...(config.grpc?.urls ?? [])]);
  const unseen = new Unseen();
  const solUsd = new SolUsdFeed(rpc, config.pricePools ?? pricePools, log, ended);
  let running: RunningParts | null = null;
  let programs: ProgramReader | null = null;
  const publish = (event: PublishableEvent): void => running?.continuity.publish(event);
  const tokenMetadata = new NewTokenMetadata({ book: metadata, ipfsGateways: config.ipfsGateways, publish, leads: () => publisher.leads });

  const stats = (): IngestStats =>
    readStats({ instance, startedAtMs, running, programs: programs?.counts ?? {}, publisher, followers, solUsd, tokenMetadata, report });

  async function run(): Promise<void> {
    const genesis = await askGenesis(rpc, log, ended);
    if (genesis === null) return;
    const simulated = genesis.startsWith(simnetGenesisPrefix);
    // The SOL price comes first, so that the first trades can be valued.
    const [names] = await Promise.all([options.source === undefined ? chooseSources(config, ended) : [], solUsd.ask()]);
    if (ended.aborted) return;
    const venueNames = config.venues ?? venuesOf(names);
    const venues = allVenues.filter(({ name }) => venueNames.includes(name));
    running = openReading({ ...options, names, venues, rpc, genesis, simulated, publisher, tokenMetadata, report, solUsd, unseen, ended });
    const { pipeline, sources, router, continuity } = running;
    programs = await ProgramReader.open({ config, bus, publisher, simulated, log });
    if (ended.aborted) return;
    continuity.begin();
    sources.start(router, ended);
    log.info({ instance, endpoints: wsUrls.length, sources: names, venues: venueNames, simulated }, 'ingest_started');
    repeat(() => pipeline.ticks.release(), ticksEveryMs, ended);
    repeat(() => continuity.recheck(), ticksEveryMs, ended);
    repeat(() => reportUnseen(unseen, publisher), unseenEveryMs, ended);
    const completeUpTo = (): Promise<number | null> => readWatermark(bus, genesis);
    requestLeadWhileSeeing(publisher, sources, completeUpTo, ended);
    await continuity.run();
  }

  const setStatus = statusReporter(bus, `ingest:${instance}`, log, ended);
  const begun = run();
  begun.catch((error: unknown) => log.fatal({ err: error }, 'ingest_failed'));
  repeat(
    () => {
      solUsd.refresh();
      tokenMetadata.requestDue();
      report.write(stats());
    },
    reportEveryMs,
    ended,
  );
  repeat(() => void setStatus(stats()), statusEveryMs, ended);

  return {
    stats,
    metrics: () => ingestMetrics(stats(), publisher.delayUs, rpc.health()),
    parts: () => ingestParts(stats()),
    close: async () => {
      life.abort();
      tokenMetadata.close();
      await begun.catch(() => undefined);
      await programs?.close();
      reportUnseen(unseen, publisher);
      await publisher.close(closeWithinMs);
      await followers.close(closeWithinMs);
      report.write(stats());
    },
  };
}

interface ReadingParts extends Omit<IngestOptions, 'signal' | 'market' | 'pools' | 'metadata'> {
  readonly names: readonly SourceName[];
  readonly venues: readonly Venue[];
  readonly rpc: RpcPool;
  readonly genesis: string;
  readonly simulated: boolean;
  readonly publisher: Publisher;
  readonly tokenMetadata: NewTokenMetadata;
  readonly report: Report;
  readonly solUsd: SolUsdFeed;
  readonly unseen: Unseen;
  readonly ended: AbortSignal;
}

/** The parts that read one chain, not started yet. */
function openReading(parts: ReadingParts): RunningParts {
  const { config, names, venues, bus, rpc, genesis, simulated, publisher, report, solUsd, unseen, clock = systemClock, log, ended } = parts;
  const { httpUrls } = config.rpc!;
  const onUnseen = (loss: SlotLoss): void => unseen.add(loss);
  const onLoss = (loss: Loss): void => {
    report.lose(loss);
    onUnseen({ from: loss.slot, to: loss.slot, signatures: [loss.signature] });
  };
  const onOutvoted: FetcherOptions['onOutvoted'] = (endpoint, ...where) => router.contradicted({ source: 'rpc', endpoint }, ...where);
  const pipeline: Pipeline = new Pipeline({
    memory: config.memory,
    venues,
    simulated,
    solUsd,
    accounts: new AccountFetcher(rpc, ended),
    transactions: new TransactionFetcher(rpc, { onOutvoted }),
    expectsWhole: () => sources.showsWhole,
    clock,
    log,
    signal: ended,
    publish: (event) => {
      continuity.publish(event);
      if (event.type === 'newToken') parts.tokenMetadata.add(event);
    },
    onPool: (opened) => publisher.push(opened),
    onFault: (fault) => report.note(fault),
    onLoss,
    onAgreed: (...agreed) => router.agreed(...agreed),
  });
  const continuity: Continuity = new Continuity({
    rpcs: httpUrls.map((url) => createRpc([url], { timeoutMs: rpcTimeoutMs })),
    programs: venues.map((venue) => venue.programId),
    genesis,
    bus,
    publisher,
    pipeline,
    // Its own client, so that an endpoint that is slow with blocks is still used first for everything else.
    blocks: new BlockFetcher(createRpc(httpUrls, { timeoutMs: blockTimeoutMs })),
    transactions: new TransactionFetcher(rpc, { maxConcurrent: maxFilling, giveUpAfterMs: fillGiveUpAfterMs, late: true, onOutvoted }),
    settleBy: names.includes('blocks') ? 'offers' : config.settleBy,
    slot: () => sources.health().slot,
    // A bus in this process has no other process on it.
    watermarkOfOthers: async () => (config.redisUrls === null ? null : watermarkOfOthers(bus, genesis, clock, ended)),
    onLoss,
    onUnseen,
    publish: (outgoing) => publisher.push(outgoing),
    clock,
    blockClock: parts.blockClock ?? systemClock,
    log,
    signal: ended,
  });
  const newestSlot = (): number => sources.health().slot;
  const sources = new Sources(parts.source === undefined ? openSources({ config, names, venues, newestSlot, clock, log }) : [parts.source]);
  const router: SightingRouter = new SightingRouter({ pipeline, continuity, solUsd, log });
  return { simulated, pipeline, sources, router, continuity };
}

/** Sets this process's status on the bus; logs the first failure. */
function statusReporter(bus: Bus, name: string, log: Logger, ended: AbortSignal): (now: IngestStats) => Promise<void> {
  let [isSet, isPending] = [true, false];
  return async (now) => {
    // While the bus has not answered, no further status is sent to it.
    if (isPending) return;
    isPending = true;
    try {
      await bus.setStatus(name, { ...now }, statusTtlMs);
      isSet = true;
    } catch (error) {
      if (isSet && !ended.aborted) log.warn({ err: error }, 'status_not_set');
      isSet = false;
    } finally {
      isPending = false;
    }
  };
}

/** Calls `getGenesisHash` until it is answered; null if the signal aborts first. */
async function askGenesis(rpc: Rpc, log: Logger, ended: AbortSignal): Promise<string | null> {
  for (let attempt = 0; !ended.aborted; attempt++) {
    try {
      const answer = await rpc.call('getGenesisHash', [], ended);
      if (typeof answer === 'string') return answer;
      log.warn({ attempt }, 'genesis_hash_malformed');
    } catch (error) {
      if (ended.aborted) return null;
      log.warn({ err: error, attempt }, 'rpc_unavailable');
    }
    await pause(Math.min(maxGenesisPauseMs, genesisPauseMs * 2 ** attempt), ended);
  }
  return null;
}

/** A process that does not lead drops its losses: the leader reports its own. */
function reportUnseen(unseen: Unseen, publisher: Publisher): void {
  for (const lost of unseen.take()) {
    if (publisher.leads) publisher.push({ type: 'slots', alive: [], dead: [], lost, ts: { received: nowUs(), published: 0 } });
  }
}

/** Only a process that sees the chain should lead. */
function requestLeadWhileSeeing(
  publisher: Publisher,
  source: Source,
  completeUpTo: () => Promise<number | null>,
  ended: AbortSignal,
): void {
  publisher.requestLead(completeUpTo);
  let sawAtMs = performance.now();
  repeat(
    () => {
      const nowMs = performance.now();
      if (source.health().endpointsUp > 0) sawAtMs = nowMs;
      if (nowMs - sawAtMs < maxBlindMs) publisher.requestLead();
      else void publisher.withdraw();
    },
    sightEveryMs,
    ended,
  );
}

function repeat(work: () => void, everyMs: number, ended: AbortSignal): void {
  const timer = setInterval(work, everyMs);
  ended.addEventListener('abort', () => clearInterval(timer), { once: true });
}
