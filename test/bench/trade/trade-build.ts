import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Anchor from '@coral-xyz/anchor';
import type * as PumpSwapSdk from '@pump-fun/pump-swap-sdk';
import {
  ComputeBudgetProgram,
  Keypair as Web3Keypair,
  TransactionMessage,
  VersionedTransaction,
  type TransactionInstruction,
} from '@solana/web3.js';
import { readQuoteRequest } from '@sluice/trading/quote/order.ts';
import { rawAmount } from '@sluice/trading/quote/amounts.ts';
import { assembleMarket, planMarket, type MarketPlan, type TokenMarket } from '@sluice/gateway/reads/pools/quoted-market.ts';
import { createMessageBuilder, type MessageBuilder } from '../../../trading/src/prepare/message-builder.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import { signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { assembleTransaction, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { canonicalPoolAddress, globalConfig } from '@sluice/venues/pump/amm/program.ts';
import { bondingCurveAddress, feeConfig, globalAddress } from '@sluice/venues/pump/curve/program.ts';
import { slippageBounds, type QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { QuoteBody } from '@sluice/shared/wire/rest/trading/quote.ts';
import { wallet } from '../../simnet/runtime/wallets.ts';
import { tokenAmount } from '../../simnet/layout/token-state.ts';
import type { SimChain } from '../../simnet/sim-chain.ts';
import { pumpSdk } from '../../simnet/support/pump-sdk.ts';
import { accountInfo, key } from '../../simnet/support/web3.ts';
import { newSignerPlace } from '../../signer/harness.ts';
import { launchCoin, moveToPool, tradedChain, tradeOnChain, type QuotedCoin } from '../../support/chain/quoted-trades.ts';
import { costOf, diskCost, type Cost } from '../bus/durable-line.ts';
import type { BenchRow } from '../row.ts';
import { atAnyTime } from '../../support/chain/quote-moment.ts';

/**
 * From the body of an order to signed bytes in base64, with warm state: read, quoted, built, signed. Next to it the same orders by the
 * programs' own SDKs and web3.js, with all accounts decoded before. A wallet's first order for a coin derives addresses and compiles; it is
 * measured separately.
 */
const require = createRequire(import.meta.url);
const { BN } = require('@coral-xyz/anchor') as typeof Anchor;
const swapSdk = require('@pump-fun/pump-swap-sdk') as typeof PumpSwapSdk;
const coins = 16;
const wallets = Array.from({ length: 4 }, (_, i) => wallet('bench', `wallet ${i}`));
const orders = 20_000;
const warmupOrders = 4_000;
const firstOrders = 600;
const signedOrders = 5_000;
const signedWarmup = 1_000;
const sdkOrders = 400;
const sdkWarmup = 40;
const targetP50Ms = 0.3;
const targetP99Ms = 1.5;
const targetTimes = 10;
const slippage = 10;
const microLamportsPerUnit = 50_000n;

interface BenchCoin {
  readonly coin: QuotedCoin;
  readonly plan: MarketPlan;
  readonly market: TokenMarket;
  readonly venue: 'pump' | 'pump-amm';
}

function marketOf(chain: SimChain, plan: MarketPlan): TokenMarket {
  const assembled = assembleMarket(plan, (address) => chain.account(address));
  if (assembled.kind !== 'market') throw new Error(JSON.stringify(assembled));
  return assembled.market;
}

/** Coins on curves; every other coin is on a pool. */
function prepare(chain: SimChain): readonly BenchCoin[] {
  return Array.from({ length: coins }, (_, i) => {
    const coin = launchCoin(chain, { cashback: i % 8 > 5, mayhem: i % 8 === 4 });
    const venue = i % 2 === 0 ? 'pump' : 'pump-amm';
    const amount = (venue === 'pump' ? 5n : 1_000n) * 10n ** 9n;
    const { err } = tradeOnChain(chain, coin, 'pump', { exact: 'quoteIn', amount }, 1n);
    if (err !== null) throw new Error(JSON.stringify(err));
    if (venue === 'pump-amm') moveToPool(chain, coin, false);
    const plan = planMarket(coin.mint, [wrappedSolMint], venues);
    return { coin, plan, market: marketOf(chain, plan), venue };
  });
}

/** The `i`th order: coins and wallets in turn, as many sales as purchases, each with another amount. */
function bodyOf(i: number, all: readonly BenchCoin[]): { readonly body: QuoteBody; readonly at: BenchCoin; readonly user: Keypair } {
  const at = all[i % all.length]!;
  const round = Math.floor(i / all.length);
  const side = round % 2 === 0 ? 'buy' : 'sell';
  const body: QuoteBody = { side, mint: at.coin.mint, amount: ((side === 'buy' ? 100 : 1_000_000) + (i % 1_000)) / 1_000, slippage };
  return { body, at, user: wallets[round % wallets.length]! };
}

function tradeOf({ side, amount }: { readonly side: 'buy' | 'sell'; readonly amount: number }): QuotedTrade {
  const raw = rawAmount(amount, side === 'buy' ? 9 : 6);
  if (!raw.ok) throw new Error(raw.fault);
  return { exact: side === 'buy' ? 'quoteIn' : 'baseIn', amount: raw.raw };
}

function ours(builder: MessageBuilder, body: QuoteBody, at: BenchCoin, user: Keypair, blockhash: string): string {
  const message = messageOf(builder, body, at, user, blockhash);
  return Buffer.from(assembleTransaction(message, [signMessage(user, message)])).toString('base64');
}

function messageOf(builder: MessageBuilder, body: QuoteBody, { market }: BenchCoin, user: Keypair, blockhash: string): Uint8Array {
  const read = readQuoteRequest(body);
  if (!read.ok || read.order.amount.kind !== 'ui') throw new Error('the order was not read');
  const { order } = read;
  const pool = market.pools.find((one) => !one.pool.complete)!.pool;
  const trade = tradeOf({ side: order.side, amount: read.order.amount.value });
  const outcome = pool.quote(trade, atAnyTime);
  if (!outcome.ok) throw new Error(outcome.fault);
  const { quote } = outcome;
  const built = builder.build({
    pool,
    order: {
      user: user.publicKey,
      trade,
      quote,
      ...slippageBounds(trade, quote, order.slippageBps),
      baseTokenProgram: market.tokenProgram,
      quoteTokenProgram: tokenProgram,
      baseAccountBytes: market.accountBytes,
      quoteAccountBytes: tokenAccountBytes,
    },
    baseAccountExists: null,
    wrappedSolExists: null,
    wrappingRent: 1_488_440n,
    computeUnitLimit: null,
    microLamportsPerUnit,
    blockhash,
  });
  return built.message;
}

type Theirs = (side: 'buy' | 'sell', amount: bigint, user: Web3Keypair) => Promise<readonly TransactionInstruction[]>;

/** The inputs of the SDKs, decoded once, as by a caller that keeps accounts in memory. */
function curveSdk(chain: SimChain, { mint, tokenProgram: program }: QuotedCoin): Theirs {
  const sdk = pumpSdk.PUMP_SDK;
  const bondingCurveAccountInfo = accountInfo(chain.account(bondingCurveAddress(mint)));
  const bondingCurve = sdk.decodeBondingCurve(bondingCurveAccountInfo);
  const global = sdk.decodeGlobal(accountInfo(chain.account(globalAddress)));
  const fees = sdk.decodeFeeConfig(accountInfo(chain.account(feeConfig)));
  const state = { global, feeConfig: fees, mintSupply: bondingCurve.tokenTotalSupply, bondingCurve };
  const parts = { global, bondingCurveAccountInfo, bondingCurve, mint: key(mint), slippage, tokenProgram: key(program) };
  return async (side, raw, { publicKey: user }) => {
    const amount = new BN(raw.toString());
    if (side === 'sell') {
      const quoteAmount = pumpSdk.getSellSolAmountFromTokenAmount({ ...state, amount });
      return sdk.sellV2Instructions({ ...parts, user, amount, quoteAmount });
    }
    const tokens = pumpSdk.getBuyTokenAmountFromSolAmount({ ...state, amount, quoteMint: bondingCurve.quoteMint });
    return sdk.buyV2Instructions({ ...parts, user, associatedUserAccountInfo: null, amount: tokens, quoteAmount: amount });
  };
}

function poolSdk(chain: SimChain, { mint, tokenProgram: program }: QuotedCoin): Theirs {
  const sdk = swapSdk.PUMP_AMM_SDK;
  const at = canonicalPoolAddress(mint, wrappedSolMint);
  const poolAccountInfo = accountInfo(chain.account(at));
  const pool = sdk.decodePool(poolAccountInfo);
  const held = (address: string): Anchor.BN => new BN(tokenAmount(chain.account(address)).toString());
  const mintInfo = chain.account(mint)!;
  const state = {
    globalConfig: sdk.decodeGlobalConfig(accountInfo(chain.account(globalConfig))),
    feeConfig: null,
    poolKey: key(at),
    poolAccountInfo,
    pool,
    poolBaseAmount: held(pool.poolBaseTokenAccount.toBase58()),
    poolQuoteAmount: held(pool.poolQuoteTokenAccount.toBase58()),
    baseTokenProgram: key(program),
    quoteTokenProgram: key(tokenProgram),
    baseMint: key(mint),
    baseMintAccount: { supply: Buffer.from(mintInfo.data).readBigUInt64LE(36) },
    userBaseAccountInfo: null,
    userQuoteAccountInfo: null,
  };
  return async (side, raw, { publicKey: user }) => {
    const owner = user.toBase58();
    const swap = {
      ...state,
      user,
      userBaseTokenAccount: key(associatedTokenAddress(owner, mint, program)),
      userQuoteTokenAccount: key(associatedTokenAddress(owner, wrappedSolMint, tokenProgram)),
    } as unknown as PumpSwapSdk.SwapSolanaState;
    const amount = new BN(raw.toString());
    return side === 'buy' ? sdk.buyQuoteInput(swap, amount, slippage) : sdk.sellBaseInput(swap, amount, slippage);
  };
}

async function theirs(build: Theirs, side: 'buy' | 'sell', amount: bigint, user: Web3Keypair, recentBlockhash: string): Promise<string> {
  const instructions = [
    ComputeBudgetProgram.setComputeUnitLimit({ units: 200_000 }),
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: microLamportsPerUnit }),
    ...(await build(side, amount, user)),
  ];
  const message = new TransactionMessage({ payerKey: user.publicKey, recentBlockhash, instructions }).compileToV0Message();
  const transaction = new VersionedTransaction(message);
  transaction.sign([user]);
  return Buffer.from(transaction.serialize()).toString('base64');
}

