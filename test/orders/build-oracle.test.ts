import { createRequire } from 'node:module';
import { BorshInstructionCoder } from '@coral-xyz/anchor';
import type * as PumpSwapSdk from '@pump-fun/pump-swap-sdk';
import type { TransactionInstruction } from '@solana/web3.js';
import { surround } from '../../trading/src/prepare/surround.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { computeBudgetProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import * as amm from '@sluice/venues/pump/amm/program.ts';
import * as pump from '@sluice/venues/pump/curve/program.ts';
import type { TradeOrder } from '@sluice/venues/seam/trading.ts';
import * as fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { pumpAmmIdl, pumpIdl } from '../golden/anchor.ts';
import { pumpSdk } from '../simnet/support/pump-sdk.ts';
import { fromWeb3, key } from '../simnet/support/web3.ts';
import { coin, configBytes, globalBytes, openCurve, openPool, orderOf, quoteProgramOf, type Coin } from './coins.ts';
import { BN } from '../support/chain/bn.ts';
import { fuzzCases, isFullFuzz } from '../support/fuzz.ts';

/**
 * Compares our instructions with those of the programs' own SDKs, account by account and byte by byte, for random coins of every kind:
 * flags, creators (none, a wallet, the coin's sharing config), quote coins and token programs. The SDKs choose fee recipients by
 * `Math.random`, which the test controls. Instructions that the SDKs do not build are encoded by anchor from the programs' IDL, with the
 * accounts of those that they build.
 */
const swapSdk = createRequire(import.meta.url)('@pump-fun/pump-swap-sdk') as typeof PumpSwapSdk;
const sdk = pumpSdk.PUMP_SDK;
const bn = (value: bigint): InstanceType<typeof BN> => new BN(value.toString());
const runs = fuzzCases(1_000);
const seed = 20261121;

afterEach(() => vi.restoreAllMocks());

function info(owner: string, data: Uint8Array) {
  return { executable: false, owner: key(owner), lamports: 1, rentEpoch: 0, data: Buffer.from(data) };
}

/** Both SDKs pick `list[floor(random × 8)]`. */
function chooseRecipient(one: Coin): void {
  vi.spyOn(Math, 'random').mockReturnValue(((one.recipient % 8) + 0.5) / 8);
}

const coders = { pump: new BorshInstructionCoder(pumpIdl), amm: new BorshInstructionCoder(pumpAmmIdl) };

/** Compares lengths too, because anchor omits accounts at the end of an instruction. */
function plain({ programId, accounts, data }: Instruction) {
  const metas = accounts.map(({ address: at, signer, writable }) => `${at}${signer ? ' signer' : ''}${writable ? ' writable' : ''}`);
  return { programId, accounts: metas, data: Buffer.from(data).toString('hex') };
}

function accountNames(idl: typeof pumpIdl, name: string): readonly unknown[] {
  return idl.instructions.find((one) => one.name === name)!.accounts;
}

test('the IDL gives the exact-in buys the same accounts as the others', () => {
  expect(accountNames(pumpIdl, 'buy_exact_quote_in_v2')).toEqual(accountNames(pumpIdl, 'buy_v2'));
  expect(accountNames(pumpAmmIdl, 'buy_exact_quote_in')).toEqual(accountNames(pumpAmmIdl, 'buy'));
});

async function theirsOnCurve(one: Coin, bytes: Buffer, order: TradeOrder): Promise<TransactionInstruction> {
  const bondingCurve = sdk.decodeBondingCurve(info(pump.programId, bytes));
  const common = {
    global: sdk.decodeGlobal(info(pump.programId, globalBytes)),
    bondingCurveAccountInfo: info(pump.programId, bytes),
    bondingCurve,
    mint: key(one.mint),
    user: key(one.user),
    slippage: 0,
    tokenProgram: key(one.base),
    quoteTokenProgram: key(quoteProgramOf(one)),
  };
  const { trade, quote, minOut, maxIn } = order;
  if (trade.exact === 'baseIn') return (await sdk.sellV2Instructions({ ...common, amount: bn(trade.amount), quoteAmount: bn(minOut) }))[0]!;
  const buy = { ...common, associatedUserAccountInfo: info(one.base, new Uint8Array(165)) };
  const built = (await sdk.buyV2Instructions({ ...buy, amount: bn(quote.baseAmount), quoteAmount: bn(maxIn) }))[0]!;
  if (trade.exact === 'baseOut' || quote.cut) return built;
  const args = { spendable_quote_in: bn(trade.amount), min_tokens_out: bn(minOut) };
  built.data = coders.pump.encode('buy_exact_quote_in_v2', args);
  return built;
}

