import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { LogBounds } from '@sluice/shared/config/memory-bounds.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { MarketReader } from '@sluice/shared/market/market.ts';
import type { Authenticator, Principal } from '../auth/principal.ts';
import type { StreamSocket } from '../transport/transport.ts';
import { CandleDemand } from './commands/candle-demand.ts';
import { Commands } from './commands/commands.ts';
import { Connections } from './connections/connections.ts';
import { drainConnections, type DrainTimes } from './connections/drain.ts';
import { HeartbeatRooms } from './connections/heartbeat.ts';
import { Slices } from './connections/slices.ts';
import { SlowConsumers } from './connections/slow-consumers.ts';
import { Ticker } from './connections/ticker.ts';
import { Delivery, type LogListener } from './delivery/delivery.ts';
import type { PrivateEvents } from './delivery/private-events.ts';
import { PumpPortalDialect } from './dialects/pumpportal.ts';
import { Fanout } from './fanout/fanout.ts';
import { StreamStats } from './fanout/stream-stats.ts';
import type { Publish } from './fanout/topic-group.ts';
import { CandlePauses } from './history/candle-pauses.ts';
import { History } from './history/history.ts';
import { SlotLosses } from './history/slot-losses.ts';
import { CatchUps, type FindResumePoint } from './replay/catch-up.ts';
import { resumePoint } from './replay/resume-point.ts';
import type { Admit } from './session/admission.ts';
import type { Connection, ConnectionOptions } from './session/connection.ts';
import type { KeyUsages } from './session/key-usage.ts';
import type { KeylessUsages } from './session/keyless-usage.ts';

export interface HubOptions {
  readonly authenticator: Pick<Authenticator, 'principalOf'>;
  /** Checks the key of an `auth` command. */
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
  /** Time since ingest last saw a newer slot; null before its first report. */
  readonly slotAgeMs: () => number | null;
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
  readonly #clock: Clock;
  readonly #slices = new Slices();
  readonly slowConsumers: SlowConsumers;
  readonly catchUps: CatchUps;
  readonly #candleDemand: CandleDemand;
  readonly #connections: Connections;
  readonly delivery: Delivery;
  readonly #ticker: Ticker;
  #draining = false;

  constructor(options: HubOptions) {
    const {
      authenticator,
      admit,
      subscriber: bus,
      events,
      history: bounds,
      publish,
      market,
      slotAgeMs,
      clock = systemClock,
      log,
    } = options;
    const { stats } = this;
    const slices = this.#slices;
    const slowConsumers = new SlowConsumers(slices, stats, clock);
    const history = new History(bounds);
    const pauses = new CandlePauses(history);
    const losses = new SlotLosses(history);
    const fanout = new Fanout(publish, stats, bus, history);
    const dialect = new PumpPortalDialect(fanout.publish);
    const resume: FindResumePoint = (topic, since, current) => resumePoint({ bus, history, pauses, losses }, topic, since, current);
    const catchUps = new CatchUps(history, bus, stats, pauses, resume, clock);
    const heartbeats = new HeartbeatRooms({ fanout, bus, publish, slotAgeMs });
    const shared = {
      bus,
      history,
      pauses,
      losses,
      fanout,
      dialect,
      catchUps,
      heartbeats,
      slices,
      slowConsumers,
      stats,
      publish,
      slotAgeMs,
      clock,
      log,
    };
    const candleDemand = new CandleDemand({
      market,
      clock,
      log,
      isFollowed: (topic) => fanout.topic(topic) !== undefined,
      onRefused: (topic) => fanout.reportUnwatched(topic),
    });
    const connections = new Connections({
      ...shared,
      authenticator,
      servesKeyless: options.servesKeyless,
      onMessage: (connection, bytes, binary) => commands.receive(connection, bytes, binary),
    });
    const commands = new Commands({ ...shared, admit, connections, candleDemand });
    this.history = history;
    this.fanout = fanout;
    this.dialect = dialect;
    this.bus = bus;
    this.#clock = clock;
    this.slowConsumers = slowConsumers;
    this.catchUps = catchUps;
    this.#candleDemand = candleDemand;
    this.#connections = connections;
    this.delivery = new Delivery({ ...shared, events });
    this.#ticker = new Ticker(shared);
  }

  get connections(): number {
    return this.#slices.size;
  }

  /** Connections that have not authenticated yet. */
  get unauthenticated(): number {
    return this.#connections.unauthenticated;
  }

  /** Connections whose messages are compressed. */
  get compressed(): number {
    return this.#connections.compressed;
  }

  /** What each key uses. */
  get usages(): KeyUsages {
    return this.#connections.usages;
  }

  /** What each address without a key uses; null if such clients are not served. */
  get keylessUsages(): KeylessUsages | null {
    return this.#connections.keylessUsages;
  }

  /** Adds a listener to the log inside this gateway. Call it before `start`. */
  listen(listener: LogListener): void {
    this.delivery.listen(listener);
  }

  /** Reads the history of the bus, then follows it. Resolves once it has caught up. */
  async start(): Promise<void> {
    await this.delivery.start();
    this.#ticker.start();
  }

  /** Takes over a socket whose handshake was accepted. */
  open(socket: StreamSocket, options: ConnectionOptions): Connection {
    return this.#connections.open(socket, options);
  }

  /** Closes every connection that authenticated with a credential that is no longer valid. Returns their number. */
  disconnect(credential: string, reason?: 'revoked' | 'expired'): number {
    return this.#connections.disconnect(credential, reason);
  }

  /** Applies a new plan to every connection of a credential. */
  applyPlan(principal: Principal): void {
    this.#connections.applyPlan(principal);
  }

  /** Closes every connection with 4012, so that its client connects to another gateway. */
  async drain(times: DrainTimes): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    await drainConnections(this.#slices, this.fanout, times, this.#clock);
  }

  close(): void {
    this.#ticker.close();
    this.slowConsumers.close();
    this.catchUps.close();
    this.#candleDemand.close();
    this.fanout.batcher.flushAll();
    this.#connections.close();
  }
}
