import { createHash } from 'node:crypto';
import { busLimits } from '../bus.ts';
import { epochDigits, epochLength, epochTimeDigits } from '../epoch.ts';
import { olderVersion } from '../message.ts';

/** One Lua script and the name under which Redis caches it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** All keys have the same hash tag. So in a cluster one node has all of them, and a script can use them together. */
export const redisKeys = {
  version: '{sluice}:version',
  offset: '{sluice}:offset',
  /** Hash: topic -> its last seq. */
  seq: '{sluice}:seq',
  /**
   * Stream: one entry a message, field `m`, id `<offset of its first entry>-0`. The offset is the id's first half, not
   * its second, so that a plain offset is a valid id everywhere (ranges, and MINID for trimming by offset).
   */
  log: '{sluice}:log',
  /** See `state` below. */
  epochs: '{sluice}:epochs',
  status: '{sluice}:status',
  publisher: (id: string): string => `{sluice}:publisher:${id}`,
  /** The fence of the current term; missing if no process holds the lease. */
  lease: (name: string): string => `{sluice}:lease:${name}`,
  /** The last fence that was used. */
  fence: (name: string): string => `{sluice}:fence:${name}`,
} as const;

/** Pub/Sub ignores database numbers, so the name of the channel contains it. Two logs in one Redis then have separate channels. */
export function liveChannel(database: number): string {
  return database === 0 ? '{sluice}:live' : `{sluice}:live:${database}`;
}

export const logKeys = [redisKeys.version, redisKeys.offset, redisKeys.seq, redisKeys.log, redisKeys.epochs] as const;
/** Error replies of these scripts begin with one of these words. The second one is followed by the key of the lease. */
export const versionMismatch = 'SLUICEVERSION';
export const fenced = 'SLUICEFENCED';

/** Longest `epochs`, about 30 of them. Above this limit, the oldest is removed; if the log still has entries of it, a new log begins. */
const maxEpochsLength = 1_000;

/**
 * Reads the state of the log, for a caller that passes the last epoch and offset that it stored or received.
 *
 * After a restart, or when a replica takes over, Redis has another `master_replid` and may lack the last announced entries. It must not
 * continue the old epoch then, because it could use numbers twice. It continues the log in a new epoch. `epochs` lists the epochs of the
 * log, each with the offset at which it ended: `<epoch> <end> ... <epoch> <master_replid>`. Every message carries the epoch in which it was
 * written.
 *
 * If the log lacks the position that a caller knows, the end of the epoch is marked (`<end>!`), and every subscriber that passes this end
 * reports a loss. One mark is enough for all callers with the same loss. If one of the log's own keys is missing, an empty log begins.
 *
 * The name of an epoch begins with its start time in milliseconds, by Redis' clock. If needed, the time is increased so that it is later than
 * that of every epoch that the caller or the log knows. So the order of two epochs is known even if the clocks of servers are wrong.
 */
const state = `
local function new_epoch(chance, ...)
  local now, digits = redis.call('TIME'), ''
  local ms = now[1] * 1000 + math.floor(now[2] / 1000)
  for _, name in ipairs({...}) do ms = math.max(ms, (tonumber(string.sub(name, 1, ${epochTimeDigits}), 32) or 0) + 1) end
  for _ = 1, ${epochTimeDigits} do
    local digit = ms % 32
    digits, ms = string.sub('${epochDigits}', digit + 1, digit + 1) .. digits, (ms - digit) / 32
  end
  return digits .. chance
end
local function begin_log(version, chance, memory, ...)
  local epoch = new_epoch(chance, ...)
  redis.call('UNLINK', KEYS[3], KEYS[4])
  redis.call('MSET', KEYS[1], version, KEYS[2], '0', KEYS[5], epoch .. ' ' .. memory)
  return {epoch = epoch, offset = 0, epochs = epoch, memory = memory}
end
local function lacks(epochs, offset, known, known_offset)
  if known == '' then return false end
  local _, at = string.find(epochs, known, 1, true)
  if at then
    local rest = string.sub(epochs, at + 1)
    return known_offset > (tonumber(string.match(rest, '^ (%d+)')) or offset) and not string.find(rest, '!', 1, true)
  end
  -- The known epoch is not in this log. If it began after all epochs of the log, Redis has loaded an older file.
  local function is_before(name) return string.sub(name, 1, ${epochTimeDigits}) < string.sub(known, 1, ${epochTimeDigits}) end
  if not is_before(epochs) then return false end
  for marked in string.gmatch(epochs, '! (%w%S+)') do
    if not is_before(marked) then return false end
  end
  return true
end
local function without_oldest(epochs)
  local till, rest = string.match(epochs, '^%S+ (%d+)!? (.*)$')
  local oldest = redis.call('XRANGE', KEYS[4], '-', '+', 'COUNT', 1)[1]
  if oldest and tonumber(string.match(oldest[1], '^%d+')) <= tonumber(till) then return nil end
  return rest
end
local function read_state(version, chance, known, known_offset)
  local memory = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or '-'
  local got = redis.call('MGET', KEYS[1], KEYS[2], KEYS[5])
  if got[1] and got[1] ~= version and got[1] ~= '${olderVersion}' then
    return {refused = redis.error_reply('${versionMismatch} ' .. got[1])}
  end
  local offset = tonumber(got[2] or '')
  local epochs, written_by = string.match(got[3] or '', '^(.*) (%S+)$')
  if got[1] and offset and epochs and (offset == 0 or redis.call('EXISTS', KEYS[3]) == 1) then
    local is_lost = lacks(epochs, offset, known, known_offset)
    if is_lost or written_by ~= memory then
      local last = string.sub(epochs, -${epochLength})
      epochs = epochs .. ' ' .. got[2] .. (is_lost and '! ' or ' ') .. new_epoch(chance, known, last)
      if #epochs > ${maxEpochsLength} then epochs = without_oldest(epochs) end
      if epochs then redis.call('SET', KEYS[5], epochs .. ' ' .. memory) end
    end
    if epochs then return {epoch = string.sub(epochs, -${epochLength}), offset = offset, epochs = epochs, memory = memory} end
  end
  return begin_log(version, chance, memory, known, string.sub(got[3] or '', 1, ${epochTimeDigits}))
end
`;

