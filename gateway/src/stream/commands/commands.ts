import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { ErrorCode } from '@sluice/shared/wire/errors.ts';
import type { CommandId, SubscribeCommand } from '@sluice/shared/wire/stream/commands.ts';
import type { Reply } from '@sluice/shared/wire/stream/replies.ts';
import type { Connections } from '../connections/connections.ts';
import type { Admission, Admit } from '../session/admission.ts';
import type { Connection } from '../session/connection.ts';
import { refusal, type Action } from '../session/protocol.ts';
import { WaitingMessages } from '../session/waiting-messages.ts';
import { list } from './list.ts';
import { subscribe, type SubscribeParts } from './subscribe.ts';
import { unsubscribe } from './unsubscribe.ts';

/** Messages of one connection that wait for its rate, and those that wait while its key is checked. */
const delayedBounds = { messages: 5_000, bytes: 1024 * 1024 };
const pendingBounds = { messages: 64, bytes: 80 * 1024 };
/** The shortest wait, so that one turn carries out several messages. */
const turnMs = 50;

export interface CommandsParts extends SubscribeParts {
  readonly admit: Admit;
  readonly connections: Connections;
}

/** Carries out the commands of clients, those of a client in order. Each gets exactly one reply. */
export class Commands {
  readonly #parts: CommandsParts;

  constructor(parts: CommandsParts) {
    this.#parts = parts;
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
    if (waitMs > 0) this.#delay(connection, bytes, binary, waitMs);
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

  /**
   * Delays a message of a PumpPortal client above its rate, behind those that wait already. These clients do not repeat a refused message. A
   * connection whose messages exceed the bounds is closed with 4029.
   */
  #delay(connection: Connection, bytes: Uint8Array, binary: boolean, waitMs: number): void {
    if (connection.delayed === null) {
      if (connection.usage === null) throw new Error('a message waits that belongs to no key and no address');
      connection.delayed = new WaitingMessages(delayedBounds, connection.usage.delayed);
      this.#wait(connection, connection.delayed, waitMs);
    }
    if (!connection.delayed.add(bytes, binary)) connection.close('RATE_LIMIT', 'too many messages wait');
  }

  #wait(connection: Connection, delayed: WaitingMessages, waitMs: number): void {
    const { clock } = this.#parts;
    delayed.cancelTimer = clock.after(Math.max(waitMs, turnMs), () => this.#continue(connection, delayed), { ref: false });
  }

  #continue(connection: Connection, delayed: WaitingMessages): void {
    for (let message = delayed.first; message !== undefined; message = delayed.first) {
      // While a key is checked, its messages wait for that too.
      const isChecking = connection.pending !== null;
      const waitMs = isChecking ? turnMs : this.#receiveNow(connection, message.bytes, message.binary);
      if (connection.ended) return;
      if (waitMs > 0) {
        this.#wait(connection, delayed, waitMs);
        return;
      }
      delayed.removeFirst();
    }
    connection.delayed = null;
  }

  #carryOut(connection: Connection, action: Exclude<Action, { kind: 'later' }>, nowMs: number): void {
    const { heartbeats, dialect, stats } = this.#parts;
    switch (action.kind) {
      case 'authenticate':
        void this.#authenticate(connection, action.id, action.key);
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

  /** Messages that arrive while the key is checked wait. */
  async #authenticate(connection: Connection, id: CommandId, key: string): Promise<void> {
    const pending = new WaitingMessages(pendingBounds, null);
    connection.pending = pending;
    const { address, batch } = connection;
    try {
      const admission = await this.#parts.admit({ key }, { address, batch });
      connection.pending = null;
      if (connection.ended) return;
      this.#onAdmission(connection, id, admission);
      for (let next = pending.first; next !== undefined; next = pending.first) {
        pending.removeFirst();
        this.receive(connection, next.bytes, next.binary);
      }
    } catch (error) {
      this.#parts.log.error({ err: error }, 'authentication_failed');
      connection.close('INTERNAL', 'INTERNAL');
    }
  }

  #onAdmission(connection: Connection, id: CommandId, admission: Admission): void {
    const { connections } = this.#parts;
    const known = connection.principal;
    // A failed `auth` does not close a connection that has authenticated before.
    const refuse = (code: ErrorCode, message?: string, details?: Readonly<Record<string, unknown>>): void =>
      this.#refuse(connection, refusal(id, code, message, details), known === null ? code : null);
    if (!admission.ok) return refuse(admission.code, admission.message, admission.details);
    const principal = connections.currentPrincipal(admission.principal);
    if (principal === null) return refuse('UNAUTHENTICATED');
    const { keyId, plan, scopes } = principal;
    if (known !== null && known.keyId !== keyId) return refuse('INVALID_REQUEST', 'This connection is authenticated with another key.');
    if (known === null && connections.isFull(principal)) {
      return refuse('RATE_LIMIT', 'This key has reached the limit of connections of its plan.', { limit: plan.connections });
    }
    connections.authenticate(connection, principal);
    connection.notify({ id, op: 'authenticated', keyId, plan: plan.name, scopes: [...scopes] });
  }

  #refuse(connection: Connection, reply: Reply, close: ErrorCode | null): void {
    this.#parts.stats.refusedCommands++;
    connection.reply(reply);
    if (close !== null) connection.close(close, close);
  }
}
