import { errorBody, type ErrorCode } from '@sluice/shared/errors/codes.ts';
import {
  AuthCommand,
  ListCommand,
  ops,
  PingCommand,
  subscribeSchemas,
  unsubscribeSchemas,
  type CommandId,
  type Op,
  type SubscribeCommand,
  type UnsubscribeCommand,
} from '@sluice/shared/wire/commands.ts';
import { impossibleBounds } from '@sluice/shared/wire/filters.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import { decodeMsgpackCommand, firstMsgpackId } from '@sluice/shared/wire/msgpack-command.ts';
import { DialectCommand, dialectMethods } from '@sluice/shared/wire/pumpportal.ts';
import type { ErrorReply } from '@sluice/shared/wire/replies.ts';
import { channelNames, type Channel } from '@sluice/shared/wire/topics.ts';
import { validator, type Validate } from '@sluice/shared/wire/validate.ts';
import { WorkBudget } from './work-budget.ts';

/** What one message of a client asks for. Each is answered with exactly one reply, by whoever carries it out. */
export type Action =
  | { readonly kind: 'authenticate'; readonly id: CommandId; readonly key: string }
  | { readonly kind: 'subscribe'; readonly id: CommandId; readonly command: SubscribeCommand }
  | { readonly kind: 'unsubscribe'; readonly id: CommandId; readonly command: UnsubscribeCommand }
  | { readonly kind: 'list'; readonly id: CommandId; readonly after: string | undefined }
  | { readonly kind: 'ping'; readonly id: CommandId }
  | { readonly kind: 'dialect'; readonly command: DialectCommand }
  /** Answered `{"message": text}`. */
  | { readonly kind: 'dialect_notice'; readonly text: string }
  /** `close`: the socket ends with the code of this error after the reply. */
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

const authFirst = 'The first message must be {"op":"auth","key":"…"} where the handshake carried no key.';
/** A refused message counts once more for each so many of its bytes. */
const refusalBytes = 4 * 1024;

/** An `error` reply; `details` as the table of errors describes them. */
export function refusal(id: CommandId, code: ErrorCode, message?: string, details?: Readonly<Record<string, unknown>>): ErrorReply {
  return { id, op: 'error', error: errorBody(code, message, details) };
}

/** The id to answer with, from anything that a client sent; null where it cannot be given back exactly. */
function carriedId(id: unknown): CommandId {
  if (typeof id === 'number') return Number.isSafeInteger(id) && !Object.is(id, -0) ? id : null;
  return typeof id === 'string' && id.length <= 128 ? id : null;
}

const wrongId = 'must be a text of at most 128 characters, an integer of at most 53 bits, or null';
/** `id` as the first field of a text. */
const leadingId = /^\s*\{\s*"id"\s*:\s*(-?\d{1,16}|"(?:[^"\\]|\\.){0,128}")\s*[,}]/;

/** What an authenticated connection may ask for. */
export interface SessionGrant {
  /** Commands at once, and as many each second. */
  readonly commandsPerSecond: number;
  /** What all connections of the key may ask for together. */
  readonly keyWork: WorkBudget | null;
}

/**
 * The protocol of one connection: message and time in, one action out. Knows no socket, no clock and no event; never
 * throws, whatever the bytes are.
 */
export class Session {
  /** An `op` has been used: heartbeats and notices are understood. */
  usesOps = false;
  /** A `method` has been used: the client is one of PumpPortal's. */
  usesDialect = false;
  #authenticated: boolean;
  #commandsPerSecond: number;
  #keyWork: WorkBudget | null;
  /** Commands that may still come at once. */
  #allowance: number;
  #allowanceAtMs: number;
  #refusedInARow = 0;
  #work: WorkBudget;

  constructor(nowMs: number, grant: SessionGrant | null) {
    this.#authenticated = grant !== null;
    this.#commandsPerSecond = grant?.commandsPerSecond ?? streamLimits.strangerCommands;
    this.#keyWork = grant?.keyWork ?? null;
    this.#allowance = this.#commandsPerSecond;
    this.#allowanceAtMs = nowMs;
    this.#work = grant === null ? new WorkBudget(streamLimits.strangerWork, streamLimits.commandWork, nowMs) : fullWork(nowMs);
  }

  get authenticated(): boolean {
    return this.#authenticated;
  }

  /** The key of an `authenticate` action was good; with it may come another plan. */
  accept(nowMs: number, grant: SessionGrant): void {
    if (!this.#authenticated) {
      this.#work = fullWork(nowMs);
      this.#allowance = grant.commandsPerSecond;
    }
    this.#authenticated = true;
    this.#commandsPerSecond = grant.commandsPerSecond;
    this.#keyWork = grant.keyWork;
  }

  /** Counts what carrying out a command came to: the bytes of its reply above all. */
  charge(work: number): void {
    this.#work.spend(work);
    this.#keyWork?.spend(work);
  }

