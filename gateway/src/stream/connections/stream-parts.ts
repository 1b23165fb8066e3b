import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import type { VenueName } from '@sluice/shared/wire/venues.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { PumpPortalDialect } from '../dialects/pumpportal.ts';
import type { Fanout } from '../fanout/fanout.ts';
import type { StreamStats } from '../fanout/stream-stats.ts';
import type { History } from '../history/history.ts';
import type { CatchUps } from '../replay/catch-up.ts';
import type { HeartbeatRooms } from './heartbeat.ts';
import type { Slices } from './slices.ts';
import type { SlowConsumers } from './slow-consumers.ts';

/** The parts of one gateway's stream that the others use. */
export interface StreamParts {
  readonly bus: BusSubscriber;
  readonly history: History;
  readonly fanout: Fanout;
  readonly dialect: PumpPortalDialect;
  readonly catchUps: CatchUps;
  readonly slices: Slices;
  readonly slowConsumers: SlowConsumers;
  readonly heartbeats: HeartbeatRooms;
  /** Time since ingest last saw a newer slot; null before its first report. */
  readonly slotAgeMs: () => number | null;
  /** Venues of which ingest cannot decode many events. Another list only if they are others. */
  readonly changedVenues: () => readonly VenueName[];
  readonly stats: StreamStats;
  readonly clock: Clock;
  readonly log: Logger;
}
