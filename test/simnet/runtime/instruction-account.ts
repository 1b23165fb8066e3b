import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { fail } from './instruction-error.ts';
import type { TransactionAccount } from './transaction-accounts.ts';

const maxGrowthBytes = 10_240;

/** Lamports added to accounts minus those removed, over a whole transaction. */
export interface MovedLamports {
  net: bigint;
}

/** Results of `read` for stored bytes, which nobody changes: a result is valid as long as the account does not change. */
const readings = new WeakMap<Uint8Array, { readonly read: (data: Uint8Array) => unknown; readonly value: unknown }>();

/**
 * An account as one instruction sees it. Every change is checked against the owner and the privileges that this instruction has, as the
 * runtime does when a program returns.
 */
export class InstructionAccount {
  readonly signer: boolean;
  readonly writable: boolean;
  readonly #account: TransactionAccount;
  readonly #programId: string;
  readonly #moved: MovedLamports;

  constructor(account: TransactionAccount, programId: string, signer: boolean, writable: boolean, moved: MovedLamports) {
    this.#account = account;
    this.#programId = programId;
    this.#moved = moved;
    this.signer = signer;
    this.writable = writable;
  }

  get address(): string {
    return this.#account.address;
  }

  get lamports(): bigint {
    return this.#account.lamports;
  }

  get owner(): string {
    return this.#account.owner;
  }

  /** Read-only; `write()` returns the bytes to change. */
  get data(): Uint8Array {
    return this.#account.data;
  }

  /** The data, parsed by `read`. Data that no instruction has changed is parsed once. */
  read<T>(read: (data: Uint8Array) => T): T {
    const { data, copied } = this.#account;
    if (copied) return read(data);
    const known = readings.get(data);
    if (known?.read === read) return known.value as T;
    const value = read(data);
    readings.set(data, { read, value });
    return value;
  }

  get executable(): boolean {
    return this.#account.executable;
  }

  get exists(): boolean {
    return this.#account.lamports > 0n;
  }

  credit(lamports: bigint): void {
    if (lamports === 0n) return;
    if (!this.writable) fail('ReadonlyLamportChange');
    this.#account.lamports += lamports;
    this.#moved.net += lamports;
  }

  debit(lamports: bigint): void {
    if (lamports === 0n) return;
    if (this.#account.owner !== this.#programId) fail('ExternalAccountLamportSpend');
    if (!this.writable) fail('ReadonlyLamportChange');
    if (this.#account.lamports < lamports) fail('ArithmeticOverflow');
    this.#account.lamports -= lamports;
    this.#moved.net -= lamports;
  }

  /** The data, to be changed in place. */
  write(): Uint8Array {
    this.#checkWrite();
    if (!this.#account.copied) {
      this.#account.data = this.#account.data.slice();
      this.#account.copied = true;
    }
    return this.#account.data;
  }

  /** Changes the length; new bytes are zero. */
  resize(length: number): Uint8Array {
    this.#checkWrite();
    const { data } = this.#account;
    if (length > data.length + maxGrowthBytes) fail('InvalidRealloc');
    const next = new Uint8Array(length);
    next.set(data.subarray(0, length));
    this.#account.data = next;
    this.#account.copied = true;
    return next;
  }

  /** Gives an empty account its data. */
  allocate(length: number): void {
    this.#checkWrite();
    this.#account.data = new Uint8Array(length);
    this.#account.copied = true;
  }

  /** Empties the account and returns it to the system program; its lamports must have been removed before. */
  release(): void {
    this.#checkWrite();
    this.#account.data = new Uint8Array(0);
    this.#account.copied = true;
    this.#account.owner = systemProgram;
  }

  /** Assigns the account to another program. */
  assign(owner: string): void {
    if (this.#account.owner !== this.#programId || this.#account.data.some((byte) => byte !== 0)) fail('ModifiedProgramId');
    if (!this.writable) fail('ReadonlyDataModified');
    this.#account.owner = owner;
    if (owner === systemProgram) this.#account.copied = true;
  }

  #checkWrite(): void {
    if (this.#account.owner !== this.#programId) fail('ExternalAccountDataModified');
    if (!this.writable) fail('ReadonlyDataModified');
  }
}
