import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { ErrorCode } from '@sluice/shared/runtime/errors/codes.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { SubscribeCommand } from '@sluice/shared/wire/stream/commands.ts';
import type { Reply } from '@sluice/shared/wire/stream/replies.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { Connections } from '../connections/connections.ts';
import type { HeartbeatParts, HeartbeatRooms } from '../connections/heartbeat.ts';
import type { SlowConsumers } from '../connections/slow-consumers.ts';
import type { PumpPortalDialect } from '../dialects/pumpportal.ts';
import type { StreamStats } from '../fanout/stream-stats.ts';
import type { CatchUps } from '../replay/catch-up.ts';
import type { Admit } from '../session/admission.ts';
import type { Connection } from '../session/connection.ts';
import type { Action } from '../session/protocol.ts';
import { Authentication } from './authentication.ts';
import { DelayedCommands } from './delayed-commands.ts';
import { list } from './list.ts';
import { subscribe, type SubscribeParts } from './subscribe.ts';
import { unsubscribe } from './unsubscribe.ts';

export interface CommandsParts extends SubscribeParts {
  readonly admit: Admit;
  readonly connections: Connections;
  readonly slowConsumers: SlowConsumers;
  readonly heartbeats: HeartbeatRooms;
  readonly slotAgeMs: HeartbeatParts['slotAgeMs'];
  readonly catchUps: CatchUps;
  readonly dialect: PumpPortalDialect;
  readonly stats: StreamStats;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Carries out the commands of clients. Each gets exactly one reply. */
export class Commands {
  readonly #parts: CommandsParts;
  readonly #authentication: Authentication;
  readonly #delayed: DelayedCommands;

  constructor(parts: CommandsParts) {
    this.#parts = parts;
    const { admit, connections, clock, log } = parts;
    this.#delayed = new DelayedCommands({ clock, carryOut: (connection, bytes, binary) => this.#receiveNow(connection, bytes, binary) });
    this.#authentication = new Authentication({
      admit,
      connections,
      log,
      refuse: (connection, reply, close) => this.#refuse(connection, reply, close),
      receive: (connection, bytes, binary) => this.receive(connection, bytes, binary),
    });
  }

  /** Carries out one message of a client. `bytes` are valid until the call returns. */
  receive(connection: Connection, bytes: Uint8Array, binary: boolean): void {
    this.#parts.slowConsumers.cutDropped();
    if (connection.ended) return;
    if (connection.pending !== null) {
      if (!connection.pending.add(bytes, binary)) connection.close('RATE_LIMIT', 'too many messages before the reply to auth');
      return;
    }
    const waitMs = connection.delayed === null ? this.#receiveNow(connection, bytes, binary) : 1;
    if (waitMs > 0) this.#delayed.add(connection, bytes, binary, waitMs);
  }

  /** Returns how long the message must wait, milliseconds; 0 if it was carried out. */
  #receiveNow(connection: Connection, bytes: Uint8Array, binary: boolean): number {
    const nowMs = this.#parts.clock.steadyMs();
    const usedOps = connection.session.usesOps;
    const action = connection.session.receive(bytes, binary, nowMs);
    if (action.kind === 'later') return action.waitMs;
    this.#parts.stats.commands++;
    this.#carryOut(connection, action, nowMs);
    if (!usedOps && connection.session.usesOps && !connection.ended) this.#parts.heartbeats.place(connection);
    return 0;
  }

  #carryOut(connection: Connection, action: Exclude<Action, { kind: 'later' }>, nowMs: number): void {
    const { heartbeats, dialect, stats } = this.#parts;
    switch (action.kind) {
      case 'authenticate':
        this.#authentication.start(connection, action.id, action.key);
        return;
      case 'subscribe':
        this.#subscribe(connection, action.command, nowMs);
        return;
      case 'unsubscribe':
        connection.reply(unsubscribe(this.#parts, connection, action.command));
        heartbeats.place(connection);
        return;
      case 'list':
        connection.reply(list(connection, action.id, action.after));
        return;
      case 'ping':
        connection.reply({ id: action.id, op: 'pong', ts: nowUs(), slotAgeMs: this.#parts.slotAgeMs() });
        return;
      case 'dialect':
        connection.writeDialect(JSON.stringify({ message: dialect.execute(connection, action.command) }));
        return;
      case 'dialect_notice':
        stats.refusedCommands++;
        connection.writeDialect(JSON.stringify({ message: action.text }));
        return;
      case 'refused':
        this.#refuse(connection, action.reply, action.close);
    }
  }

  #subscribe(connection: Connection, command: SubscribeCommand, nowMs: number): void {
    const { stats, catchUps, heartbeats } = this.#parts;
    const { reply, gaps, replays } = subscribe(this.#parts, connection, command, nowMs);
    if (reply.op === 'error') stats.refusedCommands++;
    connection.reply(reply);
    for (const gap of gaps) {
      stats.noteGap(gap, true);
      connection.notify(gap);
    }
    if (connection.ended) return;
    for (const replay of replays) catchUps.add(replay);
    heartbeats.place(connection);
  }

  #refuse(connection: Connection, reply: Reply, close: ErrorCode | null): void {
    this.#parts.stats.refusedCommands++;
    connection.reply(reply);
    if (close !== null) connection.close(close, close);
  }
}
