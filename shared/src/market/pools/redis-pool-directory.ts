import type { LeaseTerm, LogPosition } from '../../bus/bus.ts';
import { positionText, readPosition } from '../../bus/known-position.ts';
import { RedisConnection } from '../../bus/redis/redis-connection.ts';
import { redisKeys, script } from '../../bus/redis/redis-scripts.ts';
import type { Logger } from '../../runtime/log/log.ts';
import { jsonOrNull } from '../../codec/bytes.ts';
import { byDepth, poolBounds, readKnownPool } from './pool-directory.ts';
import type { KnownPool, PoolBounds, PoolDirectory, PoolSighting } from './pool-directory.ts';

/** Keys in Redis. They share the hash tag of the log's keys, because the script uses several of them, and the lease, at once. */
const prefix = '{sluice}:pools:';
const keys = {
  checkpoint: `${prefix}checkpoint`,
  /** Sorted set: mint -> number of its last sighting. */
  mints: `${prefix}mints`,
  /** Number of the last sighting. */
  sightings: `${prefix}sightings`,
  /** Hash: address of the pool -> its JSON. */
  of: (mint: string): string => `${prefix}of:${mint}`,
} as const;

/** Sightings of one command. */
const perCommand = 200;
/** Longer strings are not read. Only the follower should write here, but anyone with access to Redis can. */
const maxPoolBytes = 512;

/**
 * KEYS: lease, checkpoint, mints, sightings. ARGV: fence, pools of a mint, mints, the next checkpoint (empty if it does not move), then mint,
 * address and JSON of each sighting. -> 'applied' or 'fenced'
 */
const noteScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'fenced' end
local function shallower(a, b) return a.depthSol < b.depthSol or (a.depthSol == b.depthSol and a.address > b.address) end
local function drop_shallowest(key)
  local last
  for _, json in ipairs(redis.call('HVALS', key)) do
    local pool = cjson.decode(json)
    if not last or shallower(pool, last) then last = pool end
  end
  redis.call('HDEL', key, last.address)
end
for i = 5, #ARGV, 3 do
  local mint, address, json = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local key = '${prefix}of:' .. mint
  local old = redis.call('HGET', key, address)
  if not old or cjson.decode(old).slot <= cjson.decode(json).slot then
    redis.call('HSET', key, address, json)
    if redis.call('HLEN', key) > tonumber(ARGV[2]) then drop_shallowest(key) end
  end
  redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[4]), mint)
end
local excess = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[3])
if excess > 0 then
  local oldest = redis.call('ZPOPMIN', KEYS[3], excess)
  for i = 1, #oldest, 2 do redis.call('DEL', '${prefix}of:' .. oldest[i]) end
end
if ARGV[4] ~= '' then redis.call('SET', KEYS[2], ARGV[4]) end
return 'applied'
`);

/** The directory in the Redis of the bus. All methods reject with a `RedisFault` while Redis does not answer. */
export class RedisPoolDirectory implements PoolDirectory {
  readonly #connection: RedisConnection;
  readonly #bounds: PoolBounds;

  private constructor(connection: RedisConnection, bounds: PoolBounds) {
    this.#connection = connection;
    this.#bounds = bounds;
  }

  /** Rejects with `UNAVAILABLE` when Redis cannot be reached. */
  static async open(urls: readonly string[], log: Logger, bounds = poolBounds): Promise<RedisPoolDirectory> {
    return new RedisPoolDirectory(await RedisConnection.open(urls, 'pools', log), bounds);
  }

  async poolsOf(mint: string): Promise<readonly KnownPool[]> {
    const stored = (await this.#connection.binary('hvals', [keys.of(mint)])) as readonly Buffer[];
    const small = stored.slice(0, this.#bounds.poolsPerMint).filter(({ length }) => length <= maxPoolBytes);
    return small.flatMap((json) => readKnownPool(jsonOrNull(json)) ?? []).sort(byDepth);
  }

  async checkpoint(): Promise<LogPosition | null> {
    const stored = (await this.#connection.binary('get', [keys.checkpoint])) as Buffer | null;
    return stored === null ? null : readPosition(stored);
  }

  async note(sightings: readonly PoolSighting[], to: LogPosition, { lease, fence }: LeaseTerm): Promise<'applied' | 'fenced'> {
    const { poolsPerMint, mints } = this.#bounds;
    const scriptKeys = [redisKeys.lease(lease.name), keys.checkpoint, keys.mints, keys.sightings];
    for (let from = 0; from === 0 || from < sightings.length; from += perCommand) {
      const some = sightings.slice(from, from + perCommand);
      const checkpoint = from + perCommand >= sightings.length ? positionText(to) : '';
      const pools = some.flatMap(({ mint, ...pool }) => [mint, pool.address, JSON.stringify(pool)]);
      const reply = await this.#connection.run(noteScript, scriptKeys, [fence, poolsPerMint, mints, checkpoint, ...pools]);
      if ((reply as Buffer).toString('latin1') !== 'applied') return 'fenced';
    }
    return 'applied';
  }

  async close(): Promise<void> {
    this.#connection.close();
  }
}
