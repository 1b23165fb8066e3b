import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { decodePool } from '../../venues/src/raydium/clmm/pool.ts';
import { programId as clmmProgram, swapInstructions as clmmSwaps } from '../../venues/src/raydium/clmm/program.ts';
import type { PoolPosition, TradeForm, VenueSigning } from '@sluice/venues/seam/signing.ts';

/** Drafts for venues on which sluice does not trade. They show that a form can describe these instructions. */

/** The program derives the pool from its fee tier and its coins, in the order of their bytes. */
function derivedPool(programId: string, at: number, config: number): PoolPosition {
  return {
    at,
    addressOf: ({ base, quote }, accounts) => {
      const coins = [base, quote].map(addressBytes).toSorted((one, other) => Buffer.compare(one, other));
      return findProgramAddress([Buffer.from('pool'), addressBytes(accounts[config]!), ...coins], programId).address;
    },
  };
}

const noCost = { createdBytes: [], growth: null };
const limits = { maxInAt: 8, minOutAt: 16, mode: null };
const bothWays = { money: null, user: 0, zeros: [] } as const;

// Both token programs are among the accounts, so none shows which coin belongs to which.
const clmm: readonly TradeForm[] = clmmSwaps.map((discriminator, version) => ({
  ...bothWays,
  discriminator,
  accountCount: version === 0 ? [10, 20] : [14, 24],
  dataBytes: [41, 41],
  input: { account: 3, program: version === 0 ? 8 : null },
  output: { account: 4, program: version === 0 ? 8 : null },
  mints: version === 0 ? null : { input: 11, output: 12 },
  pool: version === 0 ? { at: 2, coinsIn: clmmCoins } : derivedPool(clmmProgram, 2, 1),
  limits: { ...limits, mode: { at: 40, exactIn: [1], exactOut: 0 } },
  // The price at which the swap stops.
  zeros: [[24, 40]],
}));

function clmmCoins(data: Uint8Array): readonly [string, string] | null {
  const pool = decodePool(data);
  return pool === null ? null : [pool.mint0, pool.mint1];
}

/** Both coins in the order of the pool; the tail of a swap on several bins is left out. */
const dlmm: readonly TradeForm[] = ['f8c69e91e17587c8', '414b3f4ceb5b5b88'].map((discriminator) => ({
  ...bothWays,
  user: 10,
  discriminator: Uint8Array.from(Buffer.from(discriminator, 'hex')),
  accountCount: [15, 22],
  dataBytes: discriminator.startsWith('f8') ? [24, 24] : [28, 64],
  input: { account: 4, program: null },
  output: { account: 5, program: null },
  mints: { either: [6, 7] },
  // The address also depends on the width of the bins, which no account shows.
  pool: { at: 0, coinsIn: dlmmCoins },
  limits,
}));

export const dlmmPool = {
  length: 904,
  discriminator: Uint8Array.from(Buffer.from('210b3162b565b10d', 'hex')),
  mintsAt: [88, 120],
} as const;

function dlmmCoins(data: Uint8Array): readonly [string, string] | null {
  const isPair = data.length >= dlmmPool.length && hasPrefix(data, dlmmPool.discriminator);
  return isPair ? [encodeBase58(data, dlmmPool.mintsAt[0], 32), encodeBase58(data, dlmmPool.mintsAt[1], 32)] : null;
}

export const dlmmProgram = 'LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo';

export const draftForms: ReadonlyMap<string, VenueSigning> = new Map([
  [clmmProgram, { forms: clmm, ...noCost }],
  [dlmmProgram, { forms: dlmm, ...noCost }],
]);
