import type { Clock } from '@sluice/shared/clock/clock.ts';
import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { SubscribeCommand } from '@sluice/shared/wire/commands.ts';
import type { Reply } from '@sluice/shared/wire/replies.ts';
import { nowUs } from '../../clock.ts';
import type { Connections } from '../connections/connections.ts';
import type { HeartbeatRooms } from '../connections/heartbeat.ts';
import type { SlowConsumers } from '../connections/slow-consumers.ts';
import type { PumpPortalDialect } from '../dialects/pumpportal.ts';
import type { StreamStats } from '../fanout/stream-stats.ts';
import type { CatchUps } from '../replay/catch-up.ts';
import type { Admit } from '../session/admission.ts';
import type { Connection } from '../session/connection.ts';
import type { Action } from '../session/protocol.ts';
import { Authentication } from './authentication.ts';
import { list } from './list.ts';
import { subscribe, type SubscribeParts } from './subscribe.ts';
import { unsubscribe } from './unsubscribe.ts';

export interface CommandsParts extends SubscribeParts {
  readonly admit: Admit;
  readonly connections: Connections;
  readonly slowConsumers: SlowConsumers;
  readonly heartbeats: HeartbeatRooms;
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

  constructor(parts: CommandsParts) {
    this.#parts = parts;
    const { admit, connections, log } = parts;
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
    this.#parts.stats.commands++;
    const nowMs = this.#parts.clock.wallMs();
    const usedOps = connection.session.usesOps;
    this.#carryOut(connection, connection.session.receive(bytes, binary, nowMs), nowMs);
    if (!usedOps && connection.session.usesOps && !connection.ended) this.#parts.heartbeats.place(connection);
  }

  #carryOut(connection: Connection, action: Action, nowMs: number): void {
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
        connection.reply({ id: action.id, op: 'pong', ts: nowUs() });
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
      stats.gaps++;
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