/** The end of an epoch; `end` is null for the current one. `isWhole`: no entry of it is known to be missing. */
export interface EpochEnd {
  readonly end: number | null;
  readonly isWhole: boolean;
}

/** The epochs of a log, oldest first. */
export function epochsOf(text: string): Map<string, EpochEnd> {
  const words = text.split(' ').filter((word) => word !== '');
  const epochs = new Map<string, EpochEnd>();
  for (let at = 0; at < words.length; at += 2) {
    const end = words[at + 1];
    epochs.set(words[at] as string, { end: end === undefined ? null : Number.parseInt(end, 10), isWhole: end?.endsWith('!') !== true });
  }
  return epochs;
}

/** KEYS: logKeys. ARGV: version, end of a new epoch's name, epoch and offset that the caller knows. -> [offset, epochs] */
export const stateScript = script(`${state}
local log = read_state(ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]))
if log.refused then return log.refused end
return {log.offset, log.epochs}
`);

/**
 * Stores and announces one batch. The first batch under a lease gives a log of the older version the newer one, which older programs refuse: one of
 * them must not lead without knowing what was published. KEYS: logKeys, the publisher's key, and the lease if the publisher is bound to one.
 * ARGV: version, end of a new epoch's name, epoch and offset that the process knows, epoch of the term, number of the batch, channel,
 * `counts`, views, topics, most views to store, most topics, ttl of the publisher's key in ms, fence, command that announces, body.
 * -> [epoch, offset]
 *
 * A batch that is sent again because its answer was lost is recognized by its number and not stored twice. It is treated as stored even if the
 * lease was lost since. A new epoch ends the term of the lease: the log may lack entries of the holder, who must read it before writing
 * again. Everything that can fail comes before the first counter is written, so that no offset is used without its entry. Numbers are
 * doubles here, exact up to 2^53.
 */