  receive(bytes: Uint8Array, binary: boolean, nowMs: number): Action {
    if (bytes.length > streamLimits.messageBytes) {
      const message = `A message has at most ${streamLimits.messageBytes} bytes.`;
      return { kind: 'refused', reply: refusal(null, 'PAYLOAD_TOO_LARGE', message), close: 'PAYLOAD_TOO_LARGE' };
    }
    if (!this.#allow(nowMs)) return this.#refuseRate(bytes, binary, `At most ${this.#commandsPerSecond} commands a second.`);
    const waitMs = Math.max(this.#work.waitMs(nowMs), this.#keyWork?.waitMs(nowMs) ?? 0);
    if (waitMs > 0) {
      this.#refusedInARow++;
      return this.#refuseRate(bytes, binary, `This was more work than there is for one client; go on in ${waitMs} ms.`, waitMs);
    }
    this.charge(streamLimits.commandWork + bytes.length);
    const parsed = parse(bytes, binary);
    if (parsed === 'ping') return this.#barePing();
    if (parsed === null) return this.#invalid(null, 'The message is neither a JSON object nor a MessagePack map.');
    const { since } = parsed;
    if (typeof since === 'object' && since !== null) this.charge(Object.keys(since).length * streamLimits.sinceWork);
    return 'method' in parsed && !('op' in parsed) ? this.#dialect(parsed) : this.#op(parsed);
  }

  #op(message: Record<string, unknown>): Action {
    const id = carriedId(message['id']);
    if (id === null && (message['id'] ?? null) !== null) return this.#invalid(null, `id: ${wrongId}`, { id: wrongId });
    const { op } = message;
    if (!ops.includes(op as Op)) return this.#invalid(id, `\`op\` must be one of ${ops.join(', ')}.`, { op: 'unknown' });
    this.usesOps = true;
    if (!this.authenticated && op !== 'auth') {
      return { kind: 'refused', reply: refusal(id, 'UNAUTHENTICATED', authFirst), close: null };
    }
    switch (op as Op) {
      case 'auth':
        return this.#checked(id, parsers.auth(message), (command) => ({ kind: 'authenticate', id, key: command.key }));
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

  /** Who has not used an `op` is taken for one of PumpPortal's clients. */
  #barePing(): Action {
    if (!this.usesOps) return { kind: 'dialect_notice', text: this.authenticated ? 'pong' : needsKey };
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
        text: known ? '`keys` must be a list of addresses.' : `Unknown method; known are ${dialectMethods.join(', ')}.`,
      };
    }
    if (!this.authenticated) return { kind: 'dialect_notice', text: needsKey };
    return { kind: 'dialect', command: outcome.value };
  }

  #invalid(id: CommandId, message: string, fields: Readonly<Record<string, unknown>> = {}): Action {
    if (this.usesDialect && !this.usesOps) return { kind: 'dialect_notice', text: message };
    return { kind: 'refused', reply: refusal(id, 'INVALID_REQUEST', message, { fields }), close: null };
  }

  /** A token bucket: a burst, then as many a second. */
  #allow(nowMs: number): boolean {
    const perSecond = this.#commandsPerSecond;
    const earned = Math.floor(((nowMs - this.#allowanceAtMs) * perSecond) / 1000);
    if (earned > 0) {
      this.#allowance = Math.min(perSecond, this.#allowance + earned);
      this.#allowanceAtMs = nowMs;
    }
    if (this.#allowance === 0) {
      this.#refusedInARow++;
      return false;
    }
    this.#allowance--;
    if (this.#allowance >= perSecond / 2) this.#refusedInARow = 0;
    return true;
  }

  /** Refuses what was not looked at, but for its id. */
  #refuseRate(bytes: Uint8Array, binary: boolean, text: string, retryAfterMs = 1_000): Action {
    this.#refusedInARow += Math.floor(bytes.length / refusalBytes);
    const close = this.#refusedInARow > streamLimits.rateRefusals ? 'RATE_LIMIT' : null;
    const dialect = this.usesDialect && !this.usesOps;
    if (dialect && close === null) return { kind: 'dialect_notice', text };
    return { kind: 'refused', reply: refusal(unreadId(bytes, binary), 'RATE_LIMIT', text, { retryAfterMs }), close };
  }
}

function fullWork(nowMs: number): WorkBudget {
  return new WorkBudget(streamLimits.workBurst, streamLimits.workPerSecond, nowMs);
}

/** The id of a message that is to be refused, without reading a long one. */
function unreadId(bytes: Uint8Array, binary: boolean): CommandId {
  if (bytes.length <= streamLimits.refusedIdBytes) {
    const parsed = parse(bytes, binary);
    return parsed === null || parsed === 'ping' ? null : carriedId(parsed['id']);
  }
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, streamLimits.refusedIdBytes);
  if (binary) return carriedId(firstMsgpackId(head));
  const found = leadingId.exec(head.toString('utf8'))?.[1];
  if (found === undefined) return null;
  try {
    return carriedId(JSON.parse(found));
  } catch {
    // An escape that JSON does not have.
    return null;
  }
}

/** A text is JSON, a binary message MessagePack. Some clients keep a connection alive with the bare text `ping`. */
function parse(bytes: Uint8Array, binary: boolean): Record<string, unknown> | 'ping' | null {
  let value: unknown;
  if (binary) {
    const outcome = decodeMsgpackCommand(bytes);
    value = outcome.ok ? outcome.value : null;
  } else {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    if (text === 'ping') return 'ping';
    try {
      value = JSON.parse(text);
    } catch {
      return null;
    }
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}
