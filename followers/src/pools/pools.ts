import type { LeaseTerm, LogEntry } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import { depthInSol } from '@sluice/shared/market/pools/depth.ts';
import type { PoolDirectory, PoolSighting } from '@sluice/shared/market/pools/pool-directory.ts';
import { readPoolNews } from '@sluice/shared/market/pools/pool-news.ts';
import type { NewTokenEvent, PoolEvent, StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { allPoolsTopic, allTradesTopic, migrationsTopic, newTokensTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { LogFollower, OpenState } from '../kit/follower.ts';
import { readEvent } from '../kit/market-event.ts';

/** Pools whose last written depth is remembered. A forgotten one is written again at its next trade. */
const maxWritten = 200_000;
/** A pool is written again if its depth has changed by this part. */
const changedBy = 0.2;
/** A pool that still trades is also written again after this time, so that it does not become the oldest of the directory. */
const writeAgainAfterMs = 10 * 60_000;

const typesOfPools: ReadonlySet<string> = new Set(['newToken', 'poolCreated', 'liquidityAdded', 'liquidityRemoved'] satisfies (
  | NewTokenEvent
  | PoolEvent
)['type'][]);

/**
 * Keeps the directory of pools from the creations, opened pools, their liquidity, trades and migrations in the log. The directory is a hint, so it is not exact under
 * retraction: a pool of a dead fork stays in it.
 */
export class Pools implements LogFollower<PoolSighting> {
  readonly name = 'pools';
  readonly read = readSighting;
  readonly #directory: PoolDirectory;
  readonly #clock: Clock;

  constructor({ pools, clock = systemClock }: { readonly pools: PoolDirectory; readonly clock?: Clock }) {
    this.#directory = pools;
    this.#clock = clock;
  }

  async open(leaseTerm: LeaseTerm): Promise<OpenState<PoolSighting>> {
    const directory = this.#directory;
    const written = new Recent<{ readonly depthSol: number; readonly atMs: number }>(maxWritten);
    const isNews = ({ address, depthSol }: PoolSighting, nowMs: number): boolean => {
      const last = written.get(address);
      if (last === undefined || nowMs - last.atMs > writeAgainAfterMs) return true;
      return Math.abs(depthSol - last.depthSol) > changedBy * last.depthSol;
    };
    return {
      checkpoint: await directory.checkpoint(),
      apply: async ({ events, to }) => {
        const nowMs = this.#clock.steadyMs();
        const news: PoolSighting[] = [];
        for (const sighting of events) {
          if (!isNews(sighting, nowMs)) continue;
          written.set(sighting.address, { depthSol: sighting.depthSol, atMs: nowMs });
          news.push(sighting);
        }
        return directory.note(news, to, leaseTerm);
      },
      close: async () => undefined,
    };
  }
}

function readSighting(entry: LogEntry): PoolSighting | null {
  const topic = entry.topics[0]?.topic;
  if (topic === newTokensTopic || topic === allPoolsTopic) return readPool(entry.eventOrNull);
  if (topic === allTradesTopic || topic === migrationsTopic) {
    const event = readEvent(entry);
    if (event?.kind !== 'trade') return null;
    const { pool: venue, poolAddress: address, quoteMint, slot, depthSol } = event.trade;
    return { mint: event.mint, venue, address, quoteMint, depthSol: depthSol ?? 0, slot };
  }
  const news = readPoolNews(entry);
  if (news === null) return null;
  const { mint, venue, address, quoteMint, depthSol, slot } = news;
  return { mint, venue, address, quoteMint, depthSol, slot };
}

/** The pool that a coin begins in, or that was opened, filled or drained. Null for other events: the bus carries any, not only those that ingest publishes. */
function readPool(read: StreamEvent | null): PoolSighting | null {
  const event = read as Partial<NewTokenEvent> | null;
  if (event?.type === undefined || !typesOfPools.has(event.type) || event.reserves === undefined) return null;
  const { mint, pool: venue, poolAddress: address, quoteMint, slot } = event as NewTokenEvent;
  const depthSol = depthInSol(event as NewTokenEvent);
  // A change of unknown depth says nothing that the directory does not know better.
  if (depthSol === null && event.type.startsWith('liquidity')) return null;
  return { mint, venue, address, quoteMint, depthSol: depthSol ?? 0, slot };
}
