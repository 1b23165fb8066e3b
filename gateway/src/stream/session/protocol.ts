import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { errorBody, type ErrorCode } from '@sluice/shared/wire/errors.ts';
import { AuthCommand, ListCommand, ops, PingCommand, subscribeSchemas, unsubscribeSchemas } from '@sluice/shared/wire/stream/commands.ts';
import type { CommandId, Op, SubscribeCommand, UnsubscribeCommand } from '@sluice/shared/wire/stream/commands.ts';
import { impossibleBounds } from '@sluice/shared/wire/stream/filters.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { decodeMsgpackCommand, firstMsgpackId } from './msgpack-command.ts';
import { DialectCommand, dialectMethods } from '@sluice/shared/wire/stream/pumpportal.ts';
import type { ErrorReply } from '@sluice/shared/wire/stream/replies.ts';
import { channelNames, type Channel } from '@sluice/shared/wire/stream/topics.ts';
import { validator, type Validate } from '@sluice/shared/wire/validate.ts';
import { withoutBom } from '../../http/body/text.ts';
import { WorkBudget } from './work-budget.ts';

/** What one message of a client requests. Each action gets exactly one reply. */
export type Action =
  | { readonly kind: 'authenticate'; readonly id: CommandId; readonly key: string }
  | { readonly kind: 'subscribe'; readonly id: CommandId; readonly command: SubscribeCommand }
  | { readonly kind: 'unsubscribe'; readonly id: CommandId; readonly command: UnsubscribeCommand }
  | { readonly kind: 'list'; readonly id: CommandId; readonly after: string | undefined }
  | { readonly kind: 'ping'; readonly id: CommandId }
  | { readonly kind: 'dialect'; readonly command: DialectCommand }
  /** A PumpPortal client has sent too fast. The message is carried out after `waitMs`. */
  | { readonly kind: 'later'; readonly waitMs: number }
  /** The reply is `{"message": text}`. */
  | { readonly kind: 'dialect_notice'; readonly text: string }
  /** `close`: after the reply the socket closes with the code of this error. */
  | { readonly kind: 'refused'; readonly reply: ErrorReply; readonly close: ErrorCode | null };

const parsers = {
  auth: validator(AuthCommand),
  ping: validator(PingCommand),
  list: validator(ListCommand),
  dialect: validator(DialectCommand),
};
const subscribeParsers = perChannel(subscribeSchemas) as Record<Channel, Validate<SubscribeCommand>>;
const unsubscribeParsers = perChannel(unsubscribeSchemas) as Record<Channel, Validate<UnsubscribeCommand>>;

function perChannel(schemas: typeof subscribeSchemas | typeof unsubscribeSchemas): Record<string, unknown> {
  return Object.fromEntries(channelNames.map((channel) => [channel, validator(schemas[channel])]));
}

const needsKey =
  'This gateway needs an API key: connect to /api/data?api-key=YOUR_KEY, or with the header `Authorization: Bearer YOUR_KEY`.';

const authFirst = 'The handshake had no key, so the first message must be {"op":"auth","key":"…"}.';
/** A refused message counts once more for each this many bytes of it. */
const refusalBytes = 4 * 1024;

/** An `error` reply. The table of errors describes `details`. */
export function refusal(id: CommandId, code: ErrorCode, message?: string, details?: Readonly<Record<string, unknown>>): ErrorReply {
  return { id, op: 'error', error: errorBody(code, message, details) };
}

/** The id for the reply, from any value that the client sent; null if it cannot be repeated exactly. */
function replyId(id: unknown): CommandId {
  if (typeof id === 'number') return Number.isSafeInteger(id) && !Object.is(id, -0) ? id : null;
  return typeof id === 'string' && id.length <= 128 ? id : null;
}

const wrongId = 'must be a text of at most 128 characters, an integer of at most 53 bits, or null';
/** `id` as the first field of a JSON text. */
const leadingId = /^\s*\{\s*"id"\s*:\s*(-?\d{1,16}|"(?:[^"\\]|\\.){0,128}")\s*[,}]/;

/** The limits of an authenticated connection, or of one without a key that may use PumpPortal's protocol. */
export interface SessionLimits {
  /** Commands in a burst, and each second after it. */
  readonly commandsPerSecond: number;
  /** The budget that all connections of the key, or of the address, share. */
  readonly keyWork: WorkBudget | null;
}

/**
 * The protocol of one connection. It takes a message and the time, and returns one action. It knows no socket, clock or event, and
 * never throws, even for random bytes.
 */
export class Session {
  /** The client has used an `op`, so it understands heartbeats and notices. */
  usesOps = false;
  /** The client has used a `method`, so it is a PumpPortal client. */
  usesDialect = false;
  /** Without a key, the client may use PumpPortal's protocol. */
  readonly #keyless: boolean;
  authenticated: boolean;
  #commandsPerSecond: number;
  #keyWork: WorkBudget | null;
  /** Commands left in the burst. */
  #allowance: number;
  #allowanceAtMs: number;
  #refusedInARow = 0;
  #work: WorkBudget;