test('curves: buy_v2, buy_exact_quote_in_v2 and sell_v2 equal @pump-fun/pump-sdk', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(coin, async (one) => {
      const { pool, bytes } = openCurve(one);
      const order = orderOf(one, pool);
      chooseRecipient(one);
      const ours = pool.build(order);
      expect(plain(ours.instruction)).toEqual(plain(fromWeb3(await theirsOnCurve(one, bytes, order))));
      expect(ours.baseAccount).toBe(associatedTokenAddress(one.user, one.mint, one.base));
      const quoteAccount = associatedTokenAddress(one.user, one.quoteMint, quoteProgramOf(one));
      expect(ours.quoteAccount).toBe(one.quoteMint === wrappedSolMint ? null : quoteAccount);
      const creator = one.creator === 'none' || one.creator === 'sharing' ? one.creator : 'wallet';
      seen.add(`${one.exact} ${creator} ${one.mayhem} ${one.cashback} ${one.quoteMint === wrappedSolMint}`);
    }),
    { seed, numRuns: runs },
  );
  expect(seen.size).toBeGreaterThan(isFullFuzz ? 60 : 40);
});

test('an amount beyond the end of the curve buys exactly the rest, by buy_v2', async () => {
  const [one] = fc.sample(coin, { seed, numRuns: 1 });
  const left = 7_000_000n;
  const { pool, bytes } = openCurve({ ...one!, exact: 'quoteIn' }, { real_token_reserves: left });
  const order = orderOf(one!, pool, { exact: 'quoteIn', amount: 10n ** 12n });
  chooseRecipient(one!);
  const { data, ...ours } = plain(pool.build(order).instruction);
  expect({ data, ...ours }).toEqual(plain(fromWeb3(await theirsOnCurve(one!, bytes, order))));
  expect(data.slice(0, 16)).toBe('b817ee6167c5d33d');
  expect(Buffer.from(data, 'hex').readBigUInt64LE(8)).toBe(left);
});

async function theirsOnPool(one: Coin, at: string, bytes: Buffer, order: TradeOrder): Promise<readonly TransactionInstruction[]> {
  const poolAccountInfo = info(amm.programId, bytes);
  const quoteProgram = quoteProgramOf(one);
  const state = {
    globalConfig: swapSdk.PUMP_AMM_SDK.decodeGlobalConfig(info(amm.programId, configBytes)),
    feeConfig: null,
    poolKey: key(at),
    poolAccountInfo,
    pool: swapSdk.PUMP_AMM_SDK.decodePool(poolAccountInfo),
    baseTokenProgram: key(one.base),
    quoteTokenProgram: key(quoteProgram),
    user: key(one.user),
    userBaseTokenAccount: key(associatedTokenAddress(one.user, one.mint, one.base)),
    userQuoteTokenAccount: key(associatedTokenAddress(one.user, one.quoteMint, quoteProgram)),
    userBaseAccountInfo: null,
    userQuoteAccountInfo: null,
  } as unknown as PumpSwapSdk.SwapSolanaState;
  const { trade, minOut, maxIn, quote } = order;
  if (trade.exact === 'baseIn') return swapSdk.PUMP_AMM_SDK.sellInstructions(state, bn(trade.amount), bn(minOut));
  const built = await swapSdk.PUMP_AMM_SDK.buyInstructions(state, bn(quote.baseAmount), bn(maxIn));
  if (trade.exact === 'baseOut') return built;
  const args = { spendable_quote_in: bn(trade.amount), min_base_amount_out: bn(minOut), track_volume: { 0: true } };
  const buy = built.find(({ data }) => data.subarray(0, 8).equals(amm.instructionDiscriminators.buy))!;
  buy.data = coders.amm.encode('buy_exact_quote_in', args);
  return built;
}

const isOfBudget = ({ programId }: Instruction): boolean => programId === computeBudgetProgram;
/** The SDK grows pools of older layouts first; the program trades on them unchanged (`real-programs.test.ts`). */
const isNoGrowth = ({ data }: { readonly data: string }): boolean => data !== 'ea66c2cb96483ee5';
const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

test('pools: everything around buy, buy_exact_quote_in and sell equals @pump-fun/pump-swap-sdk', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(coin, async (one) => {
      const { pool, at, bytes } = openPool(one);
      const order = orderOf(one, pool);
      chooseRecipient(one);
      const ours = pool.build(order);
      const theirs = (await theirsOnPool(one, at, bytes, order)).map((instruction) => plain(fromWeb3(instruction))).filter(isNoGrowth);
      const trade = plain(ours.instruction);
      expect(theirs).toContainEqual(trade);
      const isBuy = one.exact !== 'baseIn';
      const around = { baseAccountExists: false, wrapping: 'associated', wrappingRent: 0n, computeUnitLimit: null, tips: [] } as const;
      const whole = surround(order, ours, around).instructions.filter((instruction) => !isOfBudget(instruction));
      expect(whole.map(plain).toSorted(byText)).toEqual(theirs.toSorted(byText));
      seen.add(`${isBuy} ${trade.accounts.length} ${one.quoteMint === wrappedSolMint}`);
    }),
    { seed, numRuns: runs },
  );
  // Buys have 25 to 27 accounts, sells 23 to 26.
  expect(seen.size).toBeGreaterThan(10);
});
