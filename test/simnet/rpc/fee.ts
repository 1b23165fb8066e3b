import { computeBudgetProgram } from '@sluice/shared/solana/well-known.ts';
import type { DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';

const lamportsPerSignature = 5_000n;
/** Compute units of an instruction if the transaction sets no limit. */
const defaultUnitsPerInstruction = 200_000n;
const maxUnits = 1_400_000n;

/** Fee of a transaction in lamports: for each signature, and the priority fee rounded up. */
export function feeOf(transaction: DecodedTransaction): bigint {
  const base = lamportsPerSignature * BigInt(transaction.header.requiredSignatures);
  if (transaction.version === 1) return base + (transaction.config.priorityFeeLamports ?? 0n);
  let limit: bigint | null = null;
  let price = 0n;
  let others = 0n;
  for (const { programIdIndex, data } of transaction.instructions) {
    if (transaction.accountKeys[programIdIndex] !== computeBudgetProgram) {
      others++;
      continue;
    }
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    if (data[0] === 2 && data.length >= 5) limit = BigInt(view.getUint32(1, true));
    if (data[0] === 3 && data.length >= 9) price = view.getBigUint64(1, true);
  }
  const asked = limit ?? others * defaultUnitsPerInstruction;
  const units = asked > maxUnits ? maxUnits : asked;
  return base + (units * price + 999_999n) / 1_000_000n;
}
