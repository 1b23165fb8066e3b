import { script } from '../../bus/redis/redis-scripts.ts';
import { baseIntervals, type BaseInterval } from '../market.ts';
import { bucketRetention } from '../candles/retention.ts';

/** Keys of the market in Redis. They share the hash tag of the log's keys, because scripts use several of them, and the lease, at once. */
const prefix = '{sluice}:market:';
export const marketKeys = {
  /** `<epoch> <offset>`: the state contains the log up to here. */
  checkpoint: `${prefix}checkpoint`,
  /** Sorted set: candle topic -> Redis' time in ms at which the demand for it expires. */
  demand: `${prefix}demand`,
  /** Set: topics in demand that are not published yet. */
  fresh: `${prefix}fresh`,
  /** Hash: published topic -> start of its oldest open candle. */
  published: `${prefix}published`,
  /** JSON of the mint's head. */
  head: (mint: string): string => `${prefix}head:${mint}`,
  price: (mint: string): string => `${prefix}price:${mint}`,
  /** Hash of a mint's undecided entries. `undecided.ts` names its fields. */
  undecided: (mint: string): string => `${prefix}undecided:${mint}`,
  /** Set: mints with undecided entries. */
  undecidedMints: `${prefix}undecided`,
  /** List, newest first. */
  trades: (mint: string): string => `${prefix}trades:${mint}`,
  /** Hash of one chunk: start of a bucket, Unix seconds -> its tally. */
  chunk: (interval: string, mint: string, chunkStartS: number): string => `${prefix}${interval}:${mint}:${chunkStartS}`,
} as const;

/** Up to this many fields of a chunk are read by name; for more, the whole chunk is read. */
const namedFields = 64;

const baseNames = Object.keys(baseIntervals) as BaseInterval[];

const digits = `
local function digits(n) return string.format('%.0f', n) end
`;

/**
 * Applies a batch as a whole, or not at all. KEYS: checkpoint, lease. ARGV: fence, checkpoint before (empty: none), checkpoint after,
 * number of trades to store, seconds to store prices, seconds to store trades, seconds to store undecided entries, then what `changeArguments`
 * returns. -> 'applied', 'fenced' or 'stale'
 */
