import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenProgram, usdcDecimals, usdcMint } from '@sluice/shared/solana/well-known.ts';
import { deriveTokenAccount } from '../layout/derive.ts';
import { transferInstruction } from './system.ts';
import { associatedTokenInstruction } from './token/associated-token.ts';
import { transferCheckedInstruction } from './token/token-instructions.ts';

/** Gives lamports, or raw USDC. An account for USDC is opened first, if there is none. */
export function airdropInstructions(from: string, to: string, amount: bigint, coin: 'SOL' | 'USDC'): readonly Instruction[] {
  if (coin === 'SOL') return [transferInstruction(from, to, amount)];
  const accountOf = (owner: string): string => deriveTokenAccount(owner, usdcMint, tokenProgram).address;
  return [
    associatedTokenInstruction(from, to, usdcMint, tokenProgram, true),
    transferCheckedInstruction({
      programId: tokenProgram,
      source: accountOf(from),
      mint: usdcMint,
      destination: accountOf(to),
      authority: from,
      amount,
      decimals: usdcDecimals,
    }),
  ];
}