function measureOurs(all: readonly BenchCoin[], blockhash: string): Cost {
  const builder = createMessageBuilder();
  const tookMs = new Float64Array(orders);
  for (let i = 0; i < warmupOrders + orders; i++) {
    const { body, at, user } = bodyOf(i, all);
    const startedAt = performance.now();
    ours(builder, body, at, user, blockhash);
    if (i >= warmupOrders) tookMs[i - warmupOrders] = performance.now() - startedAt;
  }
  return costOf(tookMs);
}

/** The same orders, signed as in the product: by the signing process, with policy and audit line, one after the other. */
async function measureWhole(all: readonly BenchCoin[], blockhash: string): Promise<{ readonly whole: Cost; readonly disk: Cost }> {
  const place = await newSignerPlace();
  try {
    const keystore = await place.keystore();
    for (const { seed } of wallets) await keystore.import(seed, null);
    const signer = place.signer({ limits: { maxOrderLamports: 10n ** 12n, maxDayLamports: 10n ** 15n } });
    const started = await signer.started;
    if (!started.ok) throw new Error(started.what);
    const builder = createMessageBuilder();
    const tookMs = new Float64Array(signedOrders);
    for (let i = 0; i < signedWarmup + signedOrders; i++) {
      const { body, at, user } = bodyOf(i, all);
      const startedAt = performance.now();
      const message = messageOf(builder, body, at, user, blockhash);
      const outcome = await signer.sign({ orderId: `bench-${i}`, publicKey: user.publicKey, message });
      if (!outcome.ok) throw new Error(`not signed: ${outcome.reason}`);
      Buffer.from(assembleTransaction(message, [outcome.signature])).toString('base64');
      if (i >= signedWarmup) tookMs[i - signedWarmup] = performance.now() - startedAt;
    }
    return { whole: costOf(tookMs), disk: diskCost(join(place.dataDir, 'disk')) };
  } finally {
    await place.end();
  }
}