export const applyScript = script(`${digits}
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'fenced' end
local current = redis.call('GET', KEYS[1]) or ''
if current == ARGV[3] then return 'applied' end
if current ~= ARGV[2] then return 'stale' end

local function most(a, b) if a ~= a or b > a then return b end return a end
local function least(a, b) if a ~= a or b < a then return b end return a end
local function first(a, at_a, b, at_b) if a ~= a or at_b < at_a then return b, at_b end return a, at_a end
local function last(a, at_a, b, at_b) if a ~= a or (b == b and at_b >= at_a) then return b, at_b end return a, at_a end
local tally = '>ddddddddddddI4I4I4I4I4I4'
local function merge(old, new)
  local o1, h1, l1, c1, ou1, hu1, lu1, cu1, b1, q1, s1, u1, n1, m1, os1, cs1, ous1, cus1 = struct.unpack(tally, old)
  local o2, h2, l2, c2, ou2, hu2, lu2, cu2, b2, q2, s2, u2, n2, m2, os2, cs2, ous2, cus2 = struct.unpack(tally, new)
  if o2 == o2 then
    o1, os1 = first(o1, os1, o2, os2)
    c1, cs1 = last(c1, cs1, c2, cs2)
  end
  if ou2 == ou2 then
    ou1, ous1 = first(ou1, ous1, ou2, ous2)
    cu1, cus1 = last(cu1, cus1, cu2, cus2)
  end
  return struct.pack(tally, o1, most(h1, h2), least(l1, l2), c1, ou1, most(hu1, hu2), least(lu1, lu2), cu1,
    b1 + b2, q1 + q2, s1 + s2, u1 + u2, n1 + n2, m1 + m2, os1, cs1, ous1, cus1)
end

local no_price = 0 / 0
local no_prices = struct.pack('>dddddddd', no_price, no_price, no_price, no_price, no_price, no_price, no_price, no_price)
local function remove_prices(mint, from, to)
  for _, one in ipairs({ ${baseNames.map((name) => `{ '${name}', ${baseIntervals[name]}, ${bucketRetention[name].chunkS} }`).join(', ')} }) do
    local interval, interval_s, chunk_s = one[1], one[2], one[3]
    local low = from - from % interval_s
    for chunk = low - low % chunk_s, to, chunk_s do
      local key = '${prefix}' .. interval .. ':' .. mint .. ':' .. digits(chunk)
      local got = redis.call('HGETALL', key)
      for i = 1, #got, 2 do
        local start = tonumber(got[i])
        if start >= low and start <= to then redis.call('HSET', key, got[i], no_prices .. string.sub(got[i + 1], #no_prices + 1)) end
      end
    end
  end
end

local function take_back(key, ids)
  local events = redis.call('LRANGE', key, 0, -1)
  for _, id in ipairs(ids) do
    local mark = '"id":"' .. id .. '"'
    for _, event in ipairs(events) do
      if string.find(event, mark, 1, true) then redis.call('LREM', key, 1, event); break end
    end
  end
end

local keep_trades, price_s, trades_s, undecided_s, at = tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7], 8
local function next_argument()
  at = at + 1
  return ARGV[at]
end
for _, change in ipairs(cjson.decode(ARGV[8])) do
  local mint = change.mint
  if change.headS > 0 then redis.call('SET', '${prefix}head:' .. mint, next_argument(), 'EX', change.headS) end
  local trades = '${prefix}trades:' .. mint
  if #change.retracted > 0 then take_back(trades, change.retracted) end
  if change.trades > 0 then
    local events = {}
    for i = 1, change.trades do events[i] = next_argument() end
    if redis.call('LPUSH', trades, unpack(events)) > keep_trades then redis.call('LTRIM', trades, 0, keep_trades - 1) end
    redis.call('EXPIRE', trades, trades_s)
  end
  local undecided = '${prefix}undecided:' .. mint
  if #change.undecided > 0 then
    local fields = {}
    for i, name in ipairs(change.undecided) do fields[2 * i - 1], fields[2 * i] = name, next_argument() end
    redis.call('HSET', undecided, unpack(fields))
    redis.call('EXPIRE', undecided, undecided_s)
    redis.call('SADD', '${prefix}undecided', mint)
  end
  if change.price then
    local event = redis.call('HGET', undecided, change.price)
    if event then redis.call('SET', '${prefix}price:' .. mint, event, 'EX', price_s) end
  end
  if #change.gone > 0 then
    redis.call('HDEL', undecided, unpack(change.gone))
    if redis.call('EXISTS', undecided) == 0 then redis.call('SREM', '${prefix}undecided', mint) end
  end
  if change.voided then remove_prices(mint, change.voided.fromS, change.voided.toS) end
  for _, bucket in ipairs(change.buckets) do
    local key = '${prefix}' .. bucket.interval .. ':' .. mint .. ':' .. digits(bucket.chunkS)
    local field, value = digits(bucket.startS), next_argument()
    local old = redis.call('HGET', key, field)
    if old then
      redis.call('HSET', key, field, merge(old, value))
    else
      redis.call('HSET', key, field, value)
      redis.call('EXPIRE', key, bucket.keepS)
    end
  end
end
redis.call('SET', KEYS[1], ARGV[3])
return 'applied'
`);

/**
 * KEYS: head of the mint, its undecided entries, its price, checkpoint. ARGV: interval, mint, seconds of a chunk, of the interval, and for which a
 * chunk is stored, from, to, limit. -> [checkpoint, price, head, [name, value, …] of the undecided entries, [start, tally, …]]: tallies of the
 * newest chunks until the limit is reached, in no order. Reads no more chunks than can exist before the last trade.
 */
