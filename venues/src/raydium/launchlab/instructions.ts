import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { readonlyAccount, signerAccount, withU64s, writableAccount } from '@sluice/shared/solana/transaction/instructions.ts';
import { systemProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { madeAccount, type BuiltTrade, type TradeOrder } from '../../seam/trading.ts';
import type { LaunchLabCurve } from './decode.ts';
import * as program from './program.ts';

/** Compute units: the most that was recorded, and room for two token accounts that the instruction may have to create (README.md). */
const computeUnits = 110_000;

/** Nobody gets a share of the fees. */
const noShare = 0n;

/** A purchase that the curve cannot fill whole asks for exactly what is left. */
function dataOf({ trade, quote, minOut, maxIn }: TradeOrder): Uint8Array {
  const { buyExactIn, buyExactOut, sellExactIn } = program.tradeDiscriminators;
  if (trade.exact === 'baseIn') return withU64s(sellExactIn, trade.amount, minOut, noShare);
  if (trade.exact === 'quoteIn' && !quote.cut) return withU64s(buyExactIn, trade.amount, minOut, noShare);
  return withU64s(buyExactOut, quote.baseAmount, maxIn, noShare);
}

/** Coins move between token accounts, wrapped SOL too. Throws TypeError if an address of the order is invalid. */
export function buildTrade(address: string, curve: LaunchLabCurve, order: TradeOrder): BuiltTrade {
  const { user, baseTokenProgram, quoteTokenProgram, quoteAccountBytes, wrappedSol } = order;
  const { baseMint, quoteMint, baseVault, quoteVault, globalConfig, platformConfig, creator } = curve;
  const baseAccount = tokenAddress(user, baseMint, baseTokenProgram);
  const quoteAccount = quoteMint === wrappedSolMint ? wrappedSol() : tokenAddress(user, quoteMint, quoteTokenProgram);
  const feeVaults = [program.feeVaultOf(platformConfig, quoteMint), program.feeVaultOf(creator, quoteMint)];
  return {
    instruction: {
      programId: program.programId,
      accounts: [
        signerAccount(user),
        readonlyAccount(program.authority),
        readonlyAccount(globalConfig),
        readonlyAccount(platformConfig),
        writableAccount(address),
        writableAccount(baseAccount),
        writableAccount(quoteAccount),
        writableAccount(baseVault),
        writableAccount(quoteVault),
        readonlyAccount(baseMint),
        readonlyAccount(quoteMint),
        readonlyAccount(baseTokenProgram),
        readonlyAccount(quoteTokenProgram),
        readonlyAccount(program.eventAuthority),
        readonlyAccount(program.programId),
        readonlyAccount(systemProgram),
        ...feeVaults.map(writableAccount),
      ],
      data: dataOf(order),
    },
    baseMint,
    quoteMint,
    baseAccount,
    quoteAccount,
    programAccounts: feeVaults.map((vault) => madeAccount(vault, quoteAccountBytes)),
    computeUnits,
  };
}
