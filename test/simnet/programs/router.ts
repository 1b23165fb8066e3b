import { ownBytes } from '@sluice/shared/codec/bytes.ts';
import { createHash } from 'node:crypto';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { fail } from '../runtime/instruction-error.ts';
import type { Program } from '../runtime/program.ts';

/** A program that exists only in the simulation: it forwards an instruction, as trading routers do. */
export const routerProgram = generateKeypair(createHash('sha256').update('simnet router program').digest()).publicKey;

const discriminator = createHash('sha256').update('global:route').digest().subarray(0, 8);
const routerUnits = 8_000;

/** The same instruction through the router: its program is the first of the accounts. */
export function routed(instruction: Instruction): Instruction {
  return {
    programId: routerProgram,
    accounts: [{ address: instruction.programId, signer: false, writable: false }, ...instruction.accounts],
    data: ownBytes(Buffer.concat([discriminator, instruction.data])),
  };
}

export const router: Program = {
  builtin: false,
  execute(context) {
    if (!discriminator.every((byte, i) => context.data[i] === byte)) fail('InvalidInstructionData');
    context.log('Instruction: Route');
    context.consume(routerUnits);
    const [target, ...accounts] = context.accounts;
    if (target === undefined) return fail('NotEnoughAccountKeys');
    context.invoke({
      programId: target.address,
      accounts: accounts.map(({ address, signer, writable }) => ({ address, signer, writable })),
      data: context.data.subarray(discriminator.length),
    });
  },
};
