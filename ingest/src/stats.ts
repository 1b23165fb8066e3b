import type { FollowersStats } from '@sluice/followers/index.ts';
import type { Continuity } from './continuity/continuity.ts';
import type { NewTokenMetadata } from './metadata/token-metadata.ts';
import type { VenueCounts } from './pipeline/decode.ts';
import { noEmitCounts } from './pipeline/emit.ts';
import { noPipelineCounts, type Pipeline } from './pipeline/pipeline.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { solUsdAt, solUsdStaleAfterMs, type SolUsdFeed } from './pipeline/sol-usd.ts';
import type { ProgramCounts } from './sources/programs/messages.ts';
import type { Publisher } from './publisher/publisher.ts';
import type { Report } from './report.ts';
import { noSightingCounts, type SightingRouter } from './continuity/sighting-router.ts';
import { noCounts } from './sources/source.ts';
import type { Sources } from './sources/source.ts';
import manifest from '../package.json' with { type: 'json' };

/** Parts that exist once the genesis hash of the cluster is known. */
export interface RunningParts {
  readonly simulated: boolean;
  readonly pipeline: Pipeline;
  readonly sources: Sources;
  readonly router: SightingRouter;
  readonly continuity: Continuity;
}

const notStarted = { slot: 0, slotAgeMs: null, endpointsUp: 0, blindPeriods: 0, endpoints: [], counts: noCounts() };

/** Statistics of an ingest process: in `stats()`, and ten times a second as the status `ingest:<instance>` on the bus. Counts are since the start. */
export type IngestStats = ReturnType<typeof readStats>;

export function readStats(of: {
  readonly instance: string;
  /** By the steady clock. */
  readonly startedAtMs: number;
  readonly running: RunningParts | null;
  readonly programs: Readonly<Record<string, ProgramCounts>>;
  readonly publisher: Publisher;
  readonly followers: { readonly stats: FollowersStats };
  readonly solUsd: SolUsdFeed;
  readonly tokenMetadata: NewTokenMetadata;
  readonly report: Report;
}) {
  const { running, publisher } = of;
  const { market, pools, restarts } = of.followers.stats;
  const health = running?.sources.health() ?? notStarted;
  const pipeline = running?.pipeline;
  return {
    instance: of.instance,
    /** Version of the program. */
    version: manifest.version,
    uptimeMs: Math.round(performance.now() - of.startedAtMs),
    /** Whether this process publishes; one of several does. */
    leads: publisher.leads,
    /** Whether the chain is the simulated one; null before the genesis hash is known. */
    simulated: running?.simulated ?? null,
    /** Newest slot that sources report; 0 before the first. */
    slot: health.slot,
    /** Time since a newer slot was reported; null before the first. */
    slotAgeMs: health.slotAgeMs,
    /** The bus reports the leader, and accepts batches. */
    busAnswers: publisher.busAnswers,
    endpointsUp: health.endpointsUp,
    endpoints: health.endpoints,
    /** In the order of the settings. */
    sources: running === null ? [] : readSources(running),
    /** Of answers to requests for a transaction, by the endpoint. */
    contradictedAnswers: running?.router.lead('rpc').byEndpoint ?? {},
    blindPeriods: health.blindPeriods,
    /** Null before the genesis hash is known. */
    continuity: running?.continuity.stats ?? null,
    notifications: health.counts,
    sightings: { ...(running?.router.counts ?? noSightingCounts()) },
    pipeline: {
      ...(pipeline?.counts ?? noPipelineCounts()),
      waiting: pipeline?.waiting ?? 0,
      pools: pipeline?.book.size ?? 0,
      /** Self-CPIs in whole transactions that look like events of a venue but are not. */
      refusedLookAlikes: pipeline?.decoder.refusedLookAlikes ?? 0,
    },
    events: { ...(pipeline?.emitter.counts ?? noEmitCounts()) },
    venues: readVenues(pipeline),
    /** Of programs with an IDL, by their addresses. */
    programs: of.programs,
    /** Venues of which many events could not be decoded lately. */
    changedVenues: of.report.changedVenues,
    faults: of.report.faults,
    publisher: { ...publisher.counts, buffered: publisher.buffered },
    /** Off-chain metadata of new tokens: published documents, and tokens that wait for theirs. */
    metadata: { ...of.tokenMetadata.counts, waiting: of.tokenMetadata.waiting },
    /** State of the market and the candles made from it. */
    market: { ...market, restarts },
    /** Directory of pools. */
    pools,
    solUsd: readSolUsd(of.solUsd),
    coins: [...of.solUsd.coins].map(([mint, rate]) => ({ mint, rate: solUsdAt(rate, nowUs() / 1000) })),
    /** What each pool of SOL and USDC says. */
    solUsdPools: of.solUsd.pools,
  };
}

/** The sources, compared with each other. */
function readSources({ sources, router }: RunningParts) {
  return sources.all.map((source) => {
    const { slot, endpointsUp, holes } = source.health();
    const { first, confirmed, leadMs: total, contradicted, byEndpoint } = router.lead(source.name);
    /** By how much it was first on average, over the transactions that others reported too; null if there are none. */
    const leadMs = confirmed === 0 ? null : Math.round((1_000 * total) / confirmed) / 1_000;
    return { name: source.name, slot, endpointsUp, first, leadMs, holes, contradicted, contradictedBy: byEndpoint };
  });
}

function readVenues(pipeline: Pipeline | undefined) {
  const venues: Record<string, { events: VenueCounts; accounts: VenueCounts; lost: number; missed: number }> = {};
  for (const [name, counts] of pipeline?.decoder.counts ?? []) {
    const { decoder, lost, emitter } = pipeline!;
    const events = { lost: lost.get(name) ?? 0, missed: emitter.missed.get(name) ?? 0 };
    venues[name] = { events: { ...counts }, accounts: { ...decoder.accountCounts.get(name)! }, ...events };
  }
  return venues;
}

/** Null without a price, also if the pools contradict each other; `stale` if it is too old to use. */
function readSolUsd({ current, ageMs }: SolUsdFeed) {
  return current && { price: current.price, slot: current.slot, ageMs, stale: ageMs > solUsdStaleAfterMs };
}