export const readScript = script(`${digits}
local function read(interval, mint, chunk_s, interval_s, keep_s, from, to, limit)
  local found, head = {}, redis.call('GET', '${prefix}head:' .. mint)
  if not head then return found end
  to = math.min(to, cjson.decode(head).tradedS + 1)
  from = math.max(from, to - keep_s - 2 * chunk_s)
  local chunk = to - 1 - (to - 1) % chunk_s
  while chunk + chunk_s > from and #found < limit * 2 do
    local key, low, high = '${prefix}' .. interval .. ':' .. mint .. ':' .. digits(chunk), math.max(from, chunk), math.min(to, chunk + chunk_s)
    if (high - low) / interval_s <= ${namedFields} then
      local names = {}
      for start = low + (-low) % interval_s, high - 1, interval_s do names[#names + 1] = digits(start) end
      local got = #names > 0 and redis.call('HMGET', key, unpack(names)) or {}
      for i = 1, #names do
        if got[i] then found[#found + 1] = names[i]; found[#found + 1] = got[i] end
      end
    else
      local got = redis.call('HGETALL', key)
      for i = 1, #got, 2 do
        local start = tonumber(got[i])
        if start >= low and start < high then found[#found + 1] = got[i]; found[#found + 1] = got[i + 1] end
      end
    end
    chunk = chunk - chunk_s
  end
  return found
end
local settled = read(ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]))
return {
  redis.call('GET', KEYS[4]) or '', redis.call('GET', KEYS[3]) or '', redis.call('GET', KEYS[1]) or '', redis.call('HGETALL', KEYS[2]), settled,
}
`);

/** KEYS: undecided entries of a mint. -> [name, value, …] */
export const undecidedScript = script(`return redis.call('HGETALL', KEYS[1])`);

const time = `
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
`;

/** KEYS: demand, fresh, published. ARGV: ttl in ms, bound, topics. -> refused topics */
export const demandScript = script(`${time}
local until_ms, room, refused = now_ms + tonumber(ARGV[1]), tonumber(ARGV[2]) - redis.call('ZCARD', KEYS[1]), {}
for i = 3, #ARGV do
  local topic = ARGV[i]
  local known = redis.call('ZSCORE', KEYS[1], topic)
  if known or room > 0 then
    redis.call('ZADD', KEYS[1], until_ms, topic)
    if not known then room = room - 1 end
    if redis.call('HEXISTS', KEYS[3], topic) == 0 then redis.call('SADD', KEYS[2], topic) end
  else
    refused[#refused + 1] = topic
  end
end
return refused
`);

/** KEYS: demand, fresh, published. ARGV: bound of each list. -> [topics to start, topics to end] */
export const turnsScript = script(`${time}
local ended = {}
for _, topic in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'LIMIT', 0, ARGV[1])) do
  redis.call('SREM', KEYS[2], topic)
  if redis.call('HEXISTS', KEYS[3], topic) == 1 then ended[#ended + 1] = topic else redis.call('ZREM', KEYS[1], topic) end
end
return {redis.call('SRANDMEMBER', KEYS[2], ARGV[1]), ended}
`);

/**
 * KEYS: demand, fresh, published, lease. ARGV: fence, number of open topics, each open topic with the start of its oldest open candle,
 * topics that ended. -> 'applied' or 'fenced'
 */
export const noteScript = script(`${time}
if redis.call('GET', KEYS[4]) ~= ARGV[1] then return 'fenced' end
local first_ended = 3 + 2 * tonumber(ARGV[2])
for i = 3, first_ended - 1, 2 do
  redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1])
  redis.call('SREM', KEYS[2], ARGV[i])
end
for i = first_ended, #ARGV do
  redis.call('HDEL', KEYS[3], ARGV[i])
  local until_ms = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if until_ms and tonumber(until_ms) > now_ms then redis.call('SADD', KEYS[2], ARGV[i]) else redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return 'applied'
`);
