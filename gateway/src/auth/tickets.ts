import { createHash, randomBytes } from 'node:crypto';
import { RedisConnection } from '@sluice/shared/bus/redis/redis-connection.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { RecordSeal } from './record-seal.ts';

/** The API key to which a ticket belongs, and the address to which it is bound. */
export interface TicketHolder {
  /** `Principal.credential` of the key that requested it. */
  readonly credential: string;
  /** The only address (as a range) that may use it; null: any address from which the key may be used. */
  readonly address: string | null;
}

/** Tickets let a browser open a stream without knowing the key. A ticket works once, for `ticketTtlMs`, on any gateway. */
export interface Tickets {
  /** Creates a ticket. Null: tickets cannot be stored at present. */
  issue(holder: TicketHolder): Promise<string | null>;
  /** Uses up a ticket, and returns its owner. Null: no such ticket, or it is used or expired. */
  take(ticket: string): Promise<TicketHolder | null | 'unavailable'>;
  close(): void;
}

export const ticketTtlMs = 30_000;
/** Maximum number of tickets that one process stores. A further one replaces the oldest, which would expire first. */
const maxTickets = 100_000;
const randomBytesOfTicket = 32;
const ticketForm = /^[A-Za-z0-9_-]{43}$/;
/** How long Redis may take to answer. */
const answerWithinMs = 1_000;

/** The stored record of a ticket; a reader of the store cannot use it. */
function hashOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('base64url');
}

function newTicket(): string {
  return randomBytes(randomBytesOfTicket).toString('base64url');
}

/** Stores tickets in Redis if it is configured, otherwise in this process. Rejects with a `BusError` if Redis cannot be reached at the start. */
export async function createTickets(redisUrls: readonly string[] | null, seal: RecordSeal, log: Logger): Promise<Tickets> {
  if (redisUrls === null) return inProcessTickets();
  return redisTickets(await RedisConnection.open(redisUrls, 'tickets', log), seal, log);
}

export function inProcessTickets(nowMs: () => number = () => performance.now(), bound = maxTickets): Tickets {
  /** In the order of their expiry. */
  const stored = new Map<string, { readonly holder: TicketHolder; readonly endsAtMs: number }>();
  const makeRoom = (): void => {
    for (const [hash, { endsAtMs }] of stored) {
      if (endsAtMs > nowMs() && stored.size < bound) return;
      stored.delete(hash);
    }
  };
  return {
    issue: async (holder) => {
      makeRoom();
      const ticket = newTicket();
      stored.set(hashOf(ticket), { holder, endsAtMs: nowMs() + ticketTtlMs });
      return ticket;
    },
    take: async (ticket) => {
      const hash = hashOf(ticket);
      const found = stored.get(hash);
      stored.delete(hash);
      return found !== undefined && found.endsAtMs > nowMs() ? found.holder : null;
    },
    close: () => stored.clear(),
  };
}

/** Encodes the record of a ticket: a seal, then its expiry and owner as JSON. The seal covers both and the hash under which it is stored. */
const recordForm = /^([A-Za-z0-9_-]{43})(\{.*\})$/s;

interface TicketRecord extends TicketHolder {
  readonly endsAtMs: number;
}

function recordOf(hash: string, record: TicketRecord, seal: RecordSeal): string {
  const text = JSON.stringify(record);
  return seal.of('ticket', hash, record.endsAtMs, Buffer.from(text)).toString('base64url') + text;
}

/** Decodes a record. Null: its seal is wrong, it belongs to another ticket, or it has expired. */
function readRecord(hash: string, text: string, seal: RecordSeal): TicketRecord | null {
  const [, mac = '', json = ''] = recordForm.exec(text) ?? [];
  let record: TicketRecord | null = null;
  try {
    record = JSON.parse(json) as TicketRecord;
  } catch {
    // It has no seal of ours either.
  }
  const isOurs = seal.check(Buffer.from(mac, 'base64url'), 'ticket', hash, record?.endsAtMs ?? 0, Buffer.from(json));
  return isOurs ? record : null;
}

function redisTickets(connection: RedisConnection, seal: RecordSeal, log: Logger): Tickets {
  const keyOf = (hash: string): string => `sluice:ticket:${hash}`;
  /** Tickets that were used on this gateway, oldest first. They stay invalid even if Redis still has them. */
  const used = new Set<string>();
  let unavailable = false;
  const ask = async (command: string, ...args: (string | number)[]): Promise<unknown> => {
    try {
      const reply = await inTime(connection.text(command, ...args));
      if (unavailable) log.info({}, 'tickets_available');
      unavailable = false;
      return reply;
    } catch (error) {
      if (!unavailable) log.warn({ reason: (error as Error).message }, 'tickets_unavailable');
      unavailable = true;
      return 'unavailable';
    }
  };
  const isReplayed = (hash: string): boolean => {
    if (used.has(hash)) return true;
    used.add(hash);
    if (used.size > maxTickets) for (const oldest of used) return !used.delete(oldest);
    return false;
  };
  return {
    issue: async (holder) => {
      const ticket = newTicket();
      const hash = hashOf(ticket);
      const record = recordOf(hash, { ...holder, endsAtMs: seal.expiryAfter(ticketTtlMs) }, seal);
      const reply = await ask('set', keyOf(hash), record, 'PX', ticketTtlMs, 'NX');
      return reply === 'OK' ? ticket : null;
    },
    take: async (ticket) => {
      // Redis is not asked for a text that cannot be a ticket.
      if (!ticketForm.test(ticket)) return null;
      const hash = hashOf(ticket);
      const reply = await ask('getdel', keyOf(hash));
      if (reply === 'unavailable') return reply;
      const record = typeof reply === 'string' ? readRecord(hash, reply, seal) : null;
      if (record === null) return null;
      if (!isReplayed(hash)) return { credential: record.credential, address: record.address };
      seal.refused.ticket++;
      return null;
    },
    close: () => connection.close(),
  };
}

function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${answerWithinMs} ms`)), answerWithinMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
