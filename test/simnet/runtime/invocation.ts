import type { AccountMeta, Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { InnerInstruction } from '../chain.ts';
import { derive } from '../layout/derive.ts';
import { InstructionAccount, type MovedLamports } from './instruction-account.ts';
import { fail, instructionErrorText, ProgramFailure } from './instruction-error.ts';
import { LogCollector } from './log-collector.ts';
import type { ClockReading, InvocationContext, ProgramTable, ReturnData, SignerSeeds } from './program.ts';
import type { TransactionAccount } from './transaction-accounts.ts';

/** Frames of the invocation stack, including the top-level one. */
const maxStackHeight = 5;
const maxReturnDataBytes = 1024;
/** Units of a cross-program invocation, without what the callee uses. */
const invokeUnits = 946;

function base64Of(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.length).toString('base64');
}

interface Frame {
  readonly programId: string;
  readonly accounts: readonly AccountMeta[];
}

/**
 * One invocation of a program, as the program sees it. A class, because creating all these closures would cost more than most invocations.
 */
class ProgramContext implements InvocationContext {
  readonly programId: string;
  readonly data: Uint8Array;
  readonly stackHeight: number;
  readonly accounts: readonly InstructionAccount[];
  readonly #invocation: Invocation;

  constructor(invocation: Invocation, { programId, accounts, data }: Instruction, stackHeight: number) {
    this.#invocation = invocation;
    this.programId = programId;
    this.data = data;
    this.stackHeight = stackHeight;
    this.accounts = accounts.map((meta) => {
      const account = invocation.accounts.get(meta.address);
      if (account === undefined) return fail('MissingAccount');
      return new InstructionAccount(account, programId, meta.signer, meta.writable, invocation.moved);
    });
  }

  get clock(): ClockReading {
    return this.#invocation.clock;
  }

  account(index: number): InstructionAccount {
    return this.accounts[index] ?? fail('NotEnoughAccountKeys');
  }

  find(address: string): InstructionAccount | null {
    return this.accounts.find((account) => account.address === address) ?? null;
  }

  log(text: string): void {
    this.#invocation.logs.add(`Program log: ${text}`);
  }

  plainLog(text: string): void {
    this.#invocation.logs.add(text);
  }

  logData(data: Uint8Array): void {
    this.#invocation.logs.add(`Program data: ${base64Of(data)}`);
  }

  consume(units: number): void {
    this.#invocation.consume(units);
  }

  invoke(instruction: Instruction, signers: readonly SignerSeeds[] = []): void {
    this.#invocation.invoke(instruction, signers);
  }

  setReturnData(data: Uint8Array): void {
    if (data.length > maxReturnDataBytes) fail('InvalidArgument');
    this.#invocation.returnData = { programId: this.programId, data };
  }

  returnData(): ReturnData | null {
    return this.#invocation.returnData;
  }
}

/** Executes the instructions of one transaction on its accounts: logs, compute units, privileges and inner instructions. */
export class Invocation {
  readonly logs = new LogCollector();
  readonly accounts: ReadonlyMap<string, TransactionAccount>;
  readonly clock: ClockReading;
  readonly #programs: ProgramTable;
  readonly #stack: Frame[] = [];
  readonly #unitLimit: number;
  #units: number;
  #inner: InnerInstruction[] = [];
  /** The return data of the last program that set it. */
  returnData: ReturnData | null = null;
  /** Zero if all lamports that were removed from accounts were added to others. */
  readonly moved: MovedLamports = { net: 0n };

  constructor(programs: ProgramTable, accounts: ReadonlyMap<string, TransactionAccount>, clock: ClockReading, unitLimit: number) {
    this.#programs = programs;
    this.accounts = accounts;
    this.clock = clock;
    this.#unitLimit = unitLimit;
    this.#units = unitLimit;
  }

  get unitsConsumed(): number {
    return this.#unitLimit - this.#units;
  }