  /** `keyless`: `limits` are those of a client without a key. */
  constructor(nowMs: number, limits: SessionLimits | null, keyless = false) {
    this.#keyless = keyless;
    this.authenticated = limits !== null && !keyless;
    this.#commandsPerSecond = limits?.commandsPerSecond ?? streamLimits.unauthenticatedCommands;
    this.#keyWork = limits?.keyWork ?? null;
    this.#allowance = this.#commandsPerSecond;
    this.#allowanceAtMs = nowMs;
    this.#work = limits === null ? new WorkBudget(streamLimits.unauthenticatedWork, streamLimits.commandWork, nowMs) : fullWork(nowMs);
  }

  get #mayUseDialect(): boolean {
    return this.authenticated || this.#keyless;
  }

  /** The key of an `authenticate` action is valid, or its plan has changed. */
  accept(nowMs: number, limits: SessionLimits): void {
    if (!this.authenticated) {
      this.#work = fullWork(nowMs);
      this.#allowance = limits.commandsPerSecond;
    }
    this.authenticated = true;
    this.#commandsPerSecond = limits.commandsPerSecond;
    this.#keyWork = limits.keyWork;
  }

  /** Charges the cost of a command, which is mostly the bytes of its reply. */
  charge(work: number): void {
    this.#work.spend(work);
    this.#keyWork?.spend(work);
  }

  receive(bytes: Uint8Array, binary: boolean, nowMs: number): Action {
    if (bytes.length > streamLimits.messageBytes) {
      const message = `A message has at most ${streamLimits.messageBytes} bytes.`;
      return { kind: 'refused', reply: refusal(null, 'PAYLOAD_TOO_LARGE', message), close: 'PAYLOAD_TOO_LARGE' };
    }
    const onlyDialect = this.#onlyDialect;
    const isTooFast = !this.#allow(nowMs, onlyDialect);
    const waitMs = isTooFast ? 1000 / this.#rate(onlyDialect) : this.#workWaitMs(nowMs);
    if (waitMs > 0) {
      if (onlyDialect) return { kind: 'later', waitMs };
      if (isTooFast) return this.#refuseRate(bytes, binary, `At most ${this.#commandsPerSecond} commands a second.`, 1_000);
      return this.#refuseRate(bytes, binary, `The work budget of this client is used up. Continue in ${waitMs} ms.`, waitMs);
    }
    this.charge(streamLimits.commandWork + bytes.length);
    const parsed = parse(bytes, binary);
    if (parsed === 'ping') return this.#barePing();
    if (parsed === null) return this.#invalid(null, 'The message is neither a JSON object nor a MessagePack map.');
    const { since } = parsed;
    if (typeof since === 'object' && since !== null) this.charge(Object.keys(since).length * streamLimits.sinceWork);
    return 'method' in parsed && !('op' in parsed) ? this.#dialect(parsed) : this.#op(parsed);
  }

  /**
   * Counts a ping or pong of the WebSocket protocol like a command. The transport has answered it already, so it cannot be refused. Returns
   * whether the connection may stay open.
   */
  countSign(nowMs: number): boolean {
    if (this.#allow(nowMs, this.#onlyDialect) && this.#workWaitMs(nowMs) === 0) {
      this.charge(streamLimits.commandWork);
      return true;
    }
    this.#refusedInARow++;
    return this.#refusedInARow <= streamLimits.rateRefusals;
  }

  get #onlyDialect(): boolean {
    return this.#mayUseDialect && this.usesDialect && !this.usesOps;
  }

  #workWaitMs(nowMs: number): number {
    return Math.max(this.#work.waitMs(nowMs), this.#keyWork?.waitMs(nowMs) ?? 0);
  }

  #op(message: Record<string, unknown>): Action {
    const id = replyId(message['id']);
    if (id === null && (message['id'] ?? null) !== null) return this.#invalid(null, `id: ${wrongId}`, { id: wrongId });
    const { op } = message;
    if (!ops.includes(op as Op)) return this.#invalid(id, `\`op\` must be one of ${ops.join(', ')}.`, { op: 'unknown' });
    this.usesOps = true;
    if (!this.authenticated && op !== 'auth') {
      return { kind: 'refused', reply: refusal(id, 'UNAUTHENTICATED', authFirst), close: null };
    }
    switch (op as Op) {
      case 'auth':
        return this.#checked(id, parsers.auth(message), ({ key }) => ({ kind: 'authenticate', id, key }));
      case 'ping':
        return this.#checked(id, parsers.ping(message), () => ({ kind: 'ping', id }));
      case 'list':
        return this.#checked(id, parsers.list(message), ({ after }) => ({ kind: 'list', id, after }));
      case 'subscribe':
        return this.#channelCommand(id, message, subscribeParsers, (command) => {
          const fields = impossibleBounds(('filter' in command ? command.filter : undefined) ?? {});
          return Object.keys(fields).length > 0 ? this.#invalidFields(id, fields) : { kind: 'subscribe', id, command };
        });
      case 'unsubscribe':
        return this.#channelCommand(id, message, unsubscribeParsers, (command) => ({ kind: 'unsubscribe', id, command }));
    }
  }

  #channelCommand<T>(
    id: CommandId,
    message: Record<string, unknown>,
    byChannel: Readonly<Record<Channel, Validate<T>>>,
    action: (command: T) => Action,
  ): Action {
    const { channel } = message;
    if (!channelNames.includes(channel as Channel)) {
      return this.#invalid(id, `\`channel\` must be one of ${channelNames.join(', ')}.`, { channel: 'unknown' });
    }
    return this.#checked(id, byChannel[channel as Channel](message), action);
  }

  /** A client that has not used an `op` is treated as a PumpPortal client. */
  #barePing(): Action {
    if (!this.usesOps) return { kind: 'dialect_notice', text: this.#mayUseDialect ? 'pong' : needsKey };
    if (this.authenticated) return { kind: 'ping', id: null };
    return { kind: 'refused', reply: refusal(null, 'UNAUTHENTICATED', authFirst), close: null };
  }

  #checked<T>(id: CommandId, outcome: ReturnType<Validate<T>>, action: (command: T) => Action): Action {
    return outcome.ok ? action(outcome.value) : this.#invalidFields(id, outcome.fields);
  }

  #invalidFields(id: CommandId, fields: Readonly<Record<string, string>>): Action {
    const names = Object.keys(fields);
    return this.#invalid(id, names.map((name) => `${name}: ${fields[name]}`).join('; '), fields);
  }

  #dialect(message: Record<string, unknown>): Action {
    this.usesDialect = true;
    const outcome = parsers.dialect(message);
    if (!outcome.ok) {
      const known = dialectMethods.includes(message['method'] as DialectCommand['method']);
      return {
        kind: 'dialect_notice',
        text: known ? '`keys` must be a list of addresses.' : `Unknown method. The methods are ${dialectMethods.join(', ')}.`,
      };
    }
    if (!this.#mayUseDialect) return { kind: 'dialect_notice', text: needsKey };
    return { kind: 'dialect', command: outcome.value };
  }

  #invalid(id: CommandId, message: string, fields: Readonly<Record<string, unknown>> = {}): Action {
    if (this.usesDialect && !this.usesOps) return { kind: 'dialect_notice', text: message };
    return { kind: 'refused', reply: refusal(id, 'INVALID_REQUEST', message, { fields }), close: null };
  }

  /** A token bucket: a burst, then the same number each second. */
  #allow(nowMs: number, onlyDialect: boolean): boolean {
    const perSecond = this.#rate(onlyDialect);
    const earned = Math.floor(((nowMs - this.#allowanceAtMs) * perSecond) / 1000);
    if (earned > 0) {
      this.#allowance = Math.min(perSecond, this.#allowance + earned);
      this.#allowanceAtMs = nowMs;
    }
    if (this.#allowance === 0) return false;
    this.#allowance--;
    if (this.#allowance >= perSecond / 2) this.#refusedInARow = 0;
    return true;
  }

  /** Commands per second. The subscriptions of a PumpPortal client are small, and often one message for each token. */
  #rate(onlyDialect: boolean): number {
    return onlyDialect ? Math.max(this.#commandsPerSecond, streamLimits.dialectCommands) : this.#commandsPerSecond;
  }

  /** Refuses a message of which only the id was read. */
  #refuseRate(bytes: Uint8Array, binary: boolean, text: string, retryAfterMs: number): Action {
    this.#refusedInARow += 1 + Math.floor(bytes.length / refusalBytes);
    const close = this.#refusedInARow > streamLimits.rateRefusals ? 'RATE_LIMIT' : null;
    return { kind: 'refused', reply: refusal(unreadId(bytes, binary), 'RATE_LIMIT', text, { retryAfterMs }), close };
  }
}

function fullWork(nowMs: number): WorkBudget {
  return new WorkBudget(streamLimits.workBurst, streamLimits.workPerSecond, nowMs);
}

/** The id of a message that will be refused. A long message is not parsed. */
function unreadId(bytes: Uint8Array, binary: boolean): CommandId {
  if (bytes.length <= streamLimits.refusedIdBytes) {
    const parsed = parse(bytes, binary);
    return parsed === null || parsed === 'ping' ? null : replyId(parsed['id']);
  }
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, streamLimits.refusedIdBytes);
  if (binary) return replyId(firstMsgpackId(head));
  const found = leadingId.exec(head.toString('utf8'))?.[1];
  if (found === undefined) return null;
  try {
    return replyId(JSON.parse(found));
  } catch {
    // An escape that JSON does not have.
    return null;
  }
}

/** A text message is JSON, a binary one MessagePack. Some clients send the bare text `ping` to keep a connection alive. */
function parse(bytes: Uint8Array, binary: boolean): Record<string, unknown> | 'ping' | null {
  let value: unknown;
  if (binary) {
    value = decodeMsgpackCommand(bytes);
  } else {
    const { buffer, byteOffset, byteLength } = withoutBom(bytes);
    const text = Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
    if (text === 'ping') return 'ping';
    try {
      value = JSON.parse(text);
    } catch {
      return null;
    }
  }
  return isRecord(value) ? value : null;
}
