import type { BusCounters, BusSubscriber, EpochPlace, LogEntry, Loss } from '@sluice/shared/bus/bus.ts';
import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import type { LogBounds } from '@sluice/shared/config/memory-bounds.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { MarketReader } from '@sluice/shared/market/market.ts';
import { isPause } from '@sluice/shared/market/pause.ts';
import { readVerdict, type SlotVerdict } from '@sluice/shared/market/slot-verdict.ts';
import type { CommandId } from '@sluice/shared/wire/commands.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import type { Reply } from '@sluice/shared/wire/replies.ts';
import type { Authenticator, Principal } from '../auth/principal.ts';
import { anchorClock, nowUs } from '../clock.ts';
import type { Admission, Admit } from './admission.ts';
import type { Socket } from '../transport/transport.ts';
import { BufferWatch, maxWaitingBytes } from './buffer-watch.ts';
import { CatchUps, type CatchUp } from './catch-up.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { Dialect } from './dialect.ts';
import { EventCell } from './event-cell.ts';
import { Fanout, type Publish } from './fanout.ts';
import { heartbeatFor, HeartbeatRooms, heartbeatSlices, wantsHeartbeat } from './heartbeat.ts';
import { HeldMessages } from './held-messages.ts';
import { History } from './history.ts';
import { KeyUsages, type KeyUsage } from './key-usage.ts';
import { Pauses } from './pauses.ts';
import { usedOutOfReach } from './plan-reach.ts';
import { isPrivate, type PrivateEvents } from './private-events.ts';
import { refusal, Session, type Action, type SessionGrant } from './protocol.ts';
import { StreamStats } from './stats.ts';
import { listOf, subscribe, unsubscribe, type StreamParts } from './subscriptions.ts';
import { UnseenSlots } from './unseen.ts';
import { Wants } from './wants.ts';

export interface HubOptions {
  readonly authenticator: Pick<Authenticator, 'principalOf'>;
  /** Judges the key of a first message. */
  readonly admit: Admit;
  readonly subscriber: BusSubscriber;
  /** Opens the events that belong to one key. */
  readonly events: Pick<PrivateEvents, 'open'>;
  /** Bounds of the events in memory for resuming clients. */
  readonly history: LogBounds;
  readonly publish: Publish;
  readonly market: Pick<MarketReader, 'want'>;
  readonly log: Logger;
}

/** What is told of the log beside the stream, in log order: after `follow`, everything. */
export interface LogFollower {
  onEntry(entry: LogEntry, cell: EventCell, replayed: boolean): void;
  /** Entries up to offset `last` cannot be had, or are not those that were handed on before. */
  onLost(last: number): void;
}

const tickMs = streamLimits.heartbeatMs / heartbeatSlices;
/**
 * Looks a second at what waits for each connection. It lies in one piece of memory, and when that is full it is copied into one of twice
 * the size, while everybody waits: who stalls is found before the piece of 4 MiB.
 */
const slowChecks = 4;
/** Bytes published between two looks at who is slow: well under what fits between the soft and the hard bound. */
const slowCheckBytes = 4 * 1024 * 1024;
/** A sample of the stream's latency at most this often. */
const latencySampleMs = 1;
/** Between two slices of draining, and the connections of one at least: 500 a second is nothing to the gateways that they go to. */
const drainEveryMs = 100;
const leastDrainSlice = 50;
/** Of the time for draining; in the rest those go who came late. */
const drainedShare = 0.95;
const publishedMark = Buffer.from('"published":');

function grantOf({ plan }: Principal, usage: KeyUsage): SessionGrant {
  return { commandsPerSecond: plan.commandsPerSecond, keyWork: usage.work };
}

