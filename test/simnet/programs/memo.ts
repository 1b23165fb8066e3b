import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { fail } from '../runtime/instruction-error.ts';
import type { Program } from '../runtime/program.ts';

export const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

const decoder = new TextDecoder('utf-8', { fatal: true });
const memoUnits = 3_000;

/** Logs its data, which must be UTF-8. If accounts are given, they must have signed. */
export const memo: Program = {
  builtin: false,
  execute(context) {
    context.consume(memoUnits);
    for (const account of context.accounts) {
      if (!account.signer) fail('MissingRequiredSignature');
      context.log(`Signed by ${account.address}`);
    }
    let text: string;
    try {
      text = decoder.decode(context.data);
    } catch {
      context.log('Invalid UTF-8, from byte 0');
      return fail('InvalidInstructionData');
    }
    context.log(`Memo (len ${context.data.length}): ${JSON.stringify(text)}`);
  },
};

export function memoInstruction(text: string): Instruction {
  return { programId: memoProgram, accounts: [], data: Buffer.from(text) };
}
