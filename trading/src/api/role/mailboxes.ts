import { RedisConnection } from '@sluice/shared/bus/redis/redis-connection.ts';
import { redisKeys, script } from '@sluice/shared/bus/redis/redis-scripts.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';

/** Most records that wait in one mailbox. Another one is refused. */
const maxWaiting = 1_000;
/** A mailbox without a new record is deleted after this time. */
const mailboxTtlMs = 30_000;

/** The result of `putCall`. `moved`: nothing was put, because another term of the role is current. `fence` is its fence, or 0 if there is none. */
export type PutOutcome = { readonly kind: 'put' } | { readonly kind: 'full' } | { readonly kind: 'moved'; readonly fence: number };

export type Mailboxes = Awaited<ReturnType<typeof openMailboxes>>;

const putAnswerScript = script(`
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then return end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
`);

/** KEYS: mailbox, lease. ARGV: record, bound, ttl in ms, fence. -> 'put', 'full', or the fence of the current term ('0' for none) */
const putCallScript = script(`
local fence = redis.call('GET', KEYS[2])
if fence ~= ARGV[4] then return fence or '0' end
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then return 'full' end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 'put'
`);

/**
 * The mailboxes of a role: queues of records in Redis. Each record is taken once, in the order in which records were put. Every term of the
 * role has a mailbox of its own for calls, so that no later holder finds a call that its caller has given up. Rejects with a `BusError` if
 * Redis cannot be reached; methods reject with a `RedisFault`.
 */
export async function openMailboxes(urls: readonly string[], role: string, log: Logger) {
  const writer = await RedisConnection.open(urls, 'orders', log);
  // A connection that waits for records can send no other command.
  const reader = await RedisConnection.open(urls, 'orders-wait', log).catch((error: unknown) => {
    writer.close();
    throw error;
  });
  // The hash tag is that of the leases, because a script reads the lease and the mailbox together.
  const callsOf = (fence: number): string => `{sluice}:orders:${role}:calls:${fence}`;
  return {
    /** The mailbox of calls to one term of the role. */
    callsOf,
    /** The mailbox of answers to one gateway. */
    answersOf: (gateway: string) => `{sluice}:orders:${role}:answers:${gateway}`,
    /** Puts a call into the mailbox of a term, if that is still the current one. If it rejects, it is unknown whether the call was put. */
    putCall: async (fence: number, record: Buffer): Promise<PutOutcome> => {
      const reply = await writer.run(putCallScript, [callsOf(fence), redisKeys.lease(role)], [record, maxWaiting, mailboxTtlMs, fence]);
      const text = (reply as Buffer).toString('latin1');
      return text === 'put' || text === 'full' ? { kind: text } : { kind: 'moved', fence: Number(text) };
    },
    /** Puts an answer. A full mailbox loses it. */
    putAnswer: async (mailbox: string, record: Buffer): Promise<void> =>
      void (await writer.run(putAnswerScript, [mailbox], [record, maxWaiting, mailboxTtlMs])),
    /** The oldest record of the first mailbox that has one; null if none came within the time (whole seconds). */
    take: async (mailboxes: readonly string[], withinS: number) => {
      const taken = (await reader.binary('blpop', [...mailboxes, withinS])) as readonly [Buffer, Buffer] | null;
      return taken === null ? null : { mailbox: taken[0].toString('utf8'), record: taken[1] };
    },
    close: () => {
      writer.close();
      reader.close();
    },
  };
}
