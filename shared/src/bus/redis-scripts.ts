import { createHash } from 'node:crypto';
import { epochLength } from './epoch.ts';

/** One Lua script and the name under which Redis caches it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** All keys share one hash tag, so that in a cluster one node has them all and a script may touch them together. */
export const redisKeys = {
  version: '{sluice}:version',
  epoch: '{sluice}:epoch',
  offset: '{sluice}:offset',
  /** Hash: topic -> its last seq. */
  seq: '{sluice}:seq',
  /**
   * Stream: one entry a message, field `m`, id `<offset of its first entry>-0`. The offset is the id's first half, not
   * its second, so that a bare offset is an id everywhere (ranges, and MINID for trimming by offset).
   */
  log: '{sluice}:log',
  /** See `terms` below. */
  terms: '{sluice}:terms',
  status: '{sluice}:status',
  publisher: (id: string): string => `{sluice}:publisher:${id}`,
  /** The fence of the present holding; gone when nobody holds the lease. */
  lease: (name: string): string => `{sluice}:lease:${name}`,
  /** The last fence given out. */
  fence: (name: string): string => `{sluice}:fence:${name}`,
} as const;

/** Pub/sub knows no database numbers, so the channel carries it: two logs of one Redis don't hear each other. */
export function liveChannel(database: number): string {
  return database === 0 ? '{sluice}:live' : `{sluice}:live:${database}`;
}

export const logKeys = [redisKeys.version, redisKeys.epoch, redisKeys.offset, redisKeys.seq, redisKeys.log, redisKeys.terms] as const;
/** Error replies of these scripts begin with one of these words. */
export const versionMismatch = 'SLUICEVERSION';
export const fenced = 'SLUICEFENCED';

/** Characters of `terms`, some 30 terms at least: beyond, the oldest is forgotten, or a new epoch begins where the log still has entries of it. */
const maxTermsLength = 1_000;

/**
 * Reads where the log stands, for a caller that says what it has seen of it: epoch, term and offset, which is -1 where
 * it does not know any more.
 *
 * A term is a stretch of the log that one memory wrote: it ends where Redis starts anew or another node takes its place
 * (`master_replid` is then another), for what such a memory begins with may lack the end of what the one before it
 * announced. `terms` names them all, each with the offset at which it ended, `<term> <end> … <term> <memory>`, and every
 * message carries its own; the first has the name of the epoch. So a caller that has seen more of a term than stands in the log is known
 * as such, however far the log has grown since: seqs were given out twice. That begins a new epoch, and so does a part
 * that is missing, which means that memory was lost.
 */
const state = `
local function begin_epoch(version, name, memory)
  redis.call('UNLINK', KEYS[4], KEYS[5])
  redis.call('MSET', KEYS[1], version, KEYS[2], name, KEYS[3], '0', KEYS[6], name .. ' ' .. memory)
end
local function end_of(term, terms)
  local _, at = string.find(terms, term .. ' ', 1, true)
  return at and tonumber(string.match(terms, '^%d+', at + 1)) or -1
end
local function without_oldest(terms)
  local till, rest = string.match(terms, '^%S+ (%d+) (.*)$')
  local oldest = redis.call('XRANGE', KEYS[5], '-', '+', 'COUNT', 1)[1]
  if oldest and tonumber(string.match(oldest[1], '^%d+')) <= tonumber(till) then return nil end
  return rest
end
local function read_state(version, fresh, known_epoch, known_term, known_offset)
  local memory = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or '-'
  local got = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[6])
  local epoch, offset = got[2], got[3]
  if got[1] and got[1] ~= version then
    return {refused = redis.error_reply('${versionMismatch} ' .. got[1])}
  end
  if got[1] and epoch and offset then
    local terms, written_by = string.match(got[4] or (epoch .. ' ' .. memory), '^(.*) (%S+)$')
    if written_by ~= memory then terms = terms .. ' ' .. offset .. ' ' .. fresh end
    if #terms > ${maxTermsLength} then terms = without_oldest(terms) end
    offset = tonumber(offset)
    local term = terms and string.sub(terms, -${epochLength})
    local whole = term and (offset == 0 or redis.call('EXISTS', KEYS[4]) == 1)
    if whole and epoch == known_epoch then
      local till = offset
      if known_term ~= term then till = end_of(known_term, terms) end
      whole = known_offset <= till and (known_offset >= 0 or known_term == term)
    end
    if whole then
      if written_by ~= memory or not got[4] then redis.call('SET', KEYS[6], terms .. ' ' .. memory) end
      return {epoch = epoch, offset = offset, term = term, terms = terms, memory = memory}
    end
  end
  begin_epoch(version, fresh, memory)
  return {epoch = fresh, offset = 0, term = fresh, terms = fresh, memory = memory}
end
`;

