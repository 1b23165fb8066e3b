import type { QuoteRequest } from '@sluice/trading/quote/order.ts';
import { quoteOn } from '@sluice/trading/quote/best-quote.ts';
import { assembleMarket, planMarket, withHints, type TokenMarket, type TradedPool } from '@sluice/gateway/reads/pools/quoted-market.ts';
import { token2022Program, usdcMint, wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import * as pump from '@sluice/venues/pump/curve/program.ts';
import { venues } from '@sluice/venues/registry.ts';
import { expect, test } from 'vitest';
import { otherQuoteCoin } from '../simnet/programs/quote-coins.ts';
import { curveData } from '../simnet/programs/pump/state.ts';
import { mintData } from '../simnet/layout/token-state.ts';
import { address, quietChain } from '../simnet/support/test-chain.ts';

const chain = quietChain();
const otherCoin = otherQuoteCoin.mint;
const mint = address('coin');

/** An open pool, whose price rises with its quote reserve. Its address depends on `name`. */
function poolOf(name: string, virtualQuote: bigint, quoteMint = wrappedSolMint): TradedPool {
  const at = address(name);
  const curve = curveData({
    virtualToken: pump.initialVirtualToken,
    virtualQuote,
    realToken: pump.initialRealToken,
    realQuote: virtualQuote,
    supply: pump.initialSupply,
    complete: false,
    creator: address('creator'),
    mayhem: false,
    cashback: false,
    quoteMint: quoteMint === wrappedSolMint ? zeroAddress : quoteMint,
    creatorFeeBps: 0n,
    canEditCreatorFee: false,
    holderReward: false,
  });
  const own = new Map([
    [at, { owner: token2022Program, lamports: 0n, data: mintData(6, pump.initialSupply, null) }],
    [pump.bondingCurveAddress(at), { owner: pump.programId, lamports: 0n, data: curve }],
  ]);
  const assembled = assembleMarket(planMarket(at, [quoteMint], venues), (account) => own.get(account) ?? chain.account(account));
  if (assembled.kind !== 'market') throw new Error(assembled.kind);
  const [traded] = assembled.market.pools;
  return { ...traded!, pool: { ...traded!.pool, curve: false } };
}

const marketOf = (...pools: readonly TradedPool[]): TokenMarket => ({
  decimals: 6,
  tokenProgram: token2022Program,
  accountBytes: 170,
  malformed: 0,
  unquotable: null,
  isElsewhere: false,
  pools,
});
const order: QuoteRequest = { side: 'buy', mint, amount: { kind: 'ui', value: 1 }, slippageBps: 100n, pool: 'auto' };

function chosen(market: TokenMarket, changes: Partial<QuoteRequest>): string {
  const outcome = quoteOn(
    { ...order, ...changes },
    { result: { kind: 'market', market }, slot: 1 },
    { balance: 5_000_000n, solUsd: null, unixTimeS: 1 },
  );
  return 'error' in outcome ? outcome.error : outcome.pool.address;
}

const cheap = poolOf('cheap', 20_000_000_000n);
const dear = poolOf('dear', 60_000_000_000n);
const orders: readonly (readonly [what: string, changes: Partial<QuoteRequest>, best: TradedPool])[] = [
  ['spends SOL in the pool that gives most tokens', { side: 'buy', amount: { kind: 'ui', value: 1 } }, cheap],
  [
    'buys an exact number of tokens in the pool where they cost least',
    { side: 'buy', amount: { kind: 'coins', of: 'base', text: '1000' } },
    cheap,
  ],
  ['sells tokens in the pool that pays most', { side: 'sell', amount: { kind: 'ui', value: 1000 } }, dear],
  [
    'sells a part in the pool that pays most',
    { side: 'sell', amount: { kind: 'part', ppm: 500_000n, publicKey: address('wallet') } },
    dear,
  ],
  [
    'receives an exact amount of SOL from the pool that takes fewest tokens',
    { side: 'sell', amount: { kind: 'coins', of: 'sol', text: '1' } },
    dear,
  ],
];

test.each(orders)('of two pools of one mint, `auto` %s', (_, changes, best) => {
  expect(chosen(marketOf(cheap, dear), changes)).toBe(best.pool.address);
  expect(chosen(marketOf(dear, cheap), changes)).toBe(best.pool.address);
});

test.each(orders)('`auto` leaves out a pool that cannot do the trade: one that %s', (_, changes, best) => {
  const other = best === cheap ? dear : cheap;
  const ended: TradedPool = { ...best, pool: { ...best.pool, quote: () => ({ ok: false, fault: 'disabled' }) } };
  expect(chosen(marketOf(ended, other), changes)).toBe(other.pool.address);
  expect(chosen(marketOf(ended, ended), changes)).toBe('INVALID_REQUEST');
});

test.each(orders)('of equal pools, the one with the lower address is chosen by an order that %s', (_, changes, best) => {
  const twin: TradedPool = { ...best, pool: { ...best.pool, address: `${best.pool.address}z` } };
  expect(chosen(marketOf(twin, best), changes)).toBe(best.pool.address);
  expect(chosen(marketOf(best, twin), changes)).toBe(best.pool.address);
});

const usdc = poolOf('usdc', 1_000_000n, usdcMint);
const found = (pool: TradedPool, depthSol: number): TradedPool => ({ ...pool, depthSol });

test('pools in different quote coins are not compared: SOL comes first, unless it is a much smaller pool that anybody can have opened', () => {
  expect(chosen(marketOf(usdc, dear), {})).toBe(dear.pool.address);
  expect(chosen(marketOf(usdc), {})).toBe(usdc.pool.address);
  expect(chosen(marketOf(found(usdc, 50), found(dear, 5)), {})).toBe(dear.pool.address);
  expect(chosen(marketOf(found(usdc, 51), found(dear, 5)), {})).toBe(usdc.pool.address);
  expect(chosen(marketOf(found(usdc, 51), found(dear, 0)), {})).toBe(usdc.pool.address);
  // The pool to which a launch moved its coin decides.
  expect(chosen(marketOf(usdc, found(dear, 1_000)), {})).toBe(usdc.pool.address);
  expect(chosen(marketOf(dear, found(cheap, 1), found(usdc, 1_000)), {})).toBe(cheap.pool.address);
});

test('an open curve trades alone, even if others open pools at a better price', () => {
  const curve: TradedPool = { ...dear, pool: { ...dear.pool, curve: true } };
  expect(chosen(marketOf(found(cheap, 1_000), curve), {})).toBe(dear.pool.address);
});

test('`auto` does not trade in a small pool of a coin that is traded on venues without orders', () => {
  const market = { ...marketOf(found(cheap, 0.1)), isElsewhere: true };
  expect(chosen(market, {})).toBe('INVALID_REQUEST');
  expect(chosen(market, { pool: 'pump' })).toBe(cheap.pool.address);
  expect(chosen({ ...marketOf(cheap), isElsewhere: true }, {})).toBe(cheap.pool.address);
  // The same if the pool that a launch opened is there, but cannot be read.
  expect(chosen({ ...marketOf(found(cheap, 0.1)), malformed: 1 }, {})).toBe('INVALID_REQUEST');
  const known = (venue: KnownPool['venue'], depthSol: number): KnownPool => ({
    venue,
    address: address(venue),
    quoteMint: usdcMint,
    depthSol,
    slot: 1,
  });
  const traded = venues.filter(({ signing }) => signing !== null);
  const isElsewhere = (...pools: readonly KnownPool[]): boolean =>
    withHints(planMarket(mint, [usdcMint], traded), pools, traded).isElsewhere;
  expect(isElsewhere(known('orca-whirlpool', 50), known('raydium-cpmm', 5))).toBe(false);
  expect(isElsewhere(known('orca-whirlpool', 51), known('raydium-cpmm', 5))).toBe(true);
  expect(isElsewhere(known('raydium-cpmm', 0), known('meteora-dlmm', 0))).toBe(false);
});

/** A curve that has sold everything. Its depth is 0.3 SOL by its reserves, unless the directory has another one. */
const endedCurve = (changes: Partial<TradedPool['pool']> = {}): TradedPool => ({
  ...dear,
  pool: { ...dear.pool, curve: true, complete: true, ...changes },
});

/** The address of the chosen pool, or the details of the refusal. */
function outcomeOf(market: TokenMarket, changes: Partial<QuoteRequest> = {}, solUsd: number | null = null): unknown {
  const outcome = quoteOn(
    { ...order, ...changes },
    { result: { kind: 'market', market }, slot: 1 },
    { balance: 5_000_000n, solUsd, unixTimeS: 1 },
  );
  return 'error' in outcome ? outcome.details : outcome.pool.address;
}

test('until a complete curve has moved, `auto` trades only in a pool with a tenth of the depth of the curve', () => {
  const migrating = { reason: 'migrating' };
  const sale: Partial<QuoteRequest> = { side: 'sell', amount: { kind: 'ui', value: 1000 } };
  expect(outcomeOf(marketOf(endedCurve()))).toEqual(migrating);
  for (const changes of [{}, sale]) {
    expect(outcomeOf(marketOf(endedCurve(), found(cheap, 0.00005)), changes)).toEqual(migrating);
    expect(outcomeOf(marketOf(endedCurve(), found(cheap, 0.03)), changes)).toEqual(migrating);
    expect(outcomeOf(marketOf(endedCurve(), found(cheap, 0.031)), changes)).toBe(cheap.pool.address);
  }
  // A curve that the directory named, with its last depth.
  expect(outcomeOf(marketOf(found(endedCurve(), 0.4), found(cheap, 0.039)))).toEqual(migrating);
  expect(outcomeOf(marketOf(found(endedCurve(), 0.4), found(cheap, 0.041)))).toBe(cheap.pool.address);
  expect(outcomeOf(marketOf(endedCurve({ reserves: null }), found(cheap, 1_000)))).toEqual(migrating);
  // A venue without orders is no market for orders.
  const orca = { ...found(cheap, 1_000), venue: venues.find(({ name }) => name === 'orca-whirlpool')! };
  expect(outcomeOf(marketOf(endedCurve(), orca, found(cheap, 0.00005)))).toEqual(migrating);
  // The client names the venue; the coin has moved, and its price has fallen since; the pool of the migration is there.
  expect(outcomeOf(marketOf(endedCurve(), found(cheap, 0.00005)), { pool: 'pump' })).toBe(cheap.pool.address);
  expect(outcomeOf(marketOf(endedCurve({ migrated: true }), found(cheap, 0.00005)))).toBe(cheap.pool.address);
  expect(outcomeOf(marketOf(endedCurve(), cheap))).toBe(cheap.pool.address);
});

test('neither a curve nor a pool on a venue without orders hides that the coin is traded elsewhere, for quotes and orders alike', () => {
  const known = (venue: KnownPool['venue'], depthSol: number): KnownPool => ({
    venue,
    address: address(venue),
    quoteMint: wrappedSolMint,
    depthSol,
    slot: 1,
  });
  const dust = known('raydium-amm', 0.0002);
  for (const read of [venues, venues.filter(({ signing }) => signing !== null)]) {
    const isElsewhere = (...pools: readonly KnownPool[]): boolean =>
      withHints(planMarket(mint, [wrappedSolMint], read), pools, read).isElsewhere;
    expect(isElsewhere(known('meteora-damm-v1', 0.6), known('meteora-dbc', 0.4), dust)).toBe(true);
    expect(isElsewhere(known('raydium-clmm', 50), dust)).toBe(true);
    expect(isElsewhere(known('meteora-damm-v1', 0.6), known('meteora-damm-v2', 0.06), dust)).toBe(false);
    expect(isElsewhere(known('meteora-dbc', 0.4), dust)).toBe(false);
  }
  // A coin that only has pools without orders can still be quoted.
  const orca = { ...found(cheap, 50), venue: venues.find(({ name }) => name === 'orca-whirlpool')! };
  expect(outcomeOf({ ...marketOf(orca), isElsewhere: true })).toBe(cheap.pool.address);
  expect(outcomeOf({ ...marketOf(orca, found(dear, 0.0002)), isElsewhere: true })).toMatchObject({ fields: { pool: expect.any(String) } });
});

test('a pool of unknown depth in another quote coin: `auto` asks for a venue, because the amount could be in either coin', () => {
  const unclear = { fields: { pool: 'the depth of a pool in another quote coin is unknown; name a venue to trade in' } };
  const unknown = found({ ...usdc, pool: { ...usdc.pool, reserves: null } }, 0);
  const dust = found(dear, 0.00005);
  expect(outcomeOf(marketOf(unknown, dust))).toEqual(unclear);
  expect(outcomeOf(marketOf(dust, unknown), {}, 150)).toEqual(unclear);
  expect(outcomeOf(marketOf(unknown, dust), { pool: 'pump' })).toBe(dear.pool.address);
  expect(outcomeOf(marketOf(unknown))).toBe(usdc.pool.address);
  // With the price of SOL, the depth follows from reserves: 2,000,000 USDC, and one that somebody has just opened.
  const reserves = (quote: bigint) => ({ virtualBase: 1n, virtualQuote: quote, realBase: 1n, realQuote: quote });
  const pair = (quote: bigint): TradedPool => found({ ...usdc, pool: { ...usdc.pool, reserves: reserves(quote) } }, 0);
  expect(outcomeOf(marketOf(pair(2_000_000_000_000n), dust), {}, 150)).toBe(usdc.pool.address);
  expect(outcomeOf(marketOf(pair(2_000_000_000_000n), dust))).toEqual(unclear);
  expect(outcomeOf(marketOf(pair(1_000_000n), found(dear, 5)), {}, 150)).toBe(dear.pool.address);
});

/** Why a buy of this many whole quote coins is refused; null if it is not. */
function buyFault(pool: TradedPool, value: number, solUsd: number | null): string | null {
  const buy: QuoteRequest = { ...order, amount: { kind: 'ui', value } };
  const outcome = quoteOn(buy, { result: { kind: 'market', market: marketOf(pool) }, slot: 1 }, { balance: 0n, solUsd, unixTimeS: 1 });
  return 'error' in outcome ? (outcome.details!['fields'] as { amount: string }).amount : null;
}

test.each<[pool: TradedPool, solUsd: number | null, spends: readonly number[], not: readonly number[], why: string]>([
  [cheap, null, [0.001, 100], [0.0009, 100.000000001, 1e30], 'must be 0.001 to 100 SOL'],
  [
    poolOf('usdc', 1_000_000n, usdcMint),
    150,
    [0.15, 101, 15_000],
    [0.149, 15_001, 1e30],
    'must be worth 0.001 to 100 SOL, at present about 0.15 to 15000 USDC',
  ],
  [
    poolOf('usdc', 1_000_000n, usdcMint),
    null,
    [0.001, 100],
    [0.0009, 100.000001],
    'must be 0.001 to 100 USDC, because the price of SOL is unknown at present',
  ],
  [
    poolOf('other', 1_000_000n, otherCoin),
    150,
    [0.001, 100],
    [0.0009, 101],
    `must be 0.001 to 100 coins of ${otherCoin}, because their value in SOL is unknown`,
  ],
])('a buy spends 0.001 to 100 SOL, or coins of that value', (pool, solUsd, spends, not, why) => {
  for (const value of spends) expect(buyFault(pool, value, solUsd), String(value)).toBeNull();
  for (const value of not) expect(buyFault(pool, value, solUsd), String(value)).toBe(why);
});
