import type { FollowersStats } from '@sluice/followers/index.ts';
import type { Continuity, ContinuityStats } from './continuity/continuity.ts';
import type { MetadataCounts, NewTokenMetadata } from './metadata/token-metadata.ts';
import type { DecodeFault, VenueCounts } from './pipeline/decode.ts';
import type { EmitCounts } from './pipeline/emit.ts';
import { noPipelineCounts, type Pipeline, type PipelineCounts } from './pipeline/pipeline.ts';
import { solUsdStaleAfterMs } from './pipeline/price.ts';
import type { SolUsdFeed } from './pipeline/sol-usd.ts';
import type { Publisher, PublisherCounts } from './publisher/publisher.ts';
import type { Report } from './report.ts';
import type { SightingCounts, SightingRouter } from './continuity/sighting-router.ts';
import { noCounts, type EndpointHealth, type SourceCounts, type SourceHealth } from './sources/source.ts';
import type { Sources } from './sources/sources.ts';
import manifest from '../package.json' with { type: 'json' };

/** Statistics of an ingest process: in `stats()`, and ten times a second as the status `ingest:<instance>` on the bus. */
export interface IngestStats {
  readonly instance: string;
  /** Version of the program. */
  readonly version: string;
  readonly uptimeMs: number;
  /** Whether this process publishes; one of several does. */
  readonly leads: boolean;
  /** Whether the chain is the simulated one; null before the genesis hash is known. */
  readonly simulated: boolean | null;
  /** Newest slot that sources report; 0 before the first. */
  readonly slot: number;
  /** Time since a newer slot was reported; null before the first. */
  readonly slotAgeMs: number | null;
  /** The bus reports the leader, and accepts batches. */
  readonly busAnswers: boolean;
  readonly endpointsUp: number;
  readonly endpoints: readonly EndpointHealth[];
  /** In the order of the settings. */
  readonly sources: readonly SourceStats[];
  readonly blindPeriods: number;
  /** Null before the genesis hash is known. */
  readonly continuity: ContinuityStats | null;
  readonly notifications: SourceCounts;
  readonly sightings: SightingCounts;
  readonly pipeline: PipelineCounts & {
    readonly waiting: number;
    readonly pools: number;
    /** Self-CPIs in whole transactions that look like events of a venue but are not. */
    readonly refusedLookAlikes: number;
  };
  readonly events: EmitCounts;
  readonly venues: Readonly<Record<string, { readonly events: VenueCounts; readonly accounts: VenueCounts }>>;
  readonly faults: readonly (DecodeFault & { readonly total: number })[];
  readonly publisher: PublisherCounts & { readonly buffered: number };
  /** Off-chain metadata of new tokens: published documents, and tokens that wait for theirs. */
  readonly metadata: MetadataCounts & { readonly waiting: number };
  /** State of the market and the candles made from it. */
  readonly market: FollowersStats['market'] & Pick<FollowersStats, 'restarts'>;
  /** Directory of pools. */
  readonly pools: FollowersStats['pools'];
  /** Null before the first; `stale` if it is too old to use. */
  readonly solUsd: { readonly price: number; readonly slot: number; readonly ageMs: number; readonly stale: boolean } | null;
}

/** A source, compared with the others. Counts since the start. */
export interface SourceStats {
  readonly name: string;
  /** Newest slot that it reported; 0 before the first. */
  readonly slot: number;
  /** Endpoints that report. */
  readonly endpointsUp: number;
  /** Transactions that it reported before all others. */
  readonly first: number;
  /** By how much it was first on average, over the transactions that others reported too; null if there are none. */
  readonly leadMs: number | null;
  /** Slots of which it knows that it missed something. */
  readonly holes: number;
  /** Transactions that it reported with other contents than the confirmed block has. */
  readonly contradicted: number;
}

const notStarted: SourceHealth = {
  slot: 0,
  slotAgeMs: null,
  endpointsUp: 0,
  holes: 0,
  blindPeriods: 0,
  endpoints: [],
  counts: noCounts(),
};
const noSightings: SightingCounts = { new: 0, repeated: 0, decodedAgain: 0, otherSlot: 0, otherContents: 0, deadSlot: 0 };
const noEvents: EmitCounts = { trades: 0, prices: 0, newTokens: 0, migrations: 0, discontinuities: 0, unpublishedChanges: 0 };

/** Parts that exist once the genesis hash of the cluster is known. */
export interface RunningParts {
  readonly simulated: boolean;
  readonly pipeline: Pipeline;
  readonly sources: Sources;
  readonly router: SightingRouter;
  readonly continuity: Continuity;
}

export function readStats(of: {
  readonly instance: string;
  /** By the steady clock. */
  readonly startedAtMs: number;
  readonly running: RunningParts | null;
  readonly publisher: Publisher;
  readonly followers: { readonly stats: FollowersStats };
  readonly solUsd: SolUsdFeed;
  readonly tokenMetadata: NewTokenMetadata;
  readonly report: Report;
}): IngestStats {
  const { running, publisher } = of;
  const { market, pools, restarts } = of.followers.stats;
  const health = running?.sources.health() ?? notStarted;
  return {
    instance: of.instance,
    version: manifest.version,
    uptimeMs: Math.round(performance.now() - of.startedAtMs),
    leads: publisher.leads,
    simulated: running?.simulated ?? null,
    slot: health.slot,
    slotAgeMs: health.slotAgeMs,
    busAnswers: publisher.busAnswers,
    endpointsUp: health.endpointsUp,
    endpoints: health.endpoints,
    sources: running === null ? [] : readSources(running),
    blindPeriods: health.blindPeriods,
    continuity: running?.continuity.stats ?? null,
    notifications: health.counts,
    sightings: { ...(running?.router.counts ?? noSightings) },
    pipeline: {
      ...(running?.pipeline.counts ?? noPipelineCounts()),
      waiting: running?.pipeline.waiting ?? 0,
      pools: running?.pipeline.book.size ?? 0,
      refusedLookAlikes: running?.pipeline.decoder.refusedLookAlikes ?? 0,
    },
    events: { ...(running?.pipeline.emitter.counts ?? noEvents) },
    venues: readVenues(running?.pipeline),
    faults: of.report.faults,
    publisher: { ...publisher.counts, buffered: publisher.buffered },
    metadata: { ...of.tokenMetadata.counts, waiting: of.tokenMetadata.waiting },
    market: { ...market, restarts },
    pools,
    solUsd: readSolUsd(of.solUsd),
  };
}

function readSources({ sources, router }: RunningParts): SourceStats[] {
  return sources.all.map((source) => {
    const { slot, endpointsUp, holes } = source.health();
    const { first, confirmed, leadMs: total, contradicted } = router.lead(source.name);
    const leadMs = confirmed === 0 ? null : Math.round((1_000 * total) / confirmed) / 1_000;
    return { name: source.name, slot, endpointsUp, first, leadMs, holes, contradicted };
  });
}

function readVenues(pipeline: Pipeline | undefined): IngestStats['venues'] {
  const venues: Record<string, { events: VenueCounts; accounts: VenueCounts }> = {};
  for (const [name, counts] of pipeline?.decoder.counts ?? []) {
    venues[name] = { events: { ...counts }, accounts: { ...pipeline!.decoder.accountCounts.get(name)! } };
  }
  return venues;
}

function readSolUsd({ current, ageMs }: SolUsdFeed): IngestStats['solUsd'] {
  if (current === null) return null;
  return { price: current.price, slot: current.slot, ageMs, stale: ageMs > solUsdStaleAfterMs };
}