/** Every order is of a new wallet: its addresses are derived, its message is compiled, its key is imported. */
function measureFirst(all: readonly BenchCoin[], blockhash: string): Cost {
  const builder = createMessageBuilder();
  const strangers = Array.from({ length: firstOrders }, (_, i) => wallet('bench', `stranger ${i}`));
  const tookMs = Float64Array.from(strangers, (user, i) => {
    const { body, at } = bodyOf(i, all);
    const startedAt = performance.now();
    ours(builder, body, at, user, blockhash);
    return performance.now() - startedAt;
  });
  return costOf(tookMs);
}

/** The same amounts, wallets and coins as ours. */
async function measureTheirs(chain: SimChain, all: readonly BenchCoin[], blockhash: string): Promise<Cost> {
  const builds = new Map(all.map((at) => [at, at.venue === 'pump' ? curveSdk(chain, at.coin) : poolSdk(chain, at.coin)]));
  const web3 = new Map(wallets.map((user) => [user, Web3Keypair.fromSeed(user.seed)]));
  const tookMs = new Float64Array(sdkOrders);
  for (let i = 0; i < sdkWarmup + sdkOrders; i++) {
    const { body, at, user } = bodyOf(i, all);
    const { amount } = tradeOf({ side: body.side, amount: body.amount as number });
    const startedAt = performance.now();
    await theirs(builds.get(at)!, body.side, amount, web3.get(user)!, blockhash);
    if (i >= sdkWarmup) tookMs[i - sdkWarmup] = performance.now() - startedAt;
  }
  return costOf(tookMs);
}

