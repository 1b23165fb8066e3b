import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Value } from 'typebox/value';
import type { TSchema } from 'typebox';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { decodeMint } from '@sluice/shared/solana/tokens/mint.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { decodeWhirlpool } from '../../venues/src/orca/whirlpool/decode.ts';
import { coinPriceOf } from '@sluice/ingest/pipeline/sol-usd.ts';
import { venues } from '@sluice/venues/registry.ts';
import { candleIntervals, type CandleInterval } from '@sluice/shared/wire/values/intervals.ts';
import type { NewTokenEvent, PriceEvent, StreamEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import type { QuoteAnswer } from '@sluice/shared/wire/rest/trading/quote.ts';
import { portfolioEndpoint, type Portfolio } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import {
  tokenCandlesEndpoint,
  tokenTradesEndpoint,
  type Candle,
  type TokenCandles,
} from '@sluice/shared/wire/rest/tokens/token-history.ts';
import { TokenInfo } from '@sluice/shared/wire/rest/tokens/token.ts';
import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import { createChain } from '../simnet/sim-chain.ts';
import { whirlpoolQuote } from '../simnet/programs/whirlpool.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { address } from '../simnet/support/test-chain.ts';
import { freezeChain } from '../support/events/frozen-chain.ts';
import { startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { eventsOnChain } from '../support/events/chain-events.ts';
import { startRedis } from '../support/servers/redis.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';

const key = 'sluice_test_reads';
const slots = 200;
const slotMs = 200;

describe.each(['one process', 'redis'] as const)('reads over a bus of %s', (on) => {
  let simnet: Simnet;
  let bus: Bus;
  let market: MarketStore;
  let ingest: Ingest;
  /** Started before the chain moves. */
  let gateway: TestGateway;
  /** Started after everything was published. */
  let late: TestGateway;
  let redisUrls: string[] | null = null;
  const events: StreamEvent[] = [];
  const closers: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const log = createLog({ level: 'silent', name: 'test' });
    if (on === 'redis') {
      const redis = await startRedis();
      closers.push(() => redis.stop());
      redisUrls = [redis.url];
    }
    // The chain advances by 40 seconds of its own time, as fast as ingest can follow. Its clock ends near the current time.
    let chainMs = Date.now() - 2 * slots * slotMs;
    const nowMs = (): number => (chainMs += slotMs);
    const chain = createChain({ seed: 21, slotMs, nowMs, market: { completeEverySeconds: 15, boostedShare: 0.5 } });
    simnet = await startSimnet({ chain, autoStart: false });
    closers.push(() => simnet.close());
    bus = await createBus({ redisUrls, log });
    closers.push(() => bus.close());
    market = await createMarket({ redisUrls, log });
    closers.push(() => market.close());
    const subscriber = await bus.subscriber();
    await subscriber.start({
      onEntry: (entry) => void events.push(...eventsOfEntry(entry)),
      onLost: () => {
        throw new Error('Entries were lost.');
      },
    });
    const pools = new InProcessPoolDirectory();
    const config = { ...testConfig, rpc: { httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] } };
    ingest = await startIngest({ config, bus, market, pools, log, signal: new AbortController().signal });
    closers.push(() => ingest.close());
    gateway = await startTestGateway({ config, bus, market, directory: pools });
    closers.push(() => gateway.close());
    gateway.keys.add(key, { scopes: ['read'] });
    await until('ingest to see the chain', () => ingest.stats().endpointsUp === 1 && ingest.stats().leads);
    for (let slot = 0; slot < slots; slot++) {
      simnet.chain.advance();
      // Waits for one second at most, because ingest drops an endpoint that reports no slot for three seconds.
      const atMs = performance.now();
      await until('ingest to follow', () => simnet.chain.slot - ingest.stats().slot < 8 || performance.now() - atMs > 1_000);
      // Some tokens become warm while the market moves: from then on they are updated from the log only.
      if (slot === 100) for (const mint of tradedMints().slice(0, 20)) await info(mint);
    }
    await allPublished();
    const stop = await freezeChain(bus, ingest);
    closers.push(async () => stop());
    late = await startTestGateway({ config, bus, market });
    closers.push(() => late.close());
    late.keys.add(key, { scopes: ['read'] });
  }, 120_000);

  afterAll(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  /** Waits until every event of the chain was published, and the state of the market contains it. */
  async function allPublished(): Promise<void> {
    const expectedIds = eventsOnChain(simnet).map(({ id }) => id);
    await until('everything to be published and recorded', async () => {
      const ids = new Set(events.map((event) => event.id));
      const checkpoint = await market.checkpoint();
      return expectedIds.every((id) => ids.has(id)) && (checkpoint?.offset ?? 0) >= events.length;
    });
  }

  async function get(path: string, from: TestGateway = gateway): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`http://${from.host}${path}`, { headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, body: await response.json() };
  }

  async function post(path: string, json: unknown): Promise<{ status: number; body: unknown }> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(`http://${gateway.host}${path}`, { method: 'POST', headers, body: JSON.stringify(json) });
    return { status: response.status, body: await response.json() };
  }

  async function info(mint: string, from: TestGateway = gateway): Promise<TokenInfo> {
    const { status, body } = await get(`/token/info/${mint}`, from);
    expect(status, JSON.stringify(body)).toBe(200);
    const faults = [...Value.Errors(TokenInfo, body)];
    expect(faults).toEqual([]);
    return body as TokenInfo;
  }

  /** A token that was read while the keeper of the market lagged has no windows until the gateway reads it again. */
  function infoWithWindows(mint: string, from: TestGateway): Promise<TokenInfo> {
    return until(`the windows of ${mint}`, async () => {
      const token = await info(mint, from);
      return token.windows !== null && token;
    });
  }

  function ofType<T extends StreamEvent['type']>(type: T): Extract<StreamEvent, { type: T }>[] {
    return events.filter((event): event is Extract<StreamEvent, { type: T }> => event.type === type);
  }

  function tradedMints(): string[] {
    return [...new Set(ofType('trade').map(({ mint }) => mint))].filter((mint) => simnet.chain.account(mint) !== null);
  }

  /** The pool in which a token trades according to the chain: its curve, or the pool that it migrated to. */
  function truePool(
    mint: string,
  ): { address: string; complete: boolean; quoteMint: string; virtualBase: bigint; virtualQuote: bigint } | null {
    for (const venue of venues.toReversed()) {
      for (const { address: pool } of venue.derivedPools(mint)) {
        const account = simnet.chain.account(pool);
        const decoded = account === null ? null : venue.decodeAccount(account.data);
        if (decoded?.kind !== 'decoded') continue;
        const { quoteMint } = decoded.account;
        if (decoded.account.type === 'curve') {
          const { complete, reserves } = decoded.account;
          return { address: pool, complete, quoteMint, virtualBase: reserves.virtualBase, virtualQuote: reserves.virtualQuote };
        }
        const amount = (vault: string): bigint => {
          const held = simnet.chain.account(vault)!;
          return decodeTokenAccount(held.owner, held.data)!.amount;
        };
        const { baseVault, quoteVault, virtualQuote } = decoded.account;
        return {
          address: pool,
          complete: false,
          quoteMint,
          virtualBase: amount(baseVault),
          virtualQuote: amount(quoteVault) + virtualQuote,
        };
      }
    }
    return null;
  }

  const volumeOf = (trades: readonly TradeEvent[]): number => trades.reduce((sum, { solAmount }) => sum + (solAmount ?? 0), 0);

  describe('GET /token/info/{mint}', () => {
    it('returns for every token what the chain holds and the stream published, whether it was warm or was read just now', async () => {
      const mints = tradedMints().filter((mint) => mint !== wrappedSolMint);
      expect(mints.length).toBeGreaterThan(15);
      const created = new Map(ofType('newToken').map((event): [string, NewTokenEvent] => [event.mint, event]));
      const seen = { curve: 0, pool: 0, priced: 0, otherCoin: 0 };
      // The newest prices count when they have lasted.
      await pause(1_500);
      for (const mint of mints) {
        const pool = truePool(mint)!;
        const chainMint = decodeMint(simnet.chain.account(mint)!.owner, simnet.chain.account(mint)!.data)!;
        const lastPrice = ofType('price').findLast(
          (event): event is PriceEvent => event.mint === mint && event.poolAddress === pool.address,
        );
        const trades = ofType('trade').filter((event) => event.mint === mint);
        for (const from of [gateway, late]) {
          const result = await infoWithWindows(mint, from);
          expect(result).toMatchObject({ mint, simulated: true, decimals: chainMint.decimals, tokenProgram: chainMint.tokenProgram });
          expect(result.mintAuthority).toBe(chainMint.mintAuthority);
          expect(result.freezeAuthority).toBe(chainMint.freezeAuthority);
          const creation = created.get(mint);
          if (creation !== undefined) {
            const { name, symbol, uri, creator, traits, creatorFeeBps } = creation;
            expect(result).toMatchObject({ name, symbol, uri, creator, traits, creatorFeeBps });
          }
          expect(result).toMatchObject({ poolAddress: pool.address, quoteMint: pool.quoteMint });
          const { venue, poolAddress, quoteMint, priceQuote, priceSol, priceUsd } = result;
          expect(result.pools[0]).toMatchObject({ venue, poolAddress, quoteMint, priceQuote, priceSol, priceUsd });
          expect(result.pools.length).toBe(result.venue === 'pump' ? 1 : 2);
          expect(result.curve).not.toBeNull();
          if (result.venue === 'pump') seen.curve++;
          else seen.pool++;
          expect(result.windows?.['24h']).toMatchObject({
            buys: trades.filter(({ side }) => side === 'buy').length,
            sells: trades.filter(({ side }) => side === 'sell').length,
          });
          if (pool.quoteMint === wrappedSolMint) expect(result.windows?.['24h'].volumeSol).toBeCloseTo(volumeOf(trades), 6);
          if (pool.complete) {
            expect(result).toMatchObject({ priceSol: null, priceNullReason: 'no_liquidity', marketCapSol: null });
            continue;
          }
          expect(result.reserves).toMatchObject({ virtualBase: `${pool.virtualBase}`, virtualQuote: `${pool.virtualQuote}` });
          if (pool.quoteMint !== wrappedSolMint) {
            seen.otherCoin++;
            continue;
          }
          const price = Number(pool.virtualQuote) / 1e9 / (Number(pool.virtualBase) / 10 ** chainMint.decimals);
          expect(result.priceSol! / price).toBeCloseTo(1, 12);
          if (lastPrice !== undefined) expect(result.priceSol! / lastPrice.priceSol!).toBeCloseTo(1, 12);
          expect(result.priceUsd! / (result.priceSol! * result.solUsd!.price)).toBeCloseTo(1, 12);
          expect(result.marketCapSol! / (result.priceSol! * result.supplyUi)).toBeCloseTo(1, 12);
          expect(result.priceSlot).toBeLessThanOrEqual(simnet.chain.slot);
          expect(result.liquiditySol).toBeGreaterThanOrEqual(0);
          seen.priced++;
        }
      }
      expect(seen.curve).toBeGreaterThan(5);
      expect(seen.pool).toBeGreaterThan(1);
      expect(seen.priced).toBeGreaterThan(20);
    });

    it('finds a pool whose address cannot be computed from the mint, and reads its price from the square root', async () => {
      // The first answer may come before the accounts of the pool were read.
      const result = await until(
        'its price',
        async () => {
          const token = await infoWithWindows(wrappedSolMint, gateway);
          return token.priceUsd !== null && token.priceUsd === token.pools[0]?.priceUsd && token;
        },
        30_000,
      );
      const { owner, data } = simnet.chain.account(solPricePool.address)!;
      const now = coinPriceOf({ owner, data })!.price;
      expect(result).toMatchObject({
        venue: 'orca-whirlpool',
        poolAddress: solPricePool.address,
        quoteMint: usdcMint,
        curve: null,
        reserves: null,
        pools: [{ poolAddress: solPricePool.address, priceUsd: result.priceUsd }],
      });
      const last = ofType('price').findLast(({ mint }) => mint === wrappedSolMint)!;
      // The price is that of the last event, unless the account was read after it.
      if (result.priceSlot === last.slot) expect(result.priceUsd).toBe(last.priceUsd);
      else expect(result.priceSlot).toBeGreaterThan(last.slot);
      // The newest swaps are read completely once they are confirmed, so the account is ahead of the events.
      expect(result.priceUsd! / now).toBeCloseTo(1, 2);
      expect(result.windows?.['24h'].sells).toBeGreaterThan(0);
    });

    it('quotes on that pool what the chain would give', async () => {
      const { sqrtPriceX64 } = decodeWhirlpool(simnet.chain.account(solPricePool.address)!.data)!;
      for (const [side, amount, raw] of [
        ['sell', 2.5, 2_500_000_000n],
        ['buy', 100, 100_000_000n],
      ] as const) {
        const { status, body } = await post('/quote', { side, mint: wrappedSolMint, amount });
        expect(status, JSON.stringify(body)).toBe(200);
        const { out, fee } = whirlpoolQuote(sqrtPriceX64, raw, side === 'sell');
        const given = side === 'sell' ? wrappedSolMint : usdcMint;
        expect(body).toMatchObject({
          pool: 'orca-whirlpool',
          poolAddress: solPricePool.address,
          quoteMint: usdcMint,
          quote: { inAmount: String(raw), outAmount: String(out) },
        });
        const { fees } = (body as QuoteAnswer).quote;
        expect(fees.map(({ mint }) => mint)).toEqual(fees.map(() => given));
        expect(fees.reduce((sum, { amount: charged }) => sum + BigInt(charged), 0n)).toBe(fee);
      }
    });

    it('answers with and without the prefix /api', async () => {
      const mint = tradedMints()[0]!;
      const { status, body } = await get(`/api/token/info/${mint}`);
      expect(status).toBe(200);
      expect((body as TokenInfo).mint).toBe(mint);
    });

    it('answers for a mint that no venue trades, without a market', async () => {
      const result = await info(usdcMint);
      expect(result).toMatchObject({
        venue: null,
        poolAddress: null,
        priceSol: null,
        priceUsd: null,
        priceNullReason: 'no_market',
        curve: null,
      });
      expect(result.decimals).toBe(6);
    });

    it('refuses text that is not a mint', async () => {
      const mint = tradedMints()[0]!;
      const trader = ofType('trade')[0]!.trader;
      const [tokenAccount] = [...simnet.chain.tokenAccountsOf(trader)][0]!;
      const wrong = {
        wallet: trader,
        curve: truePool(mint)!.address,
        tokenAccount,
        program: tokenProgram,
        missing: address('nobody'),
        short: mint.slice(1, 20),
        otherAlphabet: `${mint.slice(0, -1)}0`,
        tooLong: `${mint}1111`,
        empty31Bytes: '1'.repeat(31),
        escaped: '%F0%9F%92%A7',
      };
      for (const [what, text] of Object.entries(wrong)) {
        for (const path of ['info', 'candles', 'trades']) {
          const { status, body } = await get(`/token/${path}/${text}`);
          expect({ what, path, status, code: (body as { error?: { code: string } }).error?.code }).toEqual({
            what,
            path,
            status: 400,
            code: 'INVALID_MINT',
          });
        }
      }
    });

    it('reads a cold mint once for a thousand callers, and does not read garbage again and again', async () => {
      const cold = ofType('newToken')
        .map(({ mint }) => mint)
        .find((mint) => !tradedMints().includes(mint));
      // It has its own node, so that only its calls are counted.
      const node = await startSimnet({ chain: simnet.chain, autoStart: false });
      const other = await startTestGateway({ config: { rpc: { httpUrls: [node.rpcUrl], wsUrls: [node.wsUrl] } }, bus, market });
      try {
        other.keys.add(key, { scopes: ['read'] });
        const ask = async (path: string): Promise<{ statuses: number[]; calls: number }> => {
          const before = node.stats().requests;
          const statuses = await Promise.all(Array.from({ length: 1_000 }, async () => (await get(path, other)).status));
          return { statuses: [...new Set(statuses)], calls: node.stats().requests - before };
        };
        expect(await ask(`/token/info/${cold ?? tradedMints()[0]}`)).toEqual({ statuses: [200], calls: 1 });
        expect(await ask(`/token/info/${ofType('trade')[0]!.trader}`)).toEqual({ statuses: [400], calls: 1 });
      } finally {
        await other.close();
        await node.close();
      }
    });
  });

  describe('GET /token/trades/{mint}', () => {
    it('pages through all trades, newest first, each once', async () => {
      for (const from of [gateway, late]) {
        const mint = busiest();
        const expectedIds = ofType('trade').filter((event) => event.mint === mint);
        const found: TradeEvent[] = [];
        let before: string | null = null;
        do {
          const { status, body } = await get(
            `/token/trades/${mint}?limit=7${before === null ? '' : `&before=${encodeURIComponent(before)}`}`,
            from,
          );
          expect(status).toBe(200);
          expect([...Value.Errors(tokenTradesEndpoint.answer as TSchema, body)]).toEqual([]);
          const page = body as { trades: TradeEvent[]; next: string | null };
          found.push(...page.trades);
          before = page.next;
        } while (before !== null);
        expect(found.map(({ id }) => id)).toEqual(expectedIds.map(({ id }) => id).toReversed());
      }
    });

    it('returns nothing after a trade that is not stored, and refuses a limit above the bound', async () => {
      const mint = busiest();
      const { body } = await get(`/token/trades/${mint}?before=nothing:1`);
      expect(body).toEqual({ mint, trades: [], next: null });
      for (const limit of ['0', '201', 'x', '-1', '1.5']) expect((await get(`/token/trades/${mint}?limit=${limit}`)).status).toBe(400);
    });
  });

  describe('GET /token/candles/{mint}', () => {
    it('equals the sum of the trades in every interval', async () => {
      const mint = busiest();
      const trades = ofType('trade').filter((event) => event.mint === mint);
      for (const interval of Object.keys(candleIntervals) as CandleInterval[]) {
        const { status, body } = await get(`/token/candles/${mint}?interval=${interval}&limit=1000`);
        expect(status).toBe(200);
        expect([...Value.Errors(tokenCandlesEndpoint.answer as TSchema, body)]).toEqual([]);
        const { candles } = body as { candles: Candle[] };
        const seconds = candleIntervals[interval];
        expect(candles.map(({ start }) => start % seconds)).toEqual(candles.map(() => 0));
        expect(candles.map(({ start }) => start)).toEqual(
          [...new Set(trades.map(({ blockTime }) => blockTime! - (blockTime! % seconds)))].toSorted((a, b) => a - b),
        );
        expect(candles.reduce((sum, { buys, sells }) => sum + buys + sells, 0)).toBe(trades.length);
        expect(candles.reduce((sum, { volumeSol }) => sum + volumeSol, 0)).toBeCloseTo(volumeOf(trades), 6);
      }
    });

    it('fills intervals without a trade, and says whether older candles exist', async () => {
      const mint = busiest();
      const ask = async (query: string) => (await get(`/token/candles/${mint}?interval=1s&${query}`)).body as TokenCandles;
      const all = await ask('limit=1000');
      expect(all.older).toBe(false);
      const [first] = all.candles;
      const last = all.candles.at(-1)!;
      const span = last.start - first!.start + 1;
      const filled = await ask(`limit=1000&fill=previous&to=${last.start + 3}`);
      expect([...Value.Errors(tokenCandlesEndpoint.answer as TSchema, filled)]).toEqual([]);
      expect([filled.older, filled.candles.map(({ start }) => start - first!.start)]).toEqual([false, [...Array(span + 2).keys()]]);
      expect(filled.candles.filter(({ trades }) => trades > 0)).toEqual(all.candles);
      const { close, closeUsd } = last;
      const flat = { open: close, high: close, low: close, close, openUsd: closeUsd, highUsd: closeUsd, lowUsd: closeUsd, closeUsd };
      expect(filled.candles.at(-1)).toEqual({ ...filled.candles.at(-1), ...flat, start: last.start + 2, volumeSol: 0, trades: 0 });
      // The newest ones, although the last trade was before all of them.
      expect((await ask(`limit=2&fill=previous&to=${last.start + 4}`)).candles).toMatchObject([{ close }, { close, volumeBase: 0 }]);
      expect(await ask(`fill=previous&to=${first!.start}`)).toMatchObject({ candles: [], older: false });
      expect(await ask('limit=1')).toMatchObject({ candles: [{ start: last.start }], older: true });
      expect(await ask(`from=${last.start}`)).toMatchObject({ candles: [{ start: last.start }], older: true });
      expect(await ask(`from=${first!.start}`)).toMatchObject({ older: false });
      expect(await ask(`from=${last.start + 1}&to=${last.start + 2}`)).toMatchObject({ candles: [], older: true });
    });

    it('respects from, to and limit', async () => {
      const mint = busiest();
      const all = ((await get(`/token/candles/${mint}?interval=1s&limit=1000`)).body as { candles: Candle[] }).candles;
      expect(all.length).toBeGreaterThan(4);
      const [first, , third] = all as [Candle, Candle, Candle];
      const between = (
        (await get(`/token/candles/${mint}?interval=1s&from=${first.start}&to=${third.start}`)).body as { candles: Candle[] }
      ).candles;
      expect(between).toEqual(all.slice(0, 2));
      const newest = ((await get(`/token/candles/${mint}?interval=1s&limit=2`)).body as { candles: Candle[] }).candles;
      expect(newest.map(({ start }) => start)).toEqual(all.slice(-2).map(({ start }) => start));
      expect(((await get(`/token/candles/${mint}?from=100&to=50`)).body as { candles: Candle[] }).candles).toEqual([]);
      for (const query of ['interval=2m', 'limit=1001', 'limit=0', 'from=-1', 'unknown=1']) {
        expect((await get(`/token/candles/${mint}?${query}`)).status).toBe(400);
      }
    });
  });

  describe('without a node', () => {
    it('reports that, and still refuses text that is not a mint', async () => {
      const alone = await startTestGateway({ config: { rpc: null }, bus, market });
      try {
        alone.keys.add(key, { scopes: ['read'] });
        const mint = tradedMints()[0]!;
        for (const path of [`/token/info/${mint}`, `/portfolio/${ofType('trade')[0]!.trader}`, `/token/candles/${usdcMint}`]) {
          const { status, body } = await get(path, alone);
          expect([path, status, (body as { error: { code: string; retryable: boolean } }).error]).toEqual([
            path,
            503,
            expect.objectContaining({ code: 'UPSTREAM_UNAVAILABLE', retryable: true }),
          ]);
        }
        expect((await get('/token/info/nothing', alone)).status).toBe(400);
        // Recorded data needs no node.
        expect((await get(`/token/trades/${busiest()}`, alone)).status).toBe(200);
        expect((await get(`/token/candles/${busiest()}`, alone)).status).toBe(200);
      } finally {
        await alone.close();
      }
    });
  });

  describe('GET /portfolio/{publicKey}', () => {
    it('has what the chain holds, valued by the prices of the tokens', async () => {
      const traders = [...new Set(ofType('trade').map(({ trader }) => trader))].slice(0, 12);
      let priced = 0;
      let otherProgram = 0;
      for (const wallet of traders) {
        const { status, body } = await get(`/portfolio/${wallet}`);
        expect(status, JSON.stringify(body)).toBe(200);
        expect([...Value.Errors(portfolioEndpoint.answer as TSchema, body)]).toEqual([]);
        const portfolio = body as Portfolio;
        const lamports = simnet.chain.account(wallet)?.lamports ?? 0n;
        expect(portfolio.sol.amount).toBe(lamports.toString());
        const held = new Map<string, bigint>();
        let empty = 0;
        for (const [, account] of simnet.chain.tokenAccountsOf(wallet)) {
          const token = decodeTokenAccount(account.owner, account.data)!;
          if (token.amount === 0n) empty++;
          else held.set(token.mint, (held.get(token.mint) ?? 0n) + token.amount);
          if (account.owner === token2022Program) otherProgram++;
        }
        expect(portfolio.emptyAccounts).toBe(empty);
        expect(new Map(portfolio.holdings.map(({ mint, amount }) => [mint, BigInt(amount)]))).toEqual(held);
        for (const holding of portfolio.holdings) {
          if (holding.mint === usdcMint) {
            expect(holding).toMatchObject({ priceUsd: 1, unpriced: null });
            continue;
          }
          const token = await info(holding.mint);
          expect(holding).toMatchObject({
            decimals: token.decimals,
            priceSol: token.priceSol,
            unpriced: token.priceNullReason,
            name: token.name,
          });
          if (holding.priceSol !== null) priced++;
        }
        const sum = portfolio.holdings.reduce((total, { valueSol }) => total + (valueSol ?? 0), portfolio.sol.uiAmount);
        expect(portfolio.totals.valueSol).toBeCloseTo(sum, 9);
        const shares = portfolio.holdings.reduce((total, { sharePercent }) => total + (sharePercent ?? 0), portfolio.sol.sharePercent!);
        expect(shares).toBeCloseTo(100, 6);
      }
      expect(priced).toBeGreaterThan(5);
      expect(otherProgram).toBeGreaterThan(0);
    });

    it('is empty for a wallet that never existed, and refuses text that is not an address', async () => {
      const { status, body } = await get(`/portfolio/${address('never was')}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        holdings: [],
        emptyAccounts: 0,
        sol: { amount: '0', uiAmount: 0 },
        totals: { valueSol: 0, priced: 0, unpriced: 0 },
      });
      for (const text of ['x', '1'.repeat(31), '0'.repeat(40), '1'.repeat(44)]) {
        const { status: refused, body: why } = await get(`/portfolio/${text}`);
        expect([refused, (why as { error: { code: string } }).error.code]).toEqual([400, 'INVALID_REQUEST']);
      }
    });
  });

  /** The token with the most trades whose quote coin is SOL. */
  function busiest(): string {
    const counts = new Map<string, number>();
    for (const { mint, quoteMint } of ofType('trade')) if (quoteMint === wrappedSolMint) counts.set(mint, (counts.get(mint) ?? 0) + 1);
    return [...counts].toSorted(([, a], [, b]) => b - a)[0]![0];
  }
});
