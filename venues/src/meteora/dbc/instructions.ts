import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { readonlyAccount, signerAccount, withU64s, writableAccount } from '@sluice/shared/solana/transaction/instructions.ts';
import { instructionsSysvar, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { BuiltTrade, TradeOrder } from '../../seam/trading.ts';
import type { DbcPool } from './decode.ts';
import { limitsPurchases } from './fees.ts';
import * as program from './program.ts';

/** The fields of the pool on which its instructions depend. */
export interface TradedPool {
  readonly address: string;
  readonly pool: DbcPool;
  readonly config: Uint8Array;
  readonly quoteMint: string;
}

/** Compute units of the instruction: the maximum measured on the real program (README.md), rounded up. */
const units = 120_000;

/** A purchase for an exact amount takes what the curve has left, if that is less. */
function dataOf({ trade, quote, minOut, maxIn }: TradeOrder): Uint8Array {
  const { exactIn, partialFill, exactOut } = program.swapModes;
  const [amounts, mode] =
    trade.exact === 'baseOut'
      ? [withU64s(program.swap2, quote.baseAmount, maxIn), exactOut]
      : [withU64s(program.swap2, trade.amount, minOut), trade.exact === 'quoteIn' ? partialFill : exactIn];
  return Uint8Array.from([...amounts, mode]);
}

/** Throws TypeError if an address of the order is invalid. */
export function buildDbcTrade({ address, pool, config, quoteMint }: TradedPool, order: TradeOrder): BuiltTrade {
  const { user, baseTokenProgram, quoteTokenProgram, wrappedSol } = order;
  const base = tokenAddress(user, pool.baseMint, baseTokenProgram);
  const quote = quoteMint === wrappedSolMint ? wrappedSol() : tokenAddress(user, quoteMint, quoteTokenProgram);
  const [input, output] = order.trade.exact === 'baseIn' ? [base, quote] : [quote, base];
  const accounts = [
    readonlyAccount(program.poolAuthority),
    readonlyAccount(pool.config),
    writableAccount(address),
    writableAccount(input),
    writableAccount(output),
    writableAccount(pool.baseVault),
    writableAccount(pool.quoteVault),
    readonlyAccount(pool.baseMint),
    readonlyAccount(quoteMint),
    signerAccount(user),
    readonlyAccount(baseTokenProgram),
    readonlyAccount(quoteTokenProgram),
    // No referral.
    readonlyAccount(program.programId),
    readonlyAccount(program.eventAuthority),
    readonlyAccount(program.programId),
    ...(limitsPurchases(config) ? [readonlyAccount(instructionsSysvar)] : []),
  ];
  return {
    instruction: { programId: program.programId, accounts, data: dataOf(order) },
    baseMint: pool.baseMint,
    quoteMint,
    baseAccount: base,
    quoteAccount: quote,
    programAccounts: [],
    computeUnits: units,
  };
}
