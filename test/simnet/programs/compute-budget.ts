import { computeBudgetProgram } from '@sluice/shared/solana/well-known.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Program } from '../runtime/program.ts';
import { BorshWriter } from '../layout/borsh.ts';

const computeBudgetUnits = 150;

export function unitLimitInstruction(units: number): Instruction {
  return { programId: computeBudgetProgram, accounts: [], data: new BorshWriter().u8(2).u32(units).done() };
}

export function unitPriceInstruction(microLamports: bigint): Instruction {
  return { programId: computeBudgetProgram, accounts: [], data: new BorshWriter().u8(3).u64(microLamports).done() };
}

/** The instructions are read before execution (`runtime/compute-budget.ts`). Executing them does nothing. */
export const computeBudget: Program = {
  builtin: true,
  execute(context) {
    context.consume(computeBudgetUnits);
  },
};