export const publishScript = script(`${state}
local log = read_state(ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]))
if log.refused then return log.refused end
local function end_holding()
  if redis.call('GET', KEYS[7]) == ARGV[14] then redis.call('DEL', KEYS[7]) end
  return redis.error_reply('${fenced} ' .. KEYS[7])
end
if KEYS[7] and log.epoch ~= ARGV[5] then return end_holding() end
if log.offset > 0 and redis.call('GET', KEYS[6]) == ARGV[6] then return {log.epoch, log.offset} end
if KEYS[7] and redis.call('GET', KEYS[7]) ~= ARGV[14] then return redis.error_reply('${fenced} ' .. KEYS[7]) end

local body, topics = ARGV[16], tonumber(ARGV[10])
local names, counts, seqs, at = {}, {}, {}, 1
for i = 1, topics do
  counts[i], names[i], at = struct.unpack('>HBc0', body, at)
end
-- unpack() can return about 8,000 values; a batch may have more.
local step, missing = 1000, 0
for from = 1, topics, step do
  local till = math.min(from + step - 1, topics)
  local got = redis.call('HMGET', KEYS[3], unpack(names, from, till))
  for i = from, till do
    local seq = got[i - from + 1]
    if seq then seqs[i] = tonumber(seq) else seqs[i] = 0; missing = missing + 1 end
  end
end
if missing > 0 and redis.call('HLEN', KEYS[3]) + missing > tonumber(ARGV[12]) then
  log = begin_log(ARGV[1], ARGV[2], log.memory, log.epoch)
  if KEYS[7] then return end_holding() end
  for i = 1, topics do seqs[i] = 0 end
end

local parts = {struct.pack('>Bc${epochLength}I6', tonumber(ARGV[1]), log.epoch, log.offset + 1), ARGV[8]}
for i = 1, topics do parts[i + 2] = struct.pack('>I6', seqs[i]) end
parts[topics + 3] = body
local message = table.concat(parts)
local last = log.offset + tonumber(ARGV[9])
local oldest = math.max(0, last - tonumber(ARGV[11]))
redis.call('XADD', KEYS[4], 'MINID', '~', string.format('%.0f', oldest), string.format('%.0f-0', log.offset + 1), 'm', message)
for from = 1, topics, step do
  local fields, n = {}, 0
  for i = from, math.min(from + step - 1, topics) do
    fields[n + 1], fields[n + 2] = names[i], seqs[i] + counts[i]
    n = n + 2
  end
  redis.call('HSET', KEYS[3], unpack(fields))
end
redis.call('SET', KEYS[2], last)
if KEYS[7] then redis.call('SET', KEYS[1], ARGV[1]) end
redis.call('SET', KEYS[6], ARGV[6], 'PX', ARGV[13])
redis.call(ARGV[15], ARGV[7], message)
return {log.epoch, last}
`);

/**
 * Reads the heads of messages, without their entries. KEYS: log. ARGV: first and last offset, most messages, most bytes to read. -> heads
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
 * Renews the term with the given fence, or begins a new term if no process holds the lease. Each fence is higher than the one before
 * and not below the clock's microseconds, so that fences still grow after Redis has lost its memory. If the clock was set back, a term ends
 * after its ttl all the same.
 * KEYS: lease, fence. ARGV: fence of the caller's term, ttl in ms. -> fence of the caller's term, or null
 */
export const leaseScript = script(`
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return held
end
if held then
  if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  return false
end
local now = redis.call('TIME')
local fence = math.max(now[1] * 1000000 + now[2], tonumber(redis.call('GET', KEYS[2]) or 0) + 1)
fence = string.format('%.0f', fence)
redis.call('SET', KEYS[2], fence)
redis.call('SET', KEYS[1], fence, 'PX', ARGV[2])
return fence
`);

/** Ends the term with this fence. KEYS: lease. ARGV: fence. */
export const releaseScript = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
`);

/**
 * Statuses expire by Redis' clock. If that clock was set back, the statuses of processes that have ended would last longer, and look like those
 * of running processes. So the status of a process has also ended if it would last longer than any such status.
 */
const isAlive = `
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
local function is_alive(name, status)
  local until_ms = struct.unpack('>I6', status)
  return until_ms > now_ms and (until_ms <= now_ms + ${busLimits.maxProcessStatusMs} or not string.find(name, ':', 1, true))
end
`;

/**
 * KEYS: status, and a lease if only its holder may set the status. ARGV: name, value, ttl in ms, most statuses, fence of the holder.
 * -> 1, or 0 if there are too many statuses
 */
export const setStatusScript = script(`${isAlive}
if KEYS[2] and redis.call('GET', KEYS[2]) ~= ARGV[5] then return redis.error_reply('${fenced} ' .. KEYS[2]) end
local all = redis.call('HGETALL', KEYS[1])
local alive, known = 0, false
for i = 1, #all, 2 do
  if is_alive(all[i], all[i + 1]) then
    alive = alive + 1
    if all[i] == ARGV[1] then known = true end
  else
    redis.call('HDEL', KEYS[1], all[i])
  end
end
if not known and alive >= tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], struct.pack('>I6', now_ms + tonumber(ARGV[3])) .. ARGV[2])
return 1
`);

/** KEYS: status. -> [name, value, name, value, ...] of those that have not expired, by Redis' clock. */
export const statusesScript = script(`${isAlive}
local all, out = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  if is_alive(all[i], all[i + 1]) then
    out[#out + 1] = all[i]
    out[#out + 1] = string.sub(all[i + 1], 7)
  end
end
return out
`);

/** KEYS: any key of the stream, so that in a cluster the node that has the stream answers. -> Unix milliseconds */
export const timeScript = script(`
local now = redis.call('TIME')
return now[1] * 1000 + math.floor(now[2] / 1000)
`);