/** All connections of the stream, what they follow, and the one flow of events to them. */
export class Hub {
  readonly stats = new StreamStats();
  readonly history: History;
  readonly fanout: Fanout;
  readonly dialect: Dialect;
  readonly #options: HubOptions;
  readonly #bus: BusSubscriber;
  readonly #catchUps: CatchUps;
  readonly #pauses: Pauses;
  readonly #unseen: UnseenSlots;
  readonly #wants: Wants;
  /** What commands work on. */
  readonly #parts: StreamParts;
  readonly #heartbeats = new HeartbeatRooms();
  /** Every connection, by the part of a second in which it is looked at. */
  readonly #slices: readonly Set<Connection>[] = Array.from({ length: heartbeatSlices }, () => new Set<Connection>());
  /** Connections that a message was lost for; nothing more may reach them. */
  readonly #doomed = new Set<Connection>();
  #reaping: NodeJS.Immediate | null = null;
  /** What each key holds. */
  readonly usages = new KeyUsages();
  readonly #buffers = new BufferWatch<Connection>(heartbeatSlices);
  #connections = 0;
  #strangers = 0;
  #tick = 0;
  #startedAtMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #checkedAtBytes = 0;
  #sampledAtMs = 0;
  #linkUp = false;
  #caughtUp = false;
  #draining = false;
  /** Once is enough: from then on they are counted. */
  #forgeryLogged = false;
  readonly #followers: LogFollower[] = [];

