import { beforeEach, expect, test } from 'vitest';
import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import { openTemporarySol, temporarySol } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { minimumBalance } from './ledger/rent.ts';
import { wallet } from './runtime/wallets.ts';
import { associatedTokenInstruction } from './programs/token/associated-token.ts';
import { BorshWriter } from './layout/borsh.ts';
import { unitLimitInstruction } from './programs/compute-budget.ts';
import { createAccountInstruction, transferInstruction } from './programs/system.ts';
import {
  authorityType,
  burnInstruction,
  closeAccountInstruction,
  initializeMetadataInstruction,
  initializeMetadataPointerInstruction,
  initializeMint2Instruction,
  mintToInstruction,
  removeMetadataAuthorityInstruction,
  removeMintAuthorityInstruction,
  syncNativeInstruction,
  tokenTag,
  transferCheckedInstruction,
} from './programs/token/token-instructions.ts';
import { metadataExtensionBytes } from './programs/token/token-metadata.ts';
import { mintBytes, pointerMintBytes } from './layout/token-state.ts';
import { deriveTokenAccount } from './layout/derive.ts';
import type { SimChain } from './sim-chain.ts';
import { RealMachine } from './support/real-machine.ts';
import { alice, bob, land, quietChain } from './support/test-chain.ts';

/** The same transactions on the simulated chain and on the real machine with the real programs. Results, logs and bytes must be equal. */
let chain: SimChain;
let machine: RealMachine;

beforeEach(() => {
  chain = quietChain();
  machine = new RealMachine([alice, bob], 1_000_000_000_000n);
});

/** Log lines without compute units, because the simulation only approximates these. */
function comparable(logs: readonly string[]): string[] {
  return logs.map((line) => line.replace(/consumed \d+ of \d+ compute units/, 'consumed'));
}

function both(instructions: readonly Instruction[], signers: readonly [Keypair, ...Keypair[]], accounts: readonly string[]): string | null {
  const record = land(chain, instructions, signers);
  const real = machine.run(instructions, signers);
  expect(comparable(record.logs)).toEqual(comparable(real.logs));
  expect(record.err === null, `${JSON.stringify(record.err)} / ${real.error}`).toBe(!real.failed);
  for (const address of accounts) {
    const simulated = chain.account(address);
    const found = machine.account(address);
    if (found === null) {
      expect(simulated).toBeNull();
      continue;
    }
    expect(simulated).toMatchObject({ lamports: found.lamports, owner: found.owner });
    expect(Buffer.from(simulated?.data ?? []).toString('hex')).toBe(found.data.toString('hex'));
  }
  if (!real.failed) {
    // The simulation's compute units are close enough to plan with.
    expect(record.unitsConsumed).toBeGreaterThan(real.units * 0.6);
    expect(record.unitsConsumed).toBeLessThan(real.units * 1.6);
  }
  return record.err === null ? null : JSON.stringify(record.err);
}

const mint = wallet('token tests', 'mint');
const programs = [
  ['SPL Token', tokenProgram],
  ['Token-2022', token2022Program],
] as const;

function accountOf(owner: Keypair, program: string): string {
  return deriveTokenAccount(owner.publicKey, mint.publicKey, program).address;
}

function issue(program: string, amount: bigint): void {
  const a = alice.publicKey;
  const setup = [
    createAccountInstruction(a, mint.publicKey, minimumBalance(mintBytes), mintBytes, program),
    initializeMint2Instruction(program, mint.publicKey, 6, a),
    associatedTokenInstruction(a, a, mint.publicKey, program, false),
    associatedTokenInstruction(a, bob.publicKey, mint.publicKey, program, true),
    mintToInstruction(program, mint.publicKey, accountOf(alice, program), a, amount),
  ];
  const error = both(setup, [alice, mint], [mint.publicKey, accountOf(alice, program), accountOf(bob, program)]);
  expect(error).toBeNull();
}

function move(program: string, amount: bigint, authority = alice.publicKey, decimals = 6): Instruction {
  const source = accountOf(alice, program);
  const parts = { programId: program, source, mint: mint.publicKey, destination: accountOf(bob, program), authority };
  return transferCheckedInstruction({ ...parts, amount, decimals });
}