/** Names of terms, with the offset at which each but the last ended between them. */
export function termsOf(text: string): string[] {
  return text.split(' ').filter((name, place) => name !== '' && place % 2 === 0);
}

/** KEYS: logKeys. ARGV: version, name for a new epoch or term, epoch, term and offset that the caller has seen. -> [epoch, offset, terms] */
export const stateScript = script(`${state}
local log = read_state(ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]))
if log.refused then return log.refused end
return {log.epoch, log.offset, log.terms}
`);

/**
 * Stores and announces one batch. KEYS: logKeys, the publisher's key, and the lease where the publisher is bound to one.
 * ARGV: version, name for a new epoch or term, epoch, term and offset that the caller has seen, number of the batch, channel, `counts`,
 * entries, topics, entries to keep, topics to keep, ttl of the publisher's key in ms, fence, command that announces, body. -> [epoch, offset, term]
 *
 * A batch that is sent again because its answer was lost is recognized by its number and not stored twice; it counts as
 * stored also where the lease was lost since. A new epoch ends the holding of the lease: its holder goes by a log that is gone, and
 * has to read the new one before it writes into it. What can
 * fail stands before the first counter is written, so that no offset is given out without its entry. Numbers are
 * doubles here: exact up to 2^53.
 */
export const publishScript = script(`${state}
local log = read_state(ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]))
if log.refused then return log.refused end
local epoch, offset, term = log.epoch, log.offset, log.term
local function end_holding()
  if redis.call('GET', KEYS[8]) == ARGV[14] then redis.call('DEL', KEYS[8]) end
  return redis.error_reply('${fenced} ' .. ARGV[14])
end
if KEYS[8] and epoch ~= ARGV[3] then return end_holding() end
if offset > 0 and redis.call('GET', KEYS[7]) == ARGV[6] then return {epoch, offset, term} end
if KEYS[8] and redis.call('GET', KEYS[8]) ~= ARGV[14] then return redis.error_reply('${fenced} ' .. ARGV[14]) end

local body, topics = ARGV[16], tonumber(ARGV[10])
local names, counts, seqs, at = {}, {}, {}, 1
for i = 1, topics do
  counts[i], names[i], at = struct.unpack('>HBc0', body, at)
end
-- unpack() has room for some 8,000 values, a batch for more.
local step, missing = 1000, 0
for from = 1, topics, step do
  local till = math.min(from + step - 1, topics)
  local got = redis.call('HMGET', KEYS[4], unpack(names, from, till))
  for i = from, till do
    local seq = got[i - from + 1]
    if seq then seqs[i] = tonumber(seq) else seqs[i] = 0; missing = missing + 1 end
  end
end
if missing > 0 and redis.call('HLEN', KEYS[4]) + missing > tonumber(ARGV[12]) then
  begin_epoch(ARGV[1], ARGV[2], log.memory)
  if KEYS[8] then return end_holding() end
  epoch, offset, term = ARGV[2], 0, ARGV[2]
  for i = 1, topics do seqs[i] = 0 end
end

local parts = {struct.pack('>Bc${epochLength}I6', tonumber(ARGV[1]), term, offset + 1), ARGV[8]}
for i = 1, topics do parts[i + 2] = struct.pack('>I6', seqs[i]) end
parts[topics + 3] = body
local message = table.concat(parts)
local last = offset + tonumber(ARGV[9])
local oldest = math.max(0, last - tonumber(ARGV[11]))
redis.call('XADD', KEYS[5], 'MINID', '~', string.format('%.0f', oldest), string.format('%.0f-0', offset + 1), 'm', message)
for from = 1, topics, step do
  local fields, n = {}, 0
  for i = from, math.min(from + step - 1, topics) do
    fields[n + 1], fields[n + 2] = names[i], seqs[i] + counts[i]
    n = n + 2
  end
  redis.call('HSET', KEYS[4], unpack(fields))
end
redis.call('SET', KEYS[3], last)
redis.call('SET', KEYS[7], ARGV[6], 'PX', ARGV[13])
redis.call(ARGV[15], ARGV[7], message)
return {epoch, last, term}
`);

