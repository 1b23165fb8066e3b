import { createHash } from 'node:crypto';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import { tokenProgram, usdcDecimals, solDecimals, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { addressBytes, derive } from '../layout/derive.ts';
import { fail, failCustom } from '../runtime/instruction-error.ts';
import type { InvocationContext, Program } from '../runtime/program.ts';
import { BorshReader, BorshWriter } from '../layout/borsh.ts';
import { transferCheckedInstruction } from './token/token-instructions.ts';

const discriminator = {
  swap: Uint8Array.from(Buffer.from('f8c69e91e17587c8', 'hex')),
  account: Uint8Array.from(Buffer.from('3f95d10ce1806309', 'hex')),
  traded: Uint8Array.from(Buffer.from('e1ca49af932ba096', 'hex')),
};
const whirlpoolBytes = 653;
const swapUnits = 42_000;
const feeRateHundredthsBps = 400n;
const feeDenominator = 1_000_000n;
const protocolShareBps = 1_300n;
const tickSpacing = 4;
const amountOutBelowMinimum = 6036;
const one = 1n << 64n;
/** About 13,000 SOL of depth at 150 USDC for one SOL: ten SOL move the price by 0.15 %. */
const liquidity = 5_000_000_000_000n;

const at = { bump: 40, sqrtPrice: 65, tick: 81, protocolFeeA: 85, vaultA: 133, vaultB: 213 } as const;

function vaultAddress(side: 'a' | 'b'): string {
  return generateKeypair(createHash('sha256').update(`simnet whirlpool vault ${side}`).digest()).publicKey;
}

export const whirlpoolVaults = { sol: vaultAddress('a'), usdc: vaultAddress('b') } as const;

function squareRoot(value: number): bigint {
  return BigInt(Math.round(Math.sqrt(value) * 2 ** 52)) << 12n;
}

function tickOf(sqrtPrice: bigint): number {
  return Math.floor((2 * Math.log(Number(sqrtPrice) / 2 ** 64)) / Math.log(1.0001));
}

/** SOL/USDC pool at a price in USDC, with the layout of the Whirlpool program. */
export function whirlpoolData(price: number): Uint8Array {
  const sqrtPrice = squareRoot(price * 10 ** (usdcDecimals - solDecimals));
  const config = generateKeypair(createHash('sha256').update('simnet whirlpools config').digest()).publicKey;
  return new BorshWriter()
    .bytes(discriminator.account)
    .address(config)
    .u8(255)
    .u16(tickSpacing)
    .u16(tickSpacing)
    .u16(Number(feeRateHundredthsBps))
    .u16(Number(protocolShareBps))
    .u128(liquidity)
    .u128(sqrtPrice)
    .i32(tickOf(sqrtPrice))
    .u64(0n)
    .u64(0n)
    .address(wrappedSolMint)
    .address(whirlpoolVaults.sol)
    .u128(0n)
    .address(usdcMint)
    .address(whirlpoolVaults.usdc)
    .u128(0n)
    .u64(0n)
    .done(whirlpoolBytes);
}

/** Price in USDC of a pool's bytes. */
export function usdcPerSol(data: Uint8Array): number {
  const root = Number(new BorshReader(data, at.sqrtPrice).u128()) / 2 ** 64;
  return root * root * 10 ** (solDecimals - usdcDecimals);
}

export interface SwapParts {
  readonly trader: string;
  readonly traderSol: string;
  readonly traderUsdc: string;
  readonly amount: bigint;
  readonly sellsSol: boolean;
}

export function whirlpoolSwapInstruction(parts: SwapParts): Instruction {
  const readonly = (address: string, signer = false) => ({ address, signer, writable: false });
  const writable = (address: string) => ({ address, signer: false, writable: true });
  const tickArray = (index: number): string =>
    derive(whirlpoolProgram, 'tick_array', addressBytes(solPricePool.address), `${index}`).address;
  return {
    programId: whirlpoolProgram,
    accounts: [
      readonly(tokenProgram),
      readonly(parts.trader, true),
      writable(solPricePool.address),
      writable(parts.traderSol),
      writable(whirlpoolVaults.sol),
      writable(parts.traderUsdc),
      writable(whirlpoolVaults.usdc),
      writable(tickArray(0)),
      writable(tickArray(1)),
      writable(tickArray(2)),
      readonly(derive(whirlpoolProgram, 'oracle', addressBytes(solPricePool.address)).address),
      readonly(vaultAuthority),
      readonly(wrappedSolMint),
      readonly(usdcMint),
    ],
    data: new BorshWriter().bytes(discriminator.swap).u64(parts.amount).u64(0n).u128(0n).bool(true).bool(parts.sellsSol).done(),
  };
}

export interface WhirlpoolQuote {
  readonly next: bigint;
  readonly out: bigint;
  readonly fee: bigint;
}

/** What a swap of `amount` gives at this price, within the one range of liquidity that the pool has. */
export function whirlpoolQuote(sqrtPrice: bigint, amount: bigint, sellsSol: boolean): WhirlpoolQuote {
  const fee = (amount * feeRateHundredthsBps + feeDenominator - 1n) / feeDenominator;
  const net = amount - fee;
  if (sellsSol) {
    const next = (liquidity * sqrtPrice * one) / (liquidity * one + net * sqrtPrice);
    return { next, out: (liquidity * (sqrtPrice - next)) / one, fee };
  }
  const next = sqrtPrice + (net * one) / liquidity;
  return { next, out: (liquidity * one * (next - sqrtPrice)) / (sqrtPrice * next), fee };
}

/** The vaults belong to an address that the program signs for. */
export const vaultAuthority = derive(whirlpoolProgram, 'simnet vaults').address;

function pay(context: InvocationContext, from: number, to: number, amount: bigint, isSol: boolean, authority: string): void {
  context.invoke(
    transferCheckedInstruction({
      programId: tokenProgram,
      source: context.account(from).address,
      mint: isSol ? wrappedSolMint : usdcMint,
      destination: context.account(to).address,
      authority,
      amount,
      decimals: isSol ? solDecimals : usdcDecimals,
    }),
    authority === vaultAuthority ? [['simnet vaults']] : [],
  );
}

/** Swaps within one range of constant liquidity: the simulated pool has only one. */
function swap(context: InvocationContext): void {
  const reader = new BorshReader(context.data, 8);
  const amount = reader.u64();
  const threshold = reader.u64();
  reader.u128();
  if (!reader.bool()) fail('InvalidInstructionData');
  const sellsSol = reader.bool();
  const pool = context.account(2);
  const trader = context.account(1);
  if (!trader.signer) fail('MissingRequiredSignature');
  if (pool.owner !== whirlpoolProgram || context.account(4).address !== whirlpoolVaults.sol) fail('InvalidAccountData');
  const before = new BorshReader(pool.data, at.sqrtPrice).u128();
  const { next, out, fee } = whirlpoolQuote(before, amount, sellsSol);
  if (out < threshold) failCustom(amountOutBelowMinimum);
  if (sellsSol) {
    pay(context, 3, 4, amount, true, trader.address);
    pay(context, 6, 5, out, false, vaultAuthority);
  } else {
    pay(context, 5, 6, amount, false, trader.address);
    pay(context, 4, 3, out, true, vaultAuthority);
  }
  const data = pool.write();
  const view = Buffer.from(data.buffer, data.byteOffset, data.length);
  view.set(new BorshWriter().u128(next).i32(tickOf(next)).done(), at.sqrtPrice);
  const protocolFee = (fee * protocolShareBps) / 10_000n;
  context.logData(
    new BorshWriter()
      .bytes(discriminator.traded)
      .address(pool.address)
      .bool(sellsSol)
      .u128(before)
      .u128(next)
      .u64(amount)
      .u64(out)
      .u64(0n)
      .u64(0n)
      .u64(fee - protocolFee)
      .u64(protocolFee)
      .done(),
  );
}

export const whirlpool: Program = {
  builtin: false,
  execute(context) {
    if (!discriminator.swap.every((byte, i) => context.data[i] === byte)) fail('InvalidInstructionData');
    context.log('Instruction: Swap');
    context.consume(swapUnits);
    swap(context);
  },
};