test.each(programs)('%s: mint, accounts, transfer, burn, close', (_, program) => {
  issue(program, 1_000_000n);
  const [from, to] = [accountOf(alice, program), accountOf(bob, program)];
  expect(both([move(program, 400_000n)], [alice], [from, to])).toBeNull();
  const plain: Instruction = {
    programId: program,
    accounts: [
      { address: from, signer: false, writable: true },
      { address: to, signer: false, writable: true },
      { address: alice.publicKey, signer: true, writable: false },
    ],
    data: new BorshWriter().u8(tokenTag.transfer).u64(100_000n).done(),
  };
  expect(both([plain], [alice], [from, to])).toBeNull();
  expect(both([burnInstruction(program, from, mint.publicKey, alice.publicKey, 500_000n)], [alice], [from, mint.publicKey])).toBeNull();
  expect(both([closeAccountInstruction(program, from, bob.publicKey, alice.publicKey)], [alice], [from, bob.publicKey])).toBeNull();
  expect(both([removeMintAuthorityInstruction(program, mint.publicKey, alice.publicKey)], [alice], [mint.publicKey])).toBeNull();
});

test.each(programs)('%s: refusals have the same codes and log lines', (_, program) => {
  issue(program, 1_000n);
  const from = accountOf(alice, program);
  expect(both([move(program, 1_001n)], [alice], [from])).toBe('{"InstructionError":[0,{"Custom":1}]}');
  expect(both([move(program, 1n, bob.publicKey)], [bob], [from])).toBe('{"InstructionError":[0,{"Custom":4}]}');
  expect(both([move(program, 1n, alice.publicKey, 9)], [alice], [from])).toBe('{"InstructionError":[0,{"Custom":18}]}');
  expect(both([closeAccountInstruction(program, from, bob.publicKey, alice.publicKey)], [alice], [from])).toBe(
    '{"InstructionError":[0,{"Custom":11}]}',
  );
  const again = [associatedTokenInstruction(alice.publicKey, alice.publicKey, mint.publicKey, program, false)];
  expect(both(again, [alice], [from])).toBe('{"InstructionError":[0,"IllegalOwner"]}');
  const wrong = [associatedTokenInstruction(alice.publicKey, bob.publicKey, bob.publicKey, program, true)];
  expect(both(wrong, [alice], [])).toBe('{"InstructionError":[0,"IncorrectProgramId"]}');
  const removed = removeMintAuthorityInstruction(program, mint.publicKey, alice.publicKey);
  const mintAgain = mintToInstruction(program, mint.publicKey, from, alice.publicKey, 1n);
  expect(both([removed, mintAgain], [alice], [mint.publicKey])).toBe('{"InstructionError":[1,{"Custom":5}]}');
});

test.each(programs)('%s: approve, spend by the delegate, revoke', (_, program) => {
  issue(program, 1_000n);
  const from = accountOf(alice, program);
  const approve: Instruction = {
    programId: program,
    accounts: [
      { address: from, signer: false, writable: true },
      { address: bob.publicKey, signer: false, writable: false },
      { address: alice.publicKey, signer: true, writable: false },
    ],
    data: new BorshWriter().u8(tokenTag.approve).u64(600n).done(),
  };
  expect(both([approve], [alice], [from])).toBeNull();
  expect(both([move(program, 250n, bob.publicKey)], [bob], [from])).toBeNull();
  expect(both([move(program, 351n, bob.publicKey)], [bob], [from])).toBe('{"InstructionError":[0,{"Custom":1}]}');
  const revoke: Instruction = {
    programId: program,
    accounts: [
      { address: from, signer: false, writable: true },
      { address: alice.publicKey, signer: true, writable: false },
    ],
    data: Uint8Array.of(tokenTag.revoke),
  };
  expect(both([revoke], [alice], [from])).toBeNull();
});

test('SOL is wrapped, synced and unwrapped', () => {
  const account = deriveTokenAccount(alice.publicKey, wrappedSolMint, tokenProgram).address;
  const a = alice.publicKey;
  expect(
    both(
      [
        associatedTokenInstruction(a, a, wrappedSolMint, tokenProgram, true),
        transferInstruction(a, account, 1_500_000_000n),
        syncNativeInstruction(tokenProgram, account),
      ],
      [alice],
      [account],
    ),
  ).toBeNull();
  expect(both([closeAccountInstruction(tokenProgram, account, bob.publicKey, a)], [alice], [account, bob.publicKey])).toBeNull();
});