/**
 * Reads what stands before the entries of messages, without their payloads. KEYS: log. ARGV: first and last offset,
 * bound of messages, bound of bytes looked at. -> heads
 */
export const headsScript = script(`
local heads, bytes, from = {}, 0, ARGV[1]
for i = 1, tonumber(ARGV[3]) do
  local got = redis.call('XRANGE', KEYS[1], from, ARGV[2], 'COUNT', 1)[1]
  if not got then break end
  local message = got[2][2]
  if got[2][1] == 'm' and #message >= ${1 + epochLength + 6 + 8} then
    local topics, dictionary = struct.unpack('>HI4', message, ${1 + epochLength + 6 + 2 + 1})
    heads[#heads + 1] = string.sub(message, 1, ${1 + epochLength + 6 + 8} + topics * 6 + dictionary)
  else
    heads[#heads + 1] = ''
  end
  bytes, from = bytes + #message, '(' .. got[1]
  if bytes >= tonumber(ARGV[4]) then break end
end
return heads
`);

/**
 * Keeps a lease for the holding whose fence is given, or begins a new holding where nobody has it. Fences grow by one at
 * least, and are above the clock's microseconds so that they go on growing after Redis lost its memory.
 * KEYS: lease, fence. ARGV: fence of the caller's holding, ttl in ms. -> fence of the caller's holding, or null
 */
export const leaseScript = script(`
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return held
end
if held then return false end
local now = redis.call('TIME')
local fence = math.max(now[1] * 1000000 + now[2], tonumber(redis.call('GET', KEYS[2]) or 0) + 1)
fence = string.format('%.0f', fence)
redis.call('SET', KEYS[2], fence)
redis.call('SET', KEYS[1], fence, 'PX', ARGV[2])
return fence
`);

/** Ends the holding whose fence is given. KEYS: lease. ARGV: fence. */
export const releaseScript = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
`);

/**
 * KEYS: status, and a lease where only its holder may set this. ARGV: name, value, ttl in ms, bound of statuses, fence of the holder.
 * -> 1, or 0 when there are too many.
 */
export const setStatusScript = script(`
if KEYS[2] and redis.call('GET', KEYS[2]) ~= ARGV[5] then return redis.error_reply('${fenced} ' .. ARGV[5]) end
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
local all = redis.call('HGETALL', KEYS[1])
local alive, known = 0, false
for i = 1, #all, 2 do
  if (struct.unpack('>I6', all[i + 1])) <= now_ms then
    redis.call('HDEL', KEYS[1], all[i])
  else
    alive = alive + 1
    if all[i] == ARGV[1] then known = true end
  end
end
if not known and alive >= tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], struct.pack('>I6', now_ms + tonumber(ARGV[3])) .. ARGV[2])
return 1
`);

/** KEYS: status. -> [name, value, name, value, ...] of those that have not expired, by Redis' clock. */
export const statusesScript = script(`
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
local all, out = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  if (struct.unpack('>I6', all[i + 1])) > now_ms then
    out[#out + 1] = all[i]
    out[#out + 1] = string.sub(all[i + 1], 7)
  end
end
return out
`);
