import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { LogBounds } from '@sluice/shared/config/memory-bounds.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { MarketReader } from '@sluice/shared/market/market.ts';
import type { Authenticator } from '../auth/principal.ts';
import { CandleDemand } from './commands/candle-demand.ts';
import { Commands } from './commands/commands.ts';
import { Connections } from './connections/connections.ts';
import { HeartbeatRooms } from './connections/heartbeat.ts';
import { Slices } from './connections/slices.ts';
import { SlowConsumers } from './connections/slow-consumers.ts';
import type { StreamParts } from './connections/stream-parts.ts';
import { Ticker } from './connections/ticker.ts';
import { Delivery } from './delivery/delivery.ts';
import type { PrivateEvents } from './delivery/private-events.ts';
import { PumpPortalDialect } from './dialects/pumpportal.ts';
import { Fanout } from './fanout/fanout.ts';
import { StreamStats } from './fanout/stream-stats.ts';
import type { Publish } from './fanout/topic-group.ts';
import { History } from './history/history.ts';
import { CatchUps } from './replay/catch-up.ts';
import type { Admit } from './session/admission.ts';

export interface HubOptions {
  readonly authenticator: Pick<Authenticator, 'principalOf'>;
  readonly admit: Admit;
  readonly subscriber: BusSubscriber;
  /** Opens the events that belong to one key. */
  readonly events: Pick<PrivateEvents, 'open'>;
  /** Bounds of the events in memory for resuming clients. */
  readonly history: LogBounds;
  readonly publish: Publish;
  readonly market: Pick<MarketReader, 'reportDemand'>;
  /** Serve PumpPortal clients without a key. */
  readonly servesKeyless: boolean;
  readonly slotAgeMs: StreamParts['slotAgeMs'];
  readonly changedVenues: StreamParts['changedVenues'];
  readonly clock?: Clock;
  readonly log: Logger;
}

/** The stream of one gateway. Connects its parts; each rule is in one of them. */
export class Hub {
  readonly stats = new StreamStats();
  readonly history: History;
  readonly fanout: Fanout;
  readonly dialect: PumpPortalDialect;
  readonly bus: BusSubscriber;
  readonly slowConsumers: SlowConsumers;
  readonly catchUps: CatchUps;
  readonly connections: Connections;
  readonly delivery: Delivery;
  readonly #candleDemand: CandleDemand;
  readonly #ticker: Ticker;

  constructor(options: HubOptions) {
    const { subscriber: bus, clock = systemClock } = options;
    const { stats } = this;
    const slices = new Slices();
    const slowConsumers = new SlowConsumers(slices, stats, clock);
    const history = new History(options.history);
    const fanout = new Fanout(options.publish, stats, bus, history);
    const dialect = new PumpPortalDialect(fanout.publish);
    const catchUps = new CatchUps({ bus, history }, stats, clock);
    const heartbeats = new HeartbeatRooms({ ...options, fanout, bus });
    const parts = { ...options, bus, history, fanout, dialect, catchUps, heartbeats, slices, slowConsumers, stats, clock };
    const candleDemand = new CandleDemand(parts);
    const connections = new Connections({
      ...parts,
      onMessage: (connection, bytes, binary) => commands.receive(connection, bytes, binary),
    });
    const commands = new Commands({ ...parts, connections, candleDemand });
    this.history = history;
    this.fanout = fanout;
    this.dialect = dialect;
    this.bus = bus;
    this.slowConsumers = slowConsumers;
    this.catchUps = catchUps;
    this.connections = connections;
    this.delivery = new Delivery(parts);
    this.#candleDemand = candleDemand;
    this.#ticker = new Ticker(parts);
  }

  /** Reads the history of the bus, then follows it. Resolves once it has caught up. */
  async start(): Promise<void> {
    await this.delivery.start();
    this.#ticker.start();
  }

  close(): void {
    this.#ticker.close();
    this.slowConsumers.close();
    this.catchUps.close();
    this.#candleDemand.close();
    this.fanout.batcher.flushAll();
    this.connections.close();
  }
}
