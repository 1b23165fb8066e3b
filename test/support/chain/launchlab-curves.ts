import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { readTransaction, type TransactionInstruction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import * as layout from '../../../venues/src/raydium/launchlab/layout.ts';
import * as program from '../../../venues/src/raydium/launchlab/program.ts';
import { fixtureJson } from '../../golden/fixtures.ts';

/** Curves of LaunchLab as recorded trades show them: the numbers are those of the events, and the addresses those of the instructions. */
const globalConfig = '6s1xP3hpbAfFoNtUNF8mfHsjr2Bd97JxFJRWLbL6aHuX';
const raydium = '4Bu96XjU84XjPDSpveTVf6LYGCkfW5FK7SNkREWcEfV4';
const letsBonk = 'FfYek5vEz23cMkWsdJwG2oa6EphsvXSHrGpdALN4g6W1';
export interface Curve {
  readonly mint: string;
  readonly platform: string;
  readonly creator: string;
  /** total_base_sell, virtual_base, virtual_quote, real_base, real_quote, as the event shows them. */
  readonly numbers: readonly bigint[];
  readonly fees: readonly [protocol: bigint, platform: bigint, creator: bigint];
}

function account(length: number, discriminator: Uint8Array, u64s: readonly (readonly [number, bigint])[]): Buffer {
  const data = Buffer.alloc(length);
  data.set(discriminator);
  for (const [offset, value] of u64s) data.writeBigUInt64LE(value, offset);
  return data;
}

/** Where a curve has its coins. */
function vaultOf(pool: string, mint: string): string {
  return findProgramAddress([Buffer.from('pool_vault'), addressBytes(pool), addressBytes(mint)], program.programId).address;
}

function poolBytes({ mint, platform, creator, numbers }: Curve): Buffer {
  const { pool } = layout;
  const [total, virtualBase, virtualQuote, realBase, realQuote] = numbers as [bigint, bigint, bigint, bigint, bigint];
  const data = account(429, program.accountDiscriminators.pool, [
    [pool.supply, 10n ** 15n],
    [pool.totalBaseSell, total],
    [pool.virtualBase, virtualBase],
    [pool.virtualQuote, virtualQuote],
    [pool.realBase, realBase],
    [pool.realQuote, realQuote],
  ]);
  const address = program.poolOf(mint, wrappedSolMint);
  const keys = [globalConfig, platform, mint, wrappedSolMint, vaultOf(address, mint), vaultOf(address, wrappedSolMint), creator];
  const offsets = [pool.globalConfig, pool.platformConfig, pool.baseMint, pool.quoteMint, pool.baseVault, pool.quoteVault, pool.creator];
  for (const [index, key] of keys.entries()) data.set(addressBytes(key), offsets[index]);
  return data;
}

function globalBytes(protocol: bigint): Buffer {
  return account(371, program.accountDiscriminators.globalConfig, [[layout.globalConfig.tradeFeeRate, protocol]]);
}

function platformBytes(platform: bigint, creator: bigint): Buffer {
  const { feeRate, creatorFeeRate } = layout.platformConfig;
  return account(940, program.accountDiscriminators.platformConfig, [
    [feeRate, platform],
    [creatorFeeRate, creator],
  ]);
}

/** The accounts of a curve: its own, its settings and its platform. */
export function curveAccounts(curve: Curve): ReadonlyMap<string, Buffer> {
  const [protocol, platform, creator] = curve.fees;
  return new Map([
    [program.poolOf(curve.mint, wrappedSolMint), poolBytes(curve)],
    [globalConfig, globalBytes(protocol)],
    [curve.platform, platformBytes(platform, creator)],
  ]);
}

export const launch: Curve = {
  mint: 'AqFe2tk1BRx6czUuRPGUZ8mtvcBGDZYsG6oPvELwzray',
  platform: raydium,
  creator: 'FeGbW3kbwQnV42hxUAFfbupVzDU5sKhcHswvtRbrYpn5',
  numbers: [800_000_000_000_000n, 1_066_666_666_666_666n, 10_000_000_000n, 0n, 0n],
  fees: [2_500n, 7_500n, 0n],
};
export const bonk: Curve = {
  mint: '4HhNdqkmMsMV9Z3d85sPYDw1MR3DpXRrxknRTLYXN22h',
  platform: letsBonk,
  creator: wrappedSolMint,
  numbers: [793_100_000_000_000n, 1_073_025_605_596_382n, 30_000_852_951n, 145_510_965_933_100n, 4_706_613_681n],
  fees: [2_500n, 10_000n, 0n],
};
export const routed: Curve = {
  mint: '9hagXq16LZMT3DmCf16S7npUaxESZpsHdKkWUQab3ray',
  platform: raydium,
  creator: wrappedSolMint,
  numbers: [55_000_000_000_000n, 75_625_000_000_000n, 11_250_000_000n, 8_291_865_945_085n, 1_385_402_673n],
  fees: [2_500n, 7_500n, 500n],
};

/** The swap of a recorded transaction. */
export function swapIn(file: string): TransactionInstruction {
  const view = readTransaction((fixtureJson(`venues/launchlab/${file}.json`) as { readonly result: object }).result);
  if (view.kind === 'malformed') throw new Error(view.reason);
  const all = [...view.instructions, ...[...(view.inner?.values() ?? [])].flat()];
  return all.find(
    ({ programId, accounts }) => programId === program.programId && [15, 18].includes(accounts.length) && accounts[4] !== program.authority,
  )!;
}
