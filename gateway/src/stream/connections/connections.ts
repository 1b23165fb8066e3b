import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { missingUsedFeature } from '../../auth/plan-features.ts';
import type { Authenticator, Principal } from '../../auth/principal.ts';
import { networkOf } from '../../ratelimit/address-limit.ts';
import type { StreamSocket } from '../../transport/transport.ts';
import { CatchUp } from '../replay/catch-up.ts';
import { Connection, groupOf, type ConnectionEvents, type ConnectionOptions, type Following } from '../session/connection.ts';
import type { OpenConnections } from '../session/handshake.ts';
import { Session, type SessionLimits } from '../session/protocol.ts';
import { countDialectTopic, Usages, type Usage } from '../session/usage.ts';
import { getsHeartbeats } from './heartbeat.ts';
import { sliceCount } from './slices.ts';
import type { StreamParts } from './stream-parts.ts';

export interface ConnectionsParts extends StreamParts {
  readonly authenticator: Pick<Authenticator, 'principalOf'>;
  /** Serve PumpPortal clients without a key. */
  readonly servesKeyless: boolean;
  /** Carries out the command in a client's message. */
  readonly onMessage: ConnectionEvents['onMessage'];
}

/** Time between two batches of closes, and the least number of closes in one: 500 a second are no load for other gateways. */
const drainEveryMs = 100;
const minClosesPerBatch = 50;
/** Share of the time in which the connections are closed. The rest is for clients that connect late. */
const closingShare = 0.95;
const keyUsages = { delayedBytes: streamLimits.delayedKeyBytes, maxIdle: 1_000, keepsSpent: true };
const keylessUsages = { delayedBytes: streamLimits.delayedAddressBytes, maxIdle: 10_000, keepsSpent: false };

function limitsOf(principal: Principal | null, usage: Usage): SessionLimits {
  return { commandsPerSecond: principal?.plan.commandsPerSecond ?? streamLimits.dialectCommands, keyWork: usage.work };
}

/** Owns the connections: opens them, binds them to keys and plans, and removes them when they close. */
export class Connections implements ConnectionEvents, OpenConnections {
  readonly usages = new Usages(keyUsages);
  /** What each address without a key uses; null if such clients are not served. */
  readonly #keylessUsages: Usages | null;
  readonly onMessage: ConnectionEvents['onMessage'];
  /** Connections that have not authenticated yet, and those whose messages are compressed. */
  unauthenticated = 0;
  compressed = 0;
  readonly #parts: ConnectionsParts;
  #isDraining = false;

  constructor(parts: ConnectionsParts) {
    this.#parts = parts;
    this.onMessage = parts.onMessage;
    this.#keylessUsages = parts.servesKeyless ? new Usages(keylessUsages) : null;
  }

  get size(): number {
    return this.#parts.slices.size;
  }

  get servesKeyless(): boolean {
    return this.#keylessUsages !== null;
  }

  isFull({ keyId, plan }: Principal): boolean {
    return this.usages.of(keyId).connections >= plan.connections;
  }