/** Both must use as many accounts. The instructions differ, because the SDK wraps SOL in the associated account. */
async function compareOnce(chain: SimChain, all: readonly BenchCoin[], blockhash: string): Promise<void> {
  for (let i = 0; i < all.length * 2; i++) {
    const { body, at, user } = bodyOf(i, all);
    const build = at.venue === 'pump' ? curveSdk(chain, at.coin) : poolSdk(chain, at.coin);
    const { amount } = tradeOf({ side: body.side, amount: body.amount as number });
    const texts = [
      ours(createMessageBuilder(), body, at, user, blockhash),
      await theirs(build, body.side, amount, Web3Keypair.fromSeed(user.seed), blockhash),
    ];
    const counts = texts.map((text) => {
      const decoded = decodeTransaction(Buffer.from(text, 'base64'));
      if (decoded.kind === 'malformed') throw new Error(decoded.reason);
      return `${decoded.accountKeys.length} keys`;
    });
    if (counts[0] !== counts[1]) throw new Error(`${at.venue} ${body.side}: ${counts.join(' and ')}`);
  }
}

const ms = (value: number): string => `${value.toFixed(3)} ms`;
const text = ({ p50Ms, p99Ms }: Cost): string => `p50 ${ms(p50Ms)}, p99 ${ms(p99Ms)}`;

export async function run(): Promise<BenchRow[]> {
  const chain = tradedChain();
  const all = prepare(chain);
  const { blockhash } = chain.latestBlockhash();
  await compareOnce(chain, all, blockhash);
  const sdk = await measureTheirs(chain, all, blockhash);
  const warm = measureOurs(all, blockhash);
  const first = measureFirst(all, blockhash);
  const { whole, disk } = await measureWhole(all, blockhash);
  const times = sdk.p50Ms / warm.p50Ms;
  return [
    {
      name: 'Time from an order to its signed transaction, without simulation, with the signing process',
      figure: text(whole),
      target: `p50 ≤ ${targetP50Ms} ms, p99 ≤ ${targetP99Ms} ms`,
      pass: whole.p50Ms <= targetP50Ms && whole.p99Ms <= targetP99Ms,
      note: `${signedOrders.toLocaleString('en-US')} consecutive orders; each is parsed, quoted, built, checked against the policy, logged and signed, while the audit line of the previous order is flushed to disk; flushing one line alone: ${text(disk)}`,
    },
    {
      name: 'Time from an order to its signed transaction, without simulation, signed in the same process',
      figure: text(warm),
      target: `p50 ≤ ${targetP50Ms} ms, p99 ≤ ${targetP99Ms} ms`,
      pass: warm.p50Ms <= targetP50Ms && warm.p99Ms <= targetP99Ms,
      note: `${orders.toLocaleString('en-US')} orders, purchases and sales in turn, of ${wallets.length} wallets for ${coins} coins on curves and pools; each is parsed, quoted, built, signed and encoded as base64; a wallet’s first order: ${text(first)}`,
    },
    {
      name: 'Time from an order to its signed transaction, with the venues’ SDKs and web3.js',
      figure: `${text(sdk)}: ${times.toFixed(0)} times the time of sluice`,
      target: `≥ ${targetTimes} times`,
      pass: times >= targetTimes,
      note: `${sdkOrders} of the same orders with @pump-fun/pump-sdk, @pump-fun/pump-swap-sdk and @solana/web3.js; all accounts were decoded before`,
    },
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await run());
