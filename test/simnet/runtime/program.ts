import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { InstructionAccount } from './instruction-account.ts';

export interface ClockReading {
  readonly slot: number;
  readonly unixTimestamp: number;
}

export type SignerSeeds = readonly (string | Uint8Array)[];

export interface ReturnData {
  readonly programId: string;
  readonly data: Uint8Array;
}

/** One invocation, as the program sees it. A refusal is a thrown `ProgramFailure`. */
export interface InvocationContext {
  readonly programId: string;
  readonly data: Uint8Array;
  readonly stackHeight: number;
  readonly accounts: readonly InstructionAccount[];
  readonly clock: ClockReading;
  /** Account by position; fails with NotEnoughAccountKeys. */
  account(index: number): InstructionAccount;
  /** An account of this instruction, by address. */
  find(address: string): InstructionAccount | null;
  /** `Program log: <text>`. */
  log(text: string): void;
  /** A line that the node itself logs, without a prefix. */
  plainLog(text: string): void;
  /** `Program data: <base64>`. */
  logData(data: Uint8Array): void;
  consume(units: number): void;
  /** Cross-program invocation. Each of `signers` is the seeds of an address derived from this program. */
  invoke(instruction: Instruction, signers?: readonly SignerSeeds[]): void;
  setReturnData(data: Uint8Array): void;
  /** The return data of the last program that set it. */
  returnData(): ReturnData | null;
}

export interface Program {
  /** Built into the node: logs no `consumed` line. */
  readonly builtin: boolean;
  /** The bytes that loading the program adds to the loaded account data of a transaction. */
  readonly loadedBytes?: number;
  execute(context: InvocationContext): void;
}

export type ProgramTable = ReadonlyMap<string, Program>;