  constructor(options: HubOptions) {
    this.#options = options;
    this.#bus = options.subscriber;
    this.history = new History(options.history);
    this.#unseen = new UnseenSlots(this.history);
    this.fanout = new Fanout(options.publish, this.stats, options.subscriber, this.history);
    this.dialect = new Dialect((room, message, binary) => this.fanout.publish(room, message, binary));
    this.#pauses = new Pauses(this.history);
    this.#catchUps = new CatchUps(this.history, options.subscriber, this.stats, this.#pauses);
    this.#wants = new Wants({
      market: options.market,
      log: options.log,
      isFollowed: (topic) => this.fanout.topic(topic) !== undefined,
      onRefused: (topic) => this.#tellUnwatched(topic),
    });
    this.#parts = {
      fanout: this.fanout,
      history: this.history,
      bus: this.#bus,
      pauses: this.#pauses,
      unseen: this.#unseen,
      wants: this.#wants,
    };
  }

  get connections(): number {
    return this.#connections;
  }

  /** Bytes that wait in this process for all connections, as of the last second. */
  get bufferedBytes(): number {
    return this.#buffers.bytes;
  }

  /** Connections that are being replayed to. */
  get catchUps(): number {
    return this.#catchUps.size;
  }

  get bus(): BusCounters {
    return this.#bus.counters;
  }

  /** Connections that have not authenticated yet. */
  get strangers(): number {
    return this.#strangers;
  }

  /** The bus is followed and its link is up. */
  get ready(): boolean {
    return this.#caughtUp && this.#linkUp;
  }

  get linkUp(): boolean {
    return this.#linkUp;
  }

  get epoch(): string {
    return this.#bus.epoch;
  }

  placeOf(epoch: string): EpochPlace | null {
    return this.#bus.placeOf(epoch);
  }

  /** Tells somebody of the log as well; before `start`. */
  follow(follower: LogFollower): void {
    this.#followers.push(follower);
  }

  /** Reads the history of the bus, then follows it. Resolves once caught up. */
  async start(): Promise<void> {
    this.#linkUp = true;
    await this.#bus.start({
      onEntry: (entry, replayed) => this.#onEntry(entry, replayed),
      onLost: (lost) => this.#onLost(lost),
      onEpoch: () => this.#onEpoch(),
      onLink: (up) => {
        this.#linkUp = up;
        this.#options.log[up ? 'info' : 'warn']({}, up ? 'bus_link_up' : 'bus_link_down');
      },
    });
    this.#caughtUp = true;
    this.#startedAtMs = performance.now();
    this.#timer = setInterval(() => this.#onTimer(), tickMs);
  }

  // --- Connections.

  /** Takes over a socket whose handshake was accepted. */
  open(socket: Socket, options: ConnectionOptions): Connection {
    const nowMs = Date.now();
    const usage = options.principal === null ? null : this.usages.enter(options.principal.keyId, nowMs);
    const session = new Session(nowMs, usage === null || options.principal === null ? null : grantOf(options.principal, usage));
    const slice = this.stats.connectionsOpened++ % heartbeatSlices;
    const connection = new Connection(socket, this, session, options, slice);
    connection.usage = usage;
    this.#slices[slice]!.add(connection);
    this.#connections++;
    if (usage === null) {
      this.#strangers++;
      connection.authTimer = setTimeout(() => connection.close('UNAUTHENTICATED', 'not authenticated in time'), streamLimits.authTimeoutMs);
    } else if (options.principal !== null && this.#currentOf(options.principal) !== options.principal) {
      // Not from within the transport's call.
      setImmediate(() => this.#recheck(connection));
    }
    return connection;
  }

  onMessage(connection: Connection, bytes: Uint8Array, binary: boolean): void {
    this.#reap();
    if (connection.ended) return;
    if (connection.held !== null) {
      if (!connection.held.add(bytes, binary)) connection.close('RATE_LIMIT', 'too much before the reply to auth');
      return;
    }
    this.stats.commands++;
    const nowMs = Date.now();
    const usedOps = connection.session.usesOps;
    this.#carryOut(connection, connection.session.receive(bytes, binary, nowMs), nowMs);
    if (!usedOps && connection.session.usesOps && !connection.ended) this.#heartbeats.place(connection);
  }

  onDrain(): void {
    this.#catchUps.wake();
  }

  /** A message for this connection had no room. Whatever came after it would be a hole that nobody told of. */
  onDropped(connection: Connection): void {
    this.stats.drops++;
    this.#doomed.add(connection);
    // Not from within the transport's call; and before anything else is published, see `#reap`.
    this.#reaping ??= setImmediate(() => this.#reap());
  }

  onClose(connection: Connection): void {
    this.#slices[connection.slice]!.delete(connection);
    this.#connections--;
    this.#doomed.delete(connection);
    if (connection.authTimer !== null) clearTimeout(connection.authTimer);
    for (const topic of connection.topics?.keys() ?? []) connection.drop(topic);
    this.dialect.leaveAll(connection);
    if (connection.usage === null) this.#strangers--;
    else this.usages.leave(connection.usage);
    this.#heartbeats.remove(connection);
  }

  /** A replay was given up with its subscription. */
  forget(catchUp: CatchUp): void {
    this.#catchUps.delete(catchUp);
  }

  /** The replay of a topic has come to its live end: from here on its group's room. */
  join(connection: Connection, catchUp: CatchUp): void {
    const { group } = catchUp;
    if (group.batch !== null) this.fanout.batcher.flush(group.batch);
    // A group that has seen no frame pass knows less of what passed before than who comes from the history.
    if (!group.exact) group.prev = Math.min(group.prev, catchUp.prev);
    connection.follow(group.topic.topic, group);
    this.#heartbeats.place(connection);
  }

  /** Closes every connection that stands on a credential which is no longer valid; returns how many there were. */
  disconnect(credential: string, reason: 'revoked' | 'expired' = 'revoked'): number {
    let closed = 0;
    for (const connection of this.#all()) {
      if (connection.principal?.credential !== credential) continue;
      connection.close('UNAUTHENTICATED', `key ${reason}`);
      closed++;
    }
    return closed;
  }

  /** Lets every connection of a credential go by its new plan. One that uses what the plan lacks is closed, as it would be refused now. */
  replan(principal: Principal): void {
    for (const connection of this.#all()) {
      if (connection.principal?.credential === principal.credential) this.#replan(connection, principal);
    }
  }

  #replan(connection: Connection, principal: Principal): void {
    if (connection.usage === null) return;
    connection.principal = principal;
    connection.session.accept(Date.now(), grantOf(principal, connection.usage));
    const beyond = usedOutOfReach(principal.plan, connection);
    if (beyond !== null) connection.close('FORBIDDEN', `the plan ${beyond.details.plan} has not ${beyond.details.feature}`);
  }

  // --- Commands.

  #carryOut(connection: Connection, action: Action, nowMs: number): void {
    switch (action.kind) {
      case 'authenticate':
        this.#authenticate(connection, action);
        return;
      case 'subscribe':
        this.#subscribe(connection, action, nowMs);
        return;
      case 'unsubscribe':
        connection.answer(unsubscribe(this.#parts, connection, action.command));
        this.#heartbeats.place(connection);
        return;
      case 'list':
        connection.answer(listOf(connection, action.id, action.after));
        return;
      case 'ping':
        connection.answer({ id: action.id, op: 'pong', ts: nowUs() });
        return;
      case 'dialect':
        connection.writeDialect(JSON.stringify({ message: this.dialect.execute(connection, action.command) }));
        return;
      case 'dialect_notice':
        this.stats.refusedCommands++;
        connection.writeDialect(JSON.stringify({ message: action.text }));
        return;
      case 'refused':
        this.#refuse(connection, action.reply, action.close);
    }
  }

  #refuse(connection: Connection, reply: Reply, close: ErrorCode | null): void {
    this.stats.refusedCommands++;
    connection.answer(reply);
    if (close !== null) connection.close(close, close);
  }

  /** The key may have ended, or changed its plan, while it was judged: who stands on it then was not there to be told. */
  #currentOf({ credential }: Principal): Principal | null {
    return this.#options.authenticator.principalOf(credential);
  }

  #recheck(connection: Connection): void {
    if (connection.principal === null) return;
    const principal = this.#currentOf(connection.principal);
    if (principal === null) connection.close('UNAUTHENTICATED', 'key revoked');
    else this.#replan(connection, principal);
  }

  /** Whatever else comes meanwhile waits, so that it is carried out in order. */
  #authenticate(connection: Connection, { id, key }: Extract<Action, { kind: 'authenticate' }>): void {
    connection.held = new HeldMessages();
    const { address, batch } = connection;
    const judged = this.#options.admit({ key }, { address, batch });
    judged
      .then((admission) => this.#judged(connection, id, admission))
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'authentication_failed');
        connection.close('INTERNAL', 'INTERNAL');
      });
  }

  #judged(connection: Connection, id: CommandId, admission: Admission): void {
    const held = connection.held?.all() ?? [];
    connection.held = null;
    if (connection.ended) return;
    this.#authenticated(connection, id, admission);
    for (const { bytes, binary } of held) this.onMessage(connection, bytes, binary);
  }

  #authenticated(connection: Connection, id: CommandId, admission: Admission): void {
    const known = connection.principal;
    // A connection that is good already stays so.
    const refuse = (code: ErrorCode, message?: string, details?: Readonly<Record<string, unknown>>): void =>
      this.#refuse(connection, refusal(id, code, message, details), known === null ? code : null);
    if (!admission.ok) {
      refuse(admission.code, admission.message, admission.details);
      return;
    }
    const principal = this.#currentOf(admission.principal);
    if (principal === null) {
      refuse('UNAUTHENTICATED');
      return;
    }
    if (known !== null && known.keyId !== principal.keyId) {
      this.#refuse(connection, refusal(id, 'INVALID_REQUEST', 'This connection is authenticated with another key.'), null);
      return;
    }
    if (known === null && this.usages.isFull(principal)) {
      refuse('RATE_LIMIT', 'This key has as many connections as it may.', { limit: principal.plan.connections });
      return;
    }
    this.#admit(connection, principal);
    connection.tell({ id, op: 'authenticated', keyId: principal.keyId, plan: principal.plan.name, scopes: [...principal.scopes] });
  }

  #admit(connection: Connection, principal: Principal): void {
    const nowMs = Date.now();
    connection.principal = principal;
    if (connection.usage === null) {
      connection.usage = this.usages.enter(principal.keyId, nowMs);
      this.#strangers--;
    }
    connection.session.accept(nowMs, grantOf(principal, connection.usage));
    if (connection.authTimer !== null) clearTimeout(connection.authTimer);
    connection.authTimer = null;
    this.#heartbeats.place(connection);
  }

  #subscribe(connection: Connection, { command }: Extract<Action, { kind: 'subscribe' }>, nowMs: number): void {
    const { reply, gaps, replays } = subscribe(this.#parts, connection, command, nowMs);
    if (reply.op === 'error') this.stats.refusedCommands++;
    connection.answer(reply);
    for (const gap of gaps) {
      this.stats.gaps++;
      connection.tell(gap);
    }
    if (connection.ended) return;
    for (const replay of replays) this.#catchUps.add(replay);
    this.#heartbeats.place(connection);
  }

  // --- Events.

  #onEntry(logged: LogEntry, replayed: boolean): void {
    this.#reap();
    this.stats.events++;
    const entry = isPrivate(logged) ? this.#options.events.open(logged) : logged;
    if (entry === null) {
      this.#onForged(logged);
      return;
    }
    this.history.append(entry);
    const verdict = readVerdict(entry);
    if (verdict !== null) this.#onVerdict(verdict, entry.offset);
    else if (isPause(entry)) this.#onPause(entry);
    else {
      const cell = new EventCell(entry);
      this.fanout.onEntry(entry, cell);
      this.dialect.onEntry(entry, cell);
      for (const follower of this.#followers) follower.onEntry(entry, cell, replayed);
    }
    if (this.#catchUps.size > 0) this.#catchUps.wake();
    if (!replayed) this.#sampleLatency(entry);
    if (this.stats.publishedBytes - this.#checkedAtBytes > slowCheckBytes) {
      for (let slice = 0; slice < heartbeatSlices; slice++) this.#closeSlow(slice);
      this.#checkedAtBytes = this.stats.publishedBytes;
    }
  }

  #onVerdict(verdict: SlotVerdict, offset: number): void {
    this.fanout.onVerdict(verdict);
    if (verdict.lost === undefined) return;
    this.#unseen.add(offset, verdict.lost);
    this.fanout.onUnseen(verdict.lost);
    this.#catchUps.onUnseen(verdict.lost);
  }

  #onPause(entry: LogEntry): void {
    this.#pauses.add(entry);
    this.fanout.skip(entry, 'unwatched');
  }

  /** No event of ours: nobody gets it, and it is in no history. Its place in the topic is told as lost. */
  #onForged(entry: LogEntry): void {
    if (!this.#forgeryLogged) this.#options.log.error({ offset: entry.offset }, 'private_event_refused');
    this.#forgeryLogged = true;
    this.fanout.skip(entry, 'lost');
  }

  #tellUnwatched(name: string): void {
    const topic = this.fanout.topic(name);
    if (topic !== undefined) this.fanout.gap(topic, topic.seq + 1, null, 'unwatched');
  }

  #onLost({ from, to, reason, last }: Loss): void {
    this.#reap();
    this.stats.lostEntries += Math.max(0, to - from + 1);
    this.#options.log.warn({ from, to, reason }, 'bus_entries_lost');
    if (reason === 'epoch') {
      this.history.clear();
      this.#pauses.clear();
      this.#unseen.clear();
    }
    this.history.lose(last);
    this.fanout.onLost(reason);
    for (const follower of this.#followers) follower.onLost(last);
    if (reason === 'epoch') this.#catchUps.onReset();
    this.#catchUps.wake();
  }

  /** Nothing is missing: what is kept stays true. */
  #onEpoch(): void {
    this.#reap();
    this.#catchUps.onEpoch();
    this.fanout.onEpoch();
  }

  #sampleLatency({ json }: LogEntry): void {
    const nowMs = performance.now();
    if (nowMs - this.#sampledAtMs < latencySampleMs) return;
    this.#sampledAtMs = nowMs;
    const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
    const at = bytes.indexOf(publishedMark);
    if (at === -1) return;
    let published = 0;
    for (let i = at + publishedMark.length; bytes[i]! >= 0x30 && bytes[i]! <= 0x39; i++) published = published * 10 + bytes[i]! - 0x30;
    this.stats.latencyUs.record(nowUs() - published);
  }

  // --- Time.

  /** Serves the slices that are due: several where the loop was held up, but each only once. */
  #onTimer(): void {
    this.#reap();
    const due = Math.floor((performance.now() - this.#startedAtMs) / tickMs);
    this.#tick = Math.max(this.#tick, due - heartbeatSlices);
    while (this.#tick < due) this.#onTick(++this.#tick);
    this.#catchUps.wake();
  }

  #onTick(tick: number): void {
    const slice = tick % heartbeatSlices;
    if (slice === 0) anchorClock();
    const members = this.#slices[slice]!;
    for (let at = 0; at < heartbeatSlices; at += heartbeatSlices / slowChecks) this.#closeSlow((slice + at) % heartbeatSlices);
    this.#checkSigns(members);
    this.#heartbeats.beat(slice, this.fanout, this.#bus, this.#options.publish);
    for (const connection of members) {
      if (connection.heartbeatRoom !== null || !wantsHeartbeat(connection)) continue;
      connection.write(heartbeatFor(connection, this.fanout, this.#bus));
      connection.heartbeatAtTick = tick;
    }
    this.fanout.tick(tick);
  }

  /** Looks at who reads too slowly. Below the hard bound a close frame still fits. */
  #closeSlow(slice: number): void {
    for (const connection of this.#buffers.look(slice, this.#slices[slice]!, performance.now())) {
      this.stats.slowCloses++;
      connection.close('SLOW_CONSUMER', 'slow consumer');
    }
    if (this.#buffers.bytes <= maxWaitingBytes) return;
    for (const connection of this.#buffers.shed(this.#slices)) {
      this.stats.slowCloses++;
      // With a close frame what waits would stay until it is read.
      connection.destroy();
    }
  }

  #checkSigns(members: ReadonlySet<Connection>): void {
    for (const connection of members) {
      const silentMs = ++connection.silentChecks * streamLimits.heartbeatMs;
      if (silentMs >= streamLimits.silentMs) {
        this.stats.silentCloses++;
        connection.closeSilent();
      } else if (silentMs === streamLimits.pingAfterMs) connection.ping();
    }
  }

  /** Cuts those for whom something was lost, before anything more is sent to anybody. */
  #reap(): void {
    if (this.#reaping === null) return;
    clearImmediate(this.#reaping);
    this.#reaping = null;
    for (const connection of this.#doomed) {
      this.stats.slowCloses++;
      connection.close('SLOW_CONSUMER', 'slow consumer');
      connection.destroy();
    }
    this.#doomed.clear();
  }

  *#all(): Generator<Connection> {
    for (const slice of this.#slices) yield* slice;
  }

  // --- The end.

  /**
   * Tells every client to come back elsewhere and closes it with 4012, some at a time, so that the others are not run down: all within
   * `withinMs`, and in much less where there are few. Who connects meanwhile is handed off as well.
   */
  async drain({ withinMs, reconnectWithinMs }: { readonly withinMs: number; readonly reconnectWithinMs: number }): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    const startMs = performance.now();
    const endMs = startMs + withinMs + drainEveryMs;
    const doneAtMs = startMs + withinMs * drainedShare;
    for (;;) {
      this.fanout.batcher.flushAll();
      // Turns come late where there is much to do: those who are left are spread over the time that is left.
      const leftMs = Math.max(drainEveryMs, doneAtMs - performance.now());
      const slice = Math.max(leastDrainSlice, Math.ceil((this.#connections * drainEveryMs) / leftMs));
      let handedOff = 0;
      for (const connection of this.#all()) {
        if (handedOff++ === slice) break;
        if (wantsHeartbeat(connection)) connection.tell({ op: 'draining', reconnectWithinMs });
        connection.close('DRAINING', 'restarting');
      }
      if (this.#connections === 0) return;
      await new Promise((resolve) => setTimeout(resolve, drainEveryMs));
      if (performance.now() < endMs) continue;
      // Who came faster than they could be handed off is cut.
      for (const connection of this.#all()) connection.destroy();
      return;
    }
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    if (this.#reaping !== null) clearImmediate(this.#reaping);
    this.#reaping = null;
    this.#catchUps.close();
    this.#wants.close();
    this.fanout.batcher.flushAll();
    for (const connection of this.#all()) connection.destroy();
  }
}