  /** All IPv6 clients in one /64 network count as one address. */
  isFullWithoutKey(address: string): boolean {
    return (this.#keylessUsages?.of(networkOf(address)).connections ?? 0) >= streamLimits.keylessConnections;
  }

  /** Takes over a socket whose handshake was accepted. */
  open(socket: StreamSocket, options: ConnectionOptions): Connection {
    const { slices, stats, clock } = this.#parts;
    const { principal, address } = options;
    const nowMs = clock.steadyMs();
    const owner = principal?.keyId ?? networkOf(address);
    const usage = this.#usagesOf(principal)?.add(owner, nowMs) ?? null;
    const session = new Session(nowMs, usage === null ? null : limitsOf(principal, usage), principal === null && usage !== null);
    const connection = new Connection(socket, this, session, options, stats.connectionsOpened++ % sliceCount);
    connection.usage = usage;
    slices.add(connection);
    if (options.compress) this.compressed++;
    if (principal === null) {
      this.unauthenticated++;
      this.#awaitAuthentication(connection);
    } else if (this.currentPrincipal(principal) !== principal) {
      // The transport does not allow a connection to be closed while it is being opened.
      setImmediate(() => this.#recheck(connection));
    }
    return connection;
  }

  /** A PumpPortal client without a key never authenticates, and may be silent until it subscribes. */
  #awaitAuthentication(connection: Connection): void {
    const { session } = connection;
    connection.cancelAuthTimer = this.#parts.clock.after(streamLimits.authTimeoutMs, () => {
      if (this.servesKeyless && session.usesDialect) return;
      if (!this.servesKeyless || session.usesOps) connection.close('UNAUTHENTICATED', 'not authenticated in time');
      else this.#awaitAuthentication(connection);
    });
  }

  #usagesOf(principal: Principal | null): Usages | null {
    return principal === null ? this.#keylessUsages : this.usages;
  }

  /** Removes the connection from what its key or its address uses. It follows no topic of the native protocol. */
  #endUsage({ usage, principal, dialectTopics }: Connection, nowMs: number): void {
    if (usage === null) return;
    for (const topic of dialectTopics ?? []) countDialectTopic(usage, topic, -1);
    this.#usagesOf(principal)?.remove(usage, nowMs);
  }

  /** Binds a connection to the key with which it has authenticated. */
  authenticate(connection: Connection, principal: Principal): void {
    const nowMs = this.#parts.clock.steadyMs();
    if (connection.principal === null) {
      this.#endUsage(connection, nowMs);
      const usage = this.usages.add(principal.keyId, nowMs);
      connection.usage = usage;
      // The topics that it followed without a key now count towards the limits of the key.
      for (const topic of connection.dialectTopics ?? []) countDialectTopic(usage, topic, 1);
      connection.delayed?.moveTo(usage.delayed);
      this.unauthenticated--;
    }
    connection.principal = principal;
    connection.session.accept(nowMs, limitsOf(principal, connection.usage!));
    connection.cancelAuthTimer();
    this.#parts.heartbeats.place(connection);
  }

  /** The present state of a principal. Its key may have ended or changed its plan since it was checked. Null if it has ended. */
  currentPrincipal({ credential }: Principal): Principal | null {
    return this.#parts.authenticator.principalOf(credential);
  }

  #recheck(connection: Connection): void {
    if (connection.principal === null) return;
    const principal = this.currentPrincipal(connection.principal);
    if (principal === null) connection.close('UNAUTHENTICATED', 'key revoked');
    else this.#applyPlan(connection, principal);
  }

  /** Closes every connection that authenticated with a credential that is no longer valid. Returns their number. */
  disconnect(credential: string, reason: 'revoked' | 'expired' = 'revoked'): number {
    let closed = 0;
    for (const connection of this.#parts.slices.all()) {
      if (connection.principal?.credential !== credential) continue;
      connection.close('UNAUTHENTICATED', `key ${reason}`);
      closed++;
    }
    return closed;
  }

  /** Applies a new plan to every connection of a credential. Closes those that use a feature that the plan does not include. */
  applyPlan(principal: Principal): void {
    for (const connection of this.#parts.slices.all()) {
      if (connection.principal?.credential === principal.credential) this.#applyPlan(connection, principal);
    }
  }

  #applyPlan(connection: Connection, principal: Principal): void {
    if (connection.usage === null) return;
    connection.principal = principal;
    connection.session.accept(this.#parts.clock.steadyMs(), limitsOf(principal, connection.usage));
    const missing = missingUsedFeature(principal, connection);
    if (missing !== null) connection.close('FORBIDDEN', `the plan ${missing.details.plan} does not include ${missing.details.feature}`);
  }

  onSign(connection: Connection): void {
    if (!connection.session.countSign(this.#parts.clock.steadyMs())) connection.close('RATE_LIMIT', 'too many pings');
  }

  onDrain(): void {
    this.#parts.catchUps.wake();
  }

  onDropped(connection: Connection): void {
    this.#parts.slowConsumers.onDropped(connection);
  }

  onLive(connection: Connection, { group, prev }: CatchUp): void {
    this.#parts.fanout.prepareJoin(group, prev);
    connection.follow(group.topic.topic, group);
    this.#parts.heartbeats.place(connection);
  }

  onUnfollow(following: Following): void {
    if (following instanceof CatchUp) this.#parts.catchUps.delete(following);
    this.#parts.fanout.release(groupOf(following));
  }

  onClose(connection: Connection): void {
    const { slices, slowConsumers, dialect, heartbeats } = this.#parts;
    slices.delete(connection);
    if (connection.compress) this.compressed--;
    slowConsumers.onClose(connection);
    connection.cancelAuthTimer();
    connection.delayed?.end();
    for (const topic of connection.topics?.keys() ?? []) connection.unfollow(topic);
    dialect.unfollowAll(connection);
    this.#endUsage(connection, this.#parts.clock.steadyMs());
    if (connection.principal === null) this.unauthenticated--;
    heartbeats.remove(connection);
  }

  /**
   * Closes every connection with 4012, so that its client connects to another gateway. Spreads the closes over at most `withinMs`, so that
   * the other gateways are not overloaded. Connections that open meanwhile are closed too.
   */
  async drain(withinMs: number, reconnectWithinMs: number): Promise<void> {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const { slices, fanout, clock } = this.#parts;
    const startMs = clock.steadyMs();
    const endMs = startMs + withinMs + drainEveryMs;
    const closedByMs = startMs + withinMs * closingShare;
    for (;;) {
      fanout.batcher.flushAll();
      // Timers are late under load, so the number of closes follows from the time that is left.
      const leftMs = Math.max(drainEveryMs, closedByMs - clock.steadyMs());
      const closes = Math.max(minClosesPerBatch, Math.ceil((slices.size * drainEveryMs) / leftMs));
      let closed = 0;
      for (const connection of slices.all()) {
        if (closed++ === closes) break;
        if (getsHeartbeats(connection)) connection.notify({ op: 'draining', reconnectWithinMs });
        connection.close('DRAINING', 'restarting');
      }
      if (slices.size === 0) return;
      await new Promise<void>((resolve) => clock.after(drainEveryMs, resolve));
      if (clock.steadyMs() >= endMs) return this.close();
    }
  }

  close(): void {
    for (const connection of this.#parts.slices.all()) connection.destroy();
  }
}