test('a mint with its metadata, as the curve program creates it', () => {
  const a = alice.publicKey;
  const m = mint.publicKey;
  const text = { name: 'Simulated coin', symbol: 'SIM', uri: 'https://simnet.invalid/coin' };
  const extra = minimumBalance(pointerMintBytes + metadataExtensionBytes(text)) - minimumBalance(pointerMintBytes);
  const error = both(
    [
      createAccountInstruction(a, m, minimumBalance(pointerMintBytes), pointerMintBytes, token2022Program),
      initializeMetadataPointerInstruction(token2022Program, m),
      initializeMint2Instruction(token2022Program, m, 6, a),
      transferInstruction(a, m, extra),
      initializeMetadataInstruction(token2022Program, m, a, text),
      removeMetadataAuthorityInstruction(token2022Program, m, a),
    ],
    [alice, mint],
    [m],
  );
  expect(error).toBeNull();
  expect(both([associatedTokenInstruction(a, a, m, token2022Program, true)], [alice], [accountOf(alice, token2022Program)])).toBeNull();
  const owner: Instruction = {
    programId: token2022Program,
    accounts: [
      { address: accountOf(alice, token2022Program), signer: false, writable: true },
      { address: a, signer: true, writable: false },
    ],
    data: new BorshWriter().u8(tokenTag.setAuthority).u8(authorityType.accountOwner).u8(1).address(bob.publicKey).done(),
  };
  expect(both([owner], [alice], [])).toBe('{"InstructionError":[0,{"Custom":34}]}');
});

test('execution fails if there are too few compute units', () => {
  const a = alice.publicKey;
  const wrap = associatedTokenInstruction(a, a, wrappedSolMint, tokenProgram, true);
  const record = land(chain, [unitLimitInstruction(3_000), wrap], [alice]);
  const real = machine.run([unitLimitInstruction(3_000), wrap], [alice]);
  expect(real.error).toContain('ComputationalBudgetExceeded');
  expect(record.err).toEqual({ InstructionError: [1, 'ComputationalBudgetExceeded'] });
  expect(comparable(record.logs).slice(-2)).toEqual(comparable(real.logs).slice(-2));
});

test('system transfers and accounts have the same codes and log lines', () => {
  const a = alice.publicKey;
  const fresh = wallet('token tests', 'fresh');
  expect(both([transferInstruction(a, fresh.publicKey, 10n ** 15n)], [alice], [fresh.publicKey])).toBe(
    '{"InstructionError":[0,{"Custom":1}]}',
  );
  expect(both([transferInstruction(a, fresh.publicKey, 5_000_000n)], [alice], [fresh.publicKey])).toBeNull();
  const create = createAccountInstruction(a, fresh.publicKey, minimumBalance(10), 10, tokenProgram);
  expect(both([create], [alice, fresh], [fresh.publicKey])).toBe('{"InstructionError":[0,{"Custom":0}]}');
});

test('SOL is wrapped in an account with a seed', () => {
  const a = alice.publicKey;
  const seeded = temporarySol(a, 'seed');
  const [open, initialize] = openTemporarySol(a, seeded, minimumBalance(tokenAccountBytes) + 700n);
  const close = closeAccountInstruction(tokenProgram, seeded.address, a, a);
  expect(both([open, initialize], [alice], [seeded.address])).toBeNull();
  expect(both([open], [alice], [seeded.address])).toBe('{"InstructionError":[0,{"Custom":0}]}');
  expect(both([close], [alice], [seeded.address, a])).toBeNull();
  // An address other than that of the seed, and a base that does not sign.
  const [other] = openTemporarySol(a, { ...seeded, address: temporarySol(a, 'other').address }, minimumBalance(tokenAccountBytes));
  expect(both([other], [alice], [])).toBe('{"InstructionError":[0,{"Custom":5}]}');
  const [unsigned] = openTemporarySol(bob.publicKey, temporarySol(bob.publicKey, 'seed'), minimumBalance(tokenAccountBytes));
  const byAlice = { ...unsigned, accounts: [{ address: a, signer: true, writable: true }, unsigned.accounts[1]!] };
  expect(both([byAlice], [alice], [])).toBe('{"InstructionError":[0,"MissingRequiredSignature"]}');
  // Somebody who knows the seed can prevent the opening.
  expect(both([transferInstruction(bob.publicKey, seeded.address, 700_000n)], [bob], [seeded.address])).toBeNull();
  expect(both([open], [alice], [seeded.address])).toBe('{"InstructionError":[0,{"Custom":0}]}');
});
