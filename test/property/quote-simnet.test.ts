import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { Quote, QuotedPool, QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { venues } from '@sluice/venues/registry.ts';
import { assembleMarket, planMarket } from '@sluice/gateway/reads/pools/quoted-market.ts';
import { expect, test } from 'vitest';
import type { NewCoin } from '../simnet/market/instructions.ts';
import { createRandom } from '../simnet/market/random.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import type { SimChain } from '../simnet/sim-chain.ts';
import { pumpSdk } from '../simnet/support/pump-sdk.ts';
import { land } from '../simnet/support/test-chain.ts';
import { fromWeb3, key } from '../simnet/support/web3.ts';
import {
  launchCoin,
  maker,
  moveToPool,
  setUp,
  tokensOf,
  tradedChain,
  tradeIn,
  tradeOnChain,
  eventsOf,
  type QuotedCoin,
} from '../support/chain/quoted-trades.ts';
import { plainQuote } from '../support/events/decoded.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';

/**
 * Quotes compared with the simulated chain, whose programs were written independently: a trade does exactly what was quoted, and with a
 * bound one unit tighter it is refused.
 */
const tradesEach = 60;

/** The open pool of a coin, from the chain's own accounts, read as for `POST /quote`. */
function poolOf(chain: SimChain, mint: string): { readonly name: 'pump' | 'pump-amm'; readonly pool: QuotedPool } {
  const assembled = assembleMarket(planMarket(mint, [...quoteCoins.keys()], venues), (address) => chain.account(address));
  if (assembled.kind !== 'market') throw new Error(JSON.stringify(assembled));
  const open = assembled.market.pools.find(({ pool }) => !pool.complete);
  if (open === undefined) throw new Error('no open pool');
  return { name: open.venue.name as 'pump' | 'pump-amm', pool: open.pool };
}

function expectSame(given: Quote, record: ReturnType<typeof tradeOnChain>): void {
  const quote = plainQuote(given);
  expect(record.err, record.logs.join('\n')).toBeNull();
  const trade = tradeIn(record);
  expect([trade.side, trade.baseAmount, trade.quoteAmount, trade.fees]).toEqual([
    quote.side,
    quote.baseAmount,
    quote.quoteAmount,
    quote.fees,
  ]);
  expect(trade.reserves).toEqual(quote.after);
  expect(eventsOf(record).some(({ type }) => type === 'completed')).toBe(quote.completes);
}

/** The tightest bound that the quote meets. */
const boundOf = ({ exact }: QuotedTrade, quote: Quote): bigint => (exact === 'quoteIn' ? quote.baseAmount : quote.traderQuote);

function tradeAtRandom(chain: SimChain, coin: QuotedCoin, random: ReturnType<typeof createRandom>): boolean {
  const { name, pool } = poolOf(chain, coin.mint);
  const exact = (['quoteIn', 'baseOut', 'baseIn'] as const)[random.below(3)]!;
  const held = tokensOf(chain, coin);
  const digits = exact === 'quoteIn' ? (coin.quoteMint === usdcMint ? 8 : 10) : 13;
  const requested = BigInt(1 + random.below(999)) * 10n ** BigInt(random.below(digits - 2));
  const amount = exact === 'baseIn' && requested > held ? held : requested;
  const trade = { exact, amount };
  const outcome = pool.quote(trade, atAnyTime);
  if (!outcome.ok) return false;
  const { quote } = outcome;
  // A quote that completes the curve ends this part of the coin's life.
  if (quote.completes) return false;
  if (random.chance(0.2)) {
    const tighter = exact === 'baseOut' ? boundOf(trade, quote) - 1n : boundOf(trade, quote) + 1n;
    expect(tradeOnChain(chain, coin, name, trade, tighter).err).not.toBeNull();
  }
  expectSame(quote, tradeOnChain(chain, coin, name, trade, boundOf(trade, quote)));
  // What the quote says of the pool afterwards equals the chain's own state.
  const [left, next] = [pool.after!(quote)!, poolOf(chain, coin.mint).pool];
  for (const further of [trade, { exact: 'quoteIn', amount: 12_345_678n }, { exact: 'baseOut', amount: 9_876_543_210n }] as const)
    expect(left.quote(further, atAnyTime)).toEqual(next.quote(further, atAnyTime));
  return true;
}

function liveThrough(chain: SimChain, coin: QuotedCoin, boost: boolean): { readonly curve: number; readonly pool: number } {
  const random = createRandom(`quotes ${coin.mint}`);
  const count = (): number => Array.from({ length: tradesEach }, () => tradeAtRandom(chain, coin, random)).filter(Boolean).length;
  const curve = count();
  const rest = { exact: 'quoteIn', amount: coin.quoteMint === usdcMint ? 10n ** 12n : 10n ** 14n } as const;
  const { pool } = poolOf(chain, coin.mint);
  const last = pool.quote(rest, atAnyTime);
  if (!last.ok) throw new Error(last.fault);
  expect(last.quote).toMatchObject({ cut: true, completes: true, baseAmount: pool.reserves!.realBase });
  expect(last.quote.traderQuote).toBeLessThan(rest.amount);
  expectSame(last.quote, tradeOnChain(chain, coin, 'pump', rest, last.quote.baseAmount));
  expect(() => poolOf(chain, coin.mint)).toThrow('no open pool');
  moveToPool(chain, coin, boost);
  expect(poolOf(chain, coin.mint).name).toBe('pump-amm');
  return { curve, pool: count() };
}

const kinds: readonly (readonly [string, Partial<NewCoin>, boolean])[] = [
  ['an ordinary coin', {}, false],
  ['a coin whose pool is boosted', {}, true],
  ['a mayhem coin', { mayhem: true }, false],
  ['a cashback coin', { cashback: true }, true],
  ['a holder-reward coin', { holderReward: true }, false],
  ['a coin with its own creator fee', { creatorFeeBps: 120n }, false],
  ['a coin against USDC', { quoteMint: usdcMint }, true],
  ['a cashback coin against USDC', { quoteMint: usdcMint, cashback: true }, false],
  ['a mayhem coin against USDC', { quoteMint: usdcMint, mayhem: true }, false],
];

test.each(kinds)('%s: on its curve, to its end, and on its pool', { timeout: 120_000 }, (_, parts, boost) => {
  const chain = tradedChain();
  const traded = liveThrough(chain, launchCoin(chain, parts), boost);
  expect(traded.curve).toBeGreaterThan(tradesEach / 2);
  expect(traded.pool).toBeGreaterThan(tradesEach / 2);
});

test('a coin of the older create, on SPL Token', async () => {
  const chain = tradedChain();
  const mint = wallet('quotes', 'older');
  const user = key(maker.publicKey);
  const text = { name: 'Simulated old', symbol: 'SIMOLD', uri: 'https://simnet.invalid/old' };
  const create = await pumpSdk.PUMP_SDK.createInstruction({ mint: key(mint.publicKey), ...text, creator: user, user });
  expect(land(chain, [fromWeb3(create)], [maker, mint]).err).toBeNull();
  const coin = setUp(chain, { mint: mint.publicKey, tokenProgram, quoteMint: wrappedSolMint, mayhem: false });
  const traded = liveThrough(chain, coin, false);
  expect(Math.min(traded.curve, traded.pool)).toBeGreaterThan(tradesEach / 2);
});
