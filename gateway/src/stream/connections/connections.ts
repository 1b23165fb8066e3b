import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Authenticator, Principal } from '../../auth/principal.ts';
import type { StreamSocket } from '../../transport/transport.ts';
import type { PumpPortalDialect } from '../dialects/pumpportal.ts';
import type { Fanout } from '../fanout/fanout.ts';
import type { StreamStats } from '../fanout/stream-stats.ts';
import { CatchUp, type CatchUps } from '../replay/catch-up.ts';
import { Connection, groupOf, type ConnectionEvents, type ConnectionOptions, type Following } from '../session/connection.ts';
import { KeyUsages, type KeyUsage } from '../session/key-usage.ts';
import { countKeyless, KeylessUsages } from '../session/keyless-usage.ts';
import { missingUsedFeature } from '../../auth/plan-features.ts';
import { Session, type SessionLimits } from '../session/protocol.ts';
import type { HeartbeatRooms } from './heartbeat.ts';
import { sliceCount, type Slices } from './slices.ts';
import type { SlowConsumers } from './slow-consumers.ts';

export interface ConnectionsParts {
  readonly authenticator: Pick<Authenticator, 'principalOf'>;
  readonly slices: Slices;
  readonly slowConsumers: SlowConsumers;
  readonly heartbeats: HeartbeatRooms;
  readonly fanout: Fanout;
  readonly catchUps: CatchUps;
  readonly dialect: Pick<PumpPortalDialect, 'unfollowAll'>;
  readonly stats: StreamStats;
  readonly clock: Clock;
  /** Serve PumpPortal clients without a key. */
  readonly servesKeyless: boolean;
  /** Carries out the command in a client's message. */
  readonly onMessage: ConnectionEvents['onMessage'];
}

function limitsOf({ plan }: Principal, usage: KeyUsage): SessionLimits {
  return { commandsPerSecond: plan.commandsPerSecond, keyWork: usage.work };
}

/** Owns the connections: opens them, binds them to keys and plans, and removes them when they close. */
export class Connections implements ConnectionEvents {
  readonly usages = new KeyUsages();
  /** Null: clients without a key are not served. */
  readonly keylessUsages: KeylessUsages | null;
  readonly onMessage: ConnectionEvents['onMessage'];
  readonly #parts: ConnectionsParts;
  #unauthenticated = 0;
  #compressed = 0;

  constructor(parts: ConnectionsParts) {
    this.#parts = parts;
    this.onMessage = parts.onMessage;
    this.keylessUsages = parts.servesKeyless ? new KeylessUsages() : null;
  }

  get unauthenticated(): number {
    return this.#unauthenticated;
  }

  /** Connections whose messages are compressed. */
  get compressed(): number {
    return this.#compressed;
  }

  /** Takes over a socket whose handshake was accepted. */
  open(socket: StreamSocket, options: ConnectionOptions): Connection {
    const { slices, stats, clock } = this.#parts;
    const { principal } = options;
    const nowMs = clock.steadyMs();
    const usage = principal === null ? null : this.usages.add(principal.keyId, nowMs);
    const keyless = principal === null ? (this.keylessUsages?.add(options.address, nowMs) ?? null) : null;
    const session =
      keyless === null
        ? new Session(nowMs, usage === null || principal === null ? null : limitsOf(principal, usage))
        : new Session(nowMs, { commandsPerSecond: streamLimits.dialectCommands, keyWork: keyless.work }, true);
    const connection = new Connection(socket, this, session, options, stats.connectionsOpened++ % sliceCount);
    connection.usage = usage;
    connection.keyless = keyless;
    slices.add(connection);
    if (options.compress) this.#compressed++;
    if (usage === null) {
      this.#unauthenticated++;
      this.#awaitAuthentication(connection);
    } else if (principal !== null && this.currentPrincipal(principal) !== principal) {
      // The transport does not allow a connection to be closed while it is being opened.
      setImmediate(() => this.#recheck(connection));
    }
    return connection;
  }

  /** A PumpPortal client without a key never authenticates, and may be silent until it subscribes. */
  #awaitAuthentication(connection: Connection): void {
    const { keyless, session } = connection;
    connection.cancelAuthTimer = this.#parts.clock.after(streamLimits.authTimeoutMs, () => {
      if (keyless !== null && session.usesDialect) return;
      if (keyless === null || session.usesOps) connection.close('UNAUTHENTICATED', 'not authenticated in time');
      else this.#awaitAuthentication(connection);
    });
  }

  /** Removes the connection from the quota of its address. */
  #endKeyless(connection: Connection): void {
    const { keyless } = connection;
    if (keyless === null) return;
    for (const topic of connection.dialectTopics ?? []) countKeyless(keyless, topic, -1);
    connection.keyless = null;
    this.keylessUsages?.remove(keyless, this.#parts.clock.steadyMs());
  }

  /** Binds a connection to the key with which it has authenticated. */
  authenticate(connection: Connection, principal: Principal): void {
    const nowMs = this.#parts.clock.steadyMs();
    connection.principal = principal;
    if (connection.usage === null) {
      const usage = this.usages.add(principal.keyId, nowMs);
      // The topics that it followed without a key now count towards the limits of the key.
      usage.subscriptions += connection.topicCount;
      this.#endKeyless(connection);
      connection.usage = usage;
      connection.delayed?.moveTo(usage.delayed);
      this.#unauthenticated--;
    }
    connection.session.accept(nowMs, limitsOf(principal, connection.usage));
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
    if (connection.compress) this.#compressed--;
    slowConsumers.onClose(connection);
    connection.cancelAuthTimer();
    connection.delayed?.end();
    for (const topic of connection.topics?.keys() ?? []) connection.unfollow(topic);
    dialect.unfollowAll(connection);
    this.#endKeyless(connection);
    if (connection.usage === null) this.#unauthenticated--;
    else this.usages.remove(connection.usage, this.#parts.clock.steadyMs());
    heartbeats.remove(connection);
  }

  close(): void {
    for (const connection of this.#parts.slices.all()) connection.destroy();
  }
}