  /** Runs a top-level instruction and returns its inner instructions. A program's refusal is thrown. */
  runTopLevel(instruction: Instruction): void {
    this.#run(instruction);
  }

  /** Inner instructions since the last call. */
  takeInner(): readonly InnerInstruction[] {
    const inner = this.#inner;
    this.#inner = [];
    return inner;
  }

  #run(instruction: Instruction): void {
    const { programId } = instruction;
    const program = this.#programs.get(programId);
    if (program === undefined) fail('UnsupportedProgramId');
    this.#stack.push({ programId, accounts: instruction.accounts });
    const height = this.#stack.length;
    this.logs.add(`Program ${programId} invoke [${height}]`);
    const unitsBefore = this.#units;
    this.returnData = null;
    try {
      program.execute(new ProgramContext(this, instruction, height));
      if (this.moved.net !== 0n) fail('UnbalancedInstruction');
    } catch (error) {
      if (!(error instanceof ProgramFailure)) throw error;
      if (!program.builtin) this.#logUnits(programId, unitsBefore);
      this.logs.add(`Program ${programId} failed: ${instructionErrorText(error.error)}`);
      throw error;
    }
    if (!program.builtin) this.#logUnits(programId, unitsBefore);
    this.#logReturn(programId);
    this.logs.add(`Program ${programId} success`);
    this.#stack.pop();
  }

  #logReturn(programId: string): void {
    const returned = this.returnData;
    if (returned?.programId !== programId) return;
    this.logs.add(`Program return: ${programId} ${base64Of(returned.data)}`);
  }

  #logUnits(programId: string, before: number): void {
    this.logs.add(`Program ${programId} consumed ${before - this.#units} of ${before} compute units`);
  }

  consume(units: number): void {
    if (units > this.#units) {
      this.#units = 0;
      fail('ComputationalBudgetExceeded');
    }
    this.#units -= units;
  }

  invoke(instruction: Instruction, signers: readonly SignerSeeds[]): void {
    const caller = this.#stack[this.#stack.length - 1];
    if (caller === undefined) throw new Error('no caller');
    if (this.#stack.length >= maxStackHeight) fail('CallDepth');
    this.consume(invokeUnits);
    this.#checkReentrancy(instruction.programId);
    const signerAddresses = signers.map((seeds) => derive(caller.programId, ...seeds).address);
    for (const meta of instruction.accounts) this.#checkPrivileges(caller, meta, signerAddresses);
    if (!this.accounts.has(instruction.programId)) {
      this.logs.add(`Program log: Unknown program ${instruction.programId}`);
      fail('MissingAccount');
    }
    this.#inner.push({
      programId: instruction.programId,
      accounts: instruction.accounts.map((meta) => meta.address),
      data: instruction.data,
      stackHeight: this.#stack.length + 1,
    });
    this.#run(instruction);
  }

  /** A program may call itself directly, but never through another program. */
  #checkReentrancy(programId: string): void {
    const inStack = this.#stack.some((frame) => frame.programId === programId);
    if (inStack && this.#stack[this.#stack.length - 1]?.programId !== programId) fail('ReentrancyNotAllowed');
  }

  #checkPrivileges(caller: Frame, meta: AccountMeta, derivedSigners: readonly string[]): void {
    let known = false;
    let signer = derivedSigners.includes(meta.address);
    let writable = false;
    for (const held of caller.accounts) {
      if (held.address !== meta.address) continue;
      known = true;
      signer ||= held.signer;
      writable ||= held.writable;
    }
    if (!known) {
      this.logs.add(`Instruction references an unknown account ${meta.address}`);
      fail('MissingAccount');
    }
    if (meta.writable && !writable) {
      this.logs.add(`${meta.address}'s writable privilege escalated`);
      fail('PrivilegeEscalation');
    }
    if (meta.signer && !signer) {
      this.logs.add(`${meta.address}'s signer privilege escalated`);
      fail('PrivilegeEscalation');
    }
  }
}
