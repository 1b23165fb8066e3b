import { programId as pumpAmmProgram } from '@sluice/venues/pump/amm/program.ts';
import { feeProgram, programId as pumpProgram } from '@sluice/venues/pump/curve/program.ts';
import {
  associatedTokenProgram,
  computeBudgetProgram,
  metadataProgram,
  systemProgram,
  token2022Program,
  tokenProgram,
} from '@sluice/shared/solana/well-known.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import type { Program, ProgramTable } from '../runtime/program.ts';
import { associatedToken } from './token/associated-token.ts';
import { computeBudget } from './compute-budget.ts';
import { memo, memoProgram } from './memo.ts';
import { metaplex } from './token/metaplex.ts';
import { pumpAmm } from './pump-amm/program.ts';
import { pumpFees } from './pump-fees.ts';
import { pump } from './pump/program.ts';
import { router, routerProgram } from './router.ts';
import { system } from './system.ts';
import { token } from './token/token.ts';
import { whirlpool } from './whirlpool.ts';

/** Every program of the simulated chain. */
export function programTable(): ProgramTable {
  return new Map<string, Program>([
    [systemProgram, system],
    [computeBudgetProgram, computeBudget],
    [associatedTokenProgram, associatedToken],
    [tokenProgram, token],
    [token2022Program, token],
    [memoProgram, memo],
    [metadataProgram, metaplex],
    [pumpProgram, pump],
    [feeProgram, pumpFees],
    [pumpAmmProgram, pumpAmm],
    [whirlpoolProgram, whirlpool],
    [routerProgram, router],
  ]);
}
