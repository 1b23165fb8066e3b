import { createHash, randomBytes } from 'node:crypto';
import { RedisConnection } from '@sluice/shared/bus/redis-connection.ts';
import type { Logger } from '@sluice/shared/log/log.ts';

/** Who a ticket stands for. */
export interface TicketHolder {
  /** `Principal.credential` of the key that asked for it. */
  readonly credential: string;
  /** The only address (a range of one) that may use it; null: any that the key may be used from. */
  readonly address: string | null;
}

export type IssuedTicket = { readonly ok: true; readonly ticket: string } | { readonly ok: false };

/** Tickets, with which a browser opens a stream without being shown the key: good once, for `ticketTtlMs`, on every gateway. */
export interface Tickets {
  /** A new ticket; not while there is nowhere to keep it. */
  issue(holder: TicketHolder): Promise<IssuedTicket>;
  /** Whose ticket it was, and it is no more; null for one that there is not (any more). */
  take(ticket: string): Promise<TicketHolder | null | 'away'>;
  close(): void;
}

export const ticketTtlMs = 30_000;
/** Tickets that one process keeps; one more and the oldest goes, which would have ended first. */
const maxTickets = 100_000;
const randomBytesOfTicket = 32;
const ticketForm = /^[A-Za-z0-9_-]{43}$/;
/** How long Redis may take to answer for one. */
const answerWithinMs = 1_000;

/** What is kept of a ticket: who reads it there cannot use it. */
function hashOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('base64url');
}

function newTicket(): string {
  return randomBytes(randomBytesOfTicket).toString('base64url');
}

/** In Redis where there is one, else in this process. Rejects with a `BusError` where Redis cannot be reached at the start. */
export async function createTickets({
  redisUrls,
  log,
}: {
  readonly redisUrls: readonly string[] | null;
  readonly log: Logger;
}): Promise<Tickets> {
  if (redisUrls === null) return inProcessTickets();
  return redisTickets(await RedisConnection.open(redisUrls, 'tickets', log), log);
}

interface Kept {
  readonly holder: TicketHolder;
  readonly endsAtMs: number;
}

export function inProcessTickets(nowMs: () => number = () => performance.now(), bound = maxTickets): Tickets {
  /** In the order in which they end. */
  const kept = new Map<string, Kept>();
  const makeRoom = (): void => {
    for (const [hash, { endsAtMs }] of kept) {
      if (endsAtMs > nowMs() && kept.size < bound) return;
      kept.delete(hash);
    }
  };
  return {
    issue: async (holder) => {
      makeRoom();
      const ticket = newTicket();
      kept.set(hashOf(ticket), { holder, endsAtMs: nowMs() + ticketTtlMs });
      return { ok: true, ticket };
    },
    take: async (ticket) => {
      const hash = hashOf(ticket);
      const found = kept.get(hash);
      kept.delete(hash);
      return found !== undefined && found.endsAtMs > nowMs() ? found.holder : null;
    },
    close: () => kept.clear(),
  };
}

function redisTickets(connection: RedisConnection, log: Logger): Tickets {
  const keyOf = (ticket: string): string => `sluice:ticket:${hashOf(ticket)}`;
  let away = false;
  const ask = async (command: string, ...args: (string | number)[]): Promise<unknown> => {
    try {
      const reply = await inTime(connection.text(command, ...args));
      if (away) log.info({}, 'tickets_kept_again');
      away = false;
      return reply;
    } catch (error) {
      if (!away) log.warn({ reason: (error as Error).message }, 'tickets_away');
      away = true;
      return 'away';
    }
  };
  return {
    issue: async (holder) => {
      const ticket = newTicket();
      const reply = await ask('set', keyOf(ticket), JSON.stringify(holder), 'PX', ticketTtlMs, 'NX');
      return reply === 'OK' ? { ok: true, ticket } : { ok: false };
    },
    take: async (ticket) => {
      // What cannot be one is not asked for.
      if (!ticketForm.test(ticket)) return null;
      const reply = await ask('getdel', keyOf(ticket));
      if (reply === 'away' || typeof reply !== 'string') return reply === 'away' ? 'away' : null;
      return JSON.parse(reply) as TicketHolder;
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
