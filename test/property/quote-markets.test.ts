import { setImmediate as turn } from 'node:timers/promises';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { PoolReader } from '@sluice/gateway/reads/pools/pool-reader.ts';
import { Markets, marketTtlMs, maxMarkets, settingsTtlMs, type MarketRead } from '@sluice/trading/quote/markets.ts';
import { quoteEndpoints } from '@sluice/trading/quote/quotes.ts';
import type { AccountReader, ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { feeOfKind } from '../support/events/decode-data.ts';
import * as amm from '@sluice/venues/pump/amm/program.ts';
import * as pump from '@sluice/venues/pump/curve/program.ts';
import * as launchlab from '../../venues/src/raydium/launchlab/program.ts';
import { venues } from '@sluice/venues/registry.ts';
import { expect, test } from 'vitest';
import type { ChainAccount as SimAccount } from '../simnet/chain.ts';
import { feeConfigData } from '../simnet/programs/fee-schedule.ts';
import { ammFees, curveFees } from '../simnet/programs/genesis/genesis-fees.ts';
import { curveData, type Curve } from '../simnet/programs/pump/state.ts';
import { poolData } from '../simnet/programs/pump-amm/state.ts';
import { mintData, tokenAccountData } from '../simnet/layout/token-state.ts';
import { quietChain, address } from '../simnet/support/test-chain.ts';
import { collectGarbage } from '../support/garbage.ts';
import { until } from '../support/gateway.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';

/** What quotes read from the chain: which accounts, in how many calls, and how long an answer is valid. */
interface TestReader extends AccountReader {
  readonly calls: (readonly string[])[];
  readonly accounts: Map<string, ChainAccount>;
  failing: boolean;
  nowMs: number;
  slot: number;
  /** What other endpoints report of some accounts, one map for each of them. */
  others: readonly ReadonlyMap<string, ChainAccount>[];
  /** One endpoint has answered alone. */
  othersAreLate: boolean;
}

function marketsOf(reader: TestReader, of: readonly Venue[] = venues): Markets {
  const log = createLog({ level: 'silent', name: 'test' });
  return new Markets({
    pools: new PoolReader({ reader, venues: of, directory: new InProcessPoolDirectory(), log }),
    nowMs: () => reader.nowMs,
  });
}

const owned = (owner: string, data: Uint8Array): ChainAccount => ({ owner, data, lamports: 1_000_000n, executable: false });

/** A node whose chain has these accounts: the settings of genesis, and what a test adds. */
function testReader(): TestReader {
  const chain = quietChain();
  const settings = [pump.globalAddress, pump.feeConfig, amm.globalConfig, amm.feeConfig];
  const accounts = new Map<string, ChainAccount>();
  for (const at of settings) {
    const account: SimAccount | null = chain.account(at);
    if (account === null) throw new Error(`genesis lacks ${at}`);
    accounts.set(at, account);
  }
  const calls: (readonly string[])[] = [];
  return {
    calls,
    accounts,
    failing: false,
    nowMs: 1_000_000,
    slot: 500,
    others: [],
    othersAreLate: false,
    async read(addresses) {
      calls.push(addresses);
      const { slot, nowMs: askedAtMs } = this;
      await turn();
      if (this.failing) throw new RpcError('unreachable', 0, 'no node');
      const report = (other?: ReadonlyMap<string, ChainAccount>) => addresses.map((at) => other?.get(at) ?? accounts.get(at) ?? null);
      const disputed = this.others
        .filter((other) => addresses.some((at) => other.has(at)))
        .map((other) => ({ slot: slot - 1, accounts: report(other) }));
      const { othersAreLate } = this;
      const aloneBy = disputed.length > 0 || othersAreLate ? 0 : null;
      return { slot, lastSlot: slot, askedAtMs, accounts: report(), aloneBy, othersAreLate, disputed };
    },
  };
}

const creator = address('creator');
const freshCurve: Curve = {
  virtualToken: pump.initialVirtualToken,
  virtualQuote: pump.initialVirtualSol,
  realToken: pump.initialRealToken,
  realQuote: 0n,
  supply: pump.initialSupply,
  complete: false,
  creator,
  mayhem: false,
  cashback: false,
  quoteMint: '11111111111111111111111111111111',
  creatorFeeBps: 0n,
  canEditCreatorFee: false,
  holderReward: false,
};

function putCoin(reader: TestReader, name: string, curve: Partial<Curve> = {}, mint = mintData(6, pump.initialSupply, null)): string {
  const at = address(name);
  reader.accounts.set(at, owned(mint.length > 82 ? token2022Program : tokenProgram, mint));
  reader.accounts.set(pump.bondingCurveAddress(at), owned(pump.programId, curveData({ ...freshCurve, ...curve })));
  return at;
}

test('one call for a coin together with its settings; the next call requests less, and nothing while it is fresh', async () => {
  const reader = testReader();
  const markets = marketsOf(reader);
  const mint = putCoin(reader, 'coin');
  const first = await markets.read(mint);
  expect(reader.calls).toHaveLength(1);
  expect(reader.calls[0]).toContain(pump.globalAddress);
  expect(reader.calls[0]!.length).toBeLessThanOrEqual(20);
  expect(first).toMatchObject({ slot: 500, askedAtMs: 1_000_000, settings: { slot: 500 }, result: { kind: 'market' } });
  expect(markets.read(mint)).toBe(first);
  reader.nowMs += marketTtlMs;
  expect(markets.read(mint)).toBe(first);
  reader.nowMs += 1;
  reader.slot = 502;
  const second = await markets.read(mint);
  expect(second).toMatchObject({ slot: 502, settings: { slot: 500, askedAtMs: 1_000_000 } });
  // The quote coin is known, and the settings are stored: mint, two curves, pool, and its vaults for two token programs each.
  expect(reader.calls[1]).toHaveLength(8);
  expect(reader.calls[1]).not.toContain(pump.globalAddress);
  reader.nowMs += settingsTtlMs;
  reader.slot = 700;
  expect(await markets.read(mint)).toMatchObject({ slot: 700, settings: { slot: 700 } });
  expect(reader.calls[2]).toContain(pump.feeConfig);
  expect(markets.counts).toMatchObject({ hits: 2, reads: 3, shared: 0, malformed: 0 });
});

test('contradicting state is quoted if two endpoints give the same quote, and refused otherwise', async () => {
  const reader = testReader();
  const markets = marketsOf(reader);
  const mint = putCoin(reader, 'disputed');
  const curve = pump.bondingCurveAddress(mint);
  const withQuote = (virtualQuote: bigint): ReadonlyMap<string, ChainAccount> =>
    new Map([[curve, owned(pump.programId, curveData({ ...freshCurve, virtualQuote }))]]);
  const [endpoint] = quoteEndpoints({ markets, reader, solUsd: () => null, nowMs: () => reader.nowMs });
  async function ask(...others: readonly bigint[]): Promise<{ outAmount?: string; slot?: number; error?: string; reads: number }> {
    reader.nowMs += settingsTtlMs + 1;
    reader.others = others.map(withQuote);
    const before = reader.calls.length;
    const body = { mint, side: 'buy', amount: 0.1, slippage: 1, denominatedInSol: 'true', pool: 'auto' };
    const answer = (await endpoint!.handler({ body } as never)) as {
      readonly json?: { readonly quote: { readonly outAmount: string }; readonly slot: number };
      readonly error?: string;
    };
    const reads = reader.calls.length - before;
    if (answer.json === undefined) return { ...(answer.error !== undefined && { error: answer.error }), reads };
    return { outAmount: answer.json.quote.outAmount, slot: answer.json.slot, reads };
  }
  const { outAmount } = await ask();
  const honest = freshCurve.virtualQuote;
  // What others trade between two answers: 0.1 %.
  expect(await ask(honest + honest / 1_000n)).toEqual({ outAmount, slot: 500, reads: 1 });
  expect(await ask(honest * 2n)).toEqual({ error: 'UPSTREAM_UNAVAILABLE', reads: 2 });
  expect(await ask(honest / 2n)).toEqual({ error: 'UPSTREAM_UNAVAILABLE', reads: 2 });
  // Two of three agree, although the first one lies.
  const two = await ask(honest * 3n, honest * 3n + honest / 1_000n);
  expect(two).toMatchObject({ slot: 499, reads: 1 });
  expect(BigInt(two.outAmount!)).toBeLessThan(BigInt(outAmount!) / 2n);
  expect(await ask(honest * 2n, honest + honest / 1_000n)).toEqual({ outAmount, slot: 500, reads: 1 });
  // A single endpoint's answer is not quoted, and its settings are not stored.
  reader.othersAreLate = true;
  expect(await ask()).toEqual({ error: 'UPSTREAM_UNAVAILABLE', reads: 2 });
  reader.othersAreLate = false;
  expect(await markets.readNow(mint)).toMatchObject({ othersAreLate: false });
  expect(reader.calls.at(-1)).toContain(pump.globalAddress);
});

test('a thousand concurrent callers of one coin share one call; a failure reaches all, and is not cached', async () => {
  const reader = testReader();
  const markets = marketsOf(reader);
  const mint = putCoin(reader, 'requested');
  const all = await Promise.all(Array.from({ length: 1_000 }, async () => markets.read(mint)));
  expect(new Set(all).size).toBe(1);
  expect(reader.calls).toHaveLength(1);
  reader.nowMs += marketTtlMs + 1;
  reader.failing = true;
  const failed = await Promise.allSettled(Array.from({ length: 10 }, async () => markets.read(mint)));
  expect(failed.every(({ status }) => status === 'rejected')).toBe(true);
  reader.failing = false;
  expect(await markets.read(mint)).toMatchObject({ result: { kind: 'market' } });
});

test('a clock that was set back does not make an old market fresh', async () => {
  const reader = testReader();
  const markets = marketsOf(reader);
  const mint = putCoin(reader, 'clock');
  await markets.read(mint);
  reader.nowMs -= 60_000;
  expect(markets.read(mint)).toBeInstanceOf(Promise);
});

test("a coin against any other coin: read in a second call, then known; decimals and flat fees are that coin's", async () => {
  const reader = testReader();
  const markets = marketsOf(reader);
  const exotic = address('exotic quote coin');
  reader.accounts.set(exotic, owned(token2022Program, mintData(8, 10n ** 16n, null)));
  const mint = putCoin(reader, 'exotic', { quoteMint: exotic, virtualQuote: 4_000_000_000n });
  const fees = { ...curveFees, exoticFlat: { lp: 0n, protocol: 50n, creator: 10n } };
  reader.accounts.set(pump.feeConfig, owned(pump.feeProgram, feeConfigData(0, usdcMint, fees)));
  const { result } = await markets.read(mint);
  expect(reader.calls).toHaveLength(2);
  if (result.kind !== 'market') throw new Error(result.kind);
  const [only] = result.market.pools;
  expect(only).toMatchObject({ quoteDecimals: 8, pool: { quoteMint: exotic, curve: true } });
  const outcome = only!.pool.quote({ exact: 'quoteIn', amount: 100_000_000n }, atAnyTime);
  if (!outcome.ok) throw new Error(outcome.fault);
  expect([feeOfKind(outcome.quote.fees, 'protocol'), feeOfKind(outcome.quote.fees, 'creator')]).toMatchObject([{ bps: 50 }, { bps: 10 }]);
  reader.nowMs += marketTtlMs + 1;
  await markets.read(mint);
  expect(reader.calls).toHaveLength(3);
});

test('a completed curve and the pool to which it migrated, against SOL and against another coin', async () => {
  for (const [name, quoteMint, quoteProgram] of [
    ['moved', wrappedSolMint, tokenProgram],
    ['moved exotic', address('exotic quote coin'), token2022Program],
  ] as const) {
    const reader = testReader();
    const markets = marketsOf(reader);
    const isSol = quoteMint === wrappedSolMint;
    const mint = putCoin(reader, name, { complete: true, realToken: 0n, ...(isSol ? {} : { quoteMint }) });
    reader.accounts.set(quoteMint, owned(quoteProgram, mintData(9, 10n ** 16n, null)));
    const pool = amm.canonicalPoolAddress(mint, quoteMint);
    const [baseVault, quoteVault] = [
      associatedTokenAddress(pool, mint, tokenProgram),
      associatedTokenAddress(pool, quoteMint, quoteProgram),
    ];
    const flags = { mayhem: false, cashback: false, creatorFeeBps: 0n, canEditCreatorFee: false, holderReward: false };
    const parts = { bump: 1, index: 0, lpMint: usdcMint, lpSupply: 1n, coinCreator: creator, virtualQuote: 10n ** 9n, ...flags };
    const bytes = poolData({ ...parts, creator: pump.poolAuthorityAddress(mint), baseMint: mint, quoteMint, baseVault, quoteVault });
    reader.accounts.set(pool, owned(amm.programId, bytes));
    reader.accounts.set(baseVault, owned(tokenProgram, tokenAccountData(mint, pool, 206_900_000_000_000n)));
    reader.accounts.set(quoteVault, owned(quoteProgram, tokenAccountData(quoteMint, pool, 85n * 10n ** 9n)));
    const { result } = await markets.read(mint);
    if (result.kind !== 'market') throw new Error(JSON.stringify(result));
    expect(result.market.pools.map((one) => [one.venue.name, one.pool.complete])).toEqual([
      ['pump', true],
      ['pump-amm', false],
    ]);
    const quote = result.market.pools[1]!.pool.quote({ exact: 'quoteIn', amount: 10n ** 9n }, atAnyTime);
    if (!quote.ok) throw new Error(quote.fault);
    const rates = isSol ? ammFees.tiers[0]!.rates : ammFees.exoticFlat;
    expect(feeOfKind(quote.quote.fees, 'lp').bps).toBe(Number(rates.lp));
    expect(quote.quote.before).toEqual({
      virtualBase: 206_900_000_000_000n,
      virtualQuote: 86n * 10n ** 9n,
      realBase: 206_900_000_000_000n,
      realQuote: 85n * 10n ** 9n,
    });
    expect(reader.calls).toHaveLength(isSol ? 1 : 2);
  }
});

/** A Token-2022 mint with one extension. */
function mintWith(type: number, value: Uint8Array): Uint8Array {
  const data = Buffer.alloc(166 + 4 + value.length);
  data.set(mintData(6, pump.initialSupply, null), 0);
  data[165] = 1;
  data.writeUInt16LE(type, 166);
  data.writeUInt16LE(value.length, 168);
  data.set(value, 170);
  return data;
}

/** TransferFeeConfig: authorities, withheld amount, and the fees before and after an epoch. */
function transferFee(olderBps: number, newerBps: number): Uint8Array {
  const value = Buffer.alloc(108);
  for (const [at, bps] of [
    [72, olderBps],
    [90, newerBps],
  ] as const) {
    value.writeBigUInt64LE(1_000_000n, at + 8);
    value.writeUInt16LE(bps, at + 16);
  }
  return value;
}

test('coins with a transfer fee now or in the next epoch, and coins that cannot move, are not quoted', async () => {
  const reader = testReader();
  const markets = marketsOf(reader);
  const unquotableOf = async (mint: string): Promise<unknown> => {
    const { result } = await markets.read(mint);
    return result.kind === 'market' ? result.market.unquotable : result;
  };
  expect(await unquotableOf(putCoin(reader, 'fee now', {}, mintWith(1, transferFee(10, 0))))).toBe('transfer_fee');
  expect(await unquotableOf(putCoin(reader, 'fee later', {}, mintWith(1, transferFee(0, 10))))).toBe('transfer_fee');
  expect(await unquotableOf(putCoin(reader, 'fee of nothing', {}, mintWith(1, transferFee(0, 0))))).toBeNull();
  expect(await unquotableOf(putCoin(reader, 'stuck', {}, mintWith(9, new Uint8Array(0))))).toBe('not_transferable');
  const quote = address('quote coin with a fee');
  reader.accounts.set(quote, owned(token2022Program, mintWith(1, transferFee(5, 5))));
  expect(await unquotableOf(putCoin(reader, 'of such a quote', { quoteMint: quote }))).toBe('transfer_fee');
});

test('accounts that are not a mint, have no pool, or cannot be read', async () => {
  const reader = testReader();
  const markets = marketsOf(reader);
  expect((await markets.read(address('nothing there'))).result).toEqual({ kind: 'no_mint' });
  reader.accounts.set(address('wallet'), owned('11111111111111111111111111111111', new Uint8Array(0)));
  expect((await markets.read(address('wallet'))).result).toEqual({ kind: 'no_mint' });
  reader.accounts.set(address('plain'), owned(tokenProgram, mintData(6, 1n, null)));
  expect((await markets.read(address('plain'))).result).toMatchObject({ kind: 'market', market: { pools: [] } });
  const foreign = putCoin(reader, 'foreign');
  reader.accounts.set(pump.bondingCurveAddress(foreign), owned(amm.programId, curveData(freshCurve)));
  expect((await markets.read(foreign)).result).toMatchObject({ kind: 'market', market: { pools: [] } });
  const short = putCoin(reader, 'short');
  reader.accounts.set(pump.bondingCurveAddress(short), owned(pump.programId, curveData(freshCurve).subarray(0, 40)));
  expect((await markets.read(short)).result).toMatchObject({ kind: 'malformed', venue: 'pump' });
  // Only the pool of the other venue is left out.
  const spoiled = putCoin(reader, 'spoiled elsewhere');
  reader.accounts.set(launchlab.poolOf(spoiled, wrappedSolMint), owned(launchlab.programId, launchlab.accountDiscriminators.pool));
  const pools = [{ venue: { name: 'pump' } }];
  expect((await markets.read(spoiled)).result).toMatchObject({ kind: 'market', market: { pools, malformed: 1 } });
  const other = testReader();
  other.accounts.delete(pump.feeConfig);
  const lacking = marketsOf(other);
  expect((await lacking.read(putCoin(other, 'no fees'))).result).toEqual({ kind: 'malformed', venue: 'pump', reason: 'not a FeeConfig' });
  expect(markets.counts.malformed).toBe(2);
});

test('a quote coin that differs with every read ends with an error', async () => {
  const reader = testReader();
  const markets = marketsOf(reader);
  const mint = putCoin(reader, 'restless');
  const read = reader.read.bind(reader);
  let turns = 0;
  reader.read = (addresses) => {
    const quoteMint = address(`quote ${turns++}`);
    reader.accounts.set(pump.bondingCurveAddress(mint), owned(pump.programId, curveData({ ...freshCurve, quoteMint })));
    return read(addresses);
  };
  expect((await markets.read(mint)).result).toMatchObject({ kind: 'malformed' });
  expect(turns).toBe(4);
});

test('an unusable answer is dropped at the next read', async () => {
  const reader = testReader();
  const markets = marketsOf(reader, []);
  const read = async (i: number): Promise<WeakRef<MarketRead>> => new WeakRef(await markets.read(`mint ${i}`));
  const old: WeakRef<MarketRead>[] = [];
  for (let i = 0; i < 100; i++) old.push(await read(i));
  reader.nowMs += marketTtlMs + 1;
  const young = await read(100);
  await until('most to be gone', () => {
    collectGarbage();
    return old.filter((one) => one.deref() !== undefined).length <= 2;
  });
  expect(young.deref()).toBe(markets.read('mint 100'));
});

test('the cache is bounded', async () => {
  const reader = testReader();
  const few = marketsOf(reader, []);
  for (let i = 0; i <= maxMarkets; i++) await few.read(`mint ${i}`);
  expect(few.read('mint 1')).not.toBeInstanceOf(Promise);
  expect(few.read('mint 0')).toBeInstanceOf(Promise);
});
