import { Clock, FailedTransactionMetadata, LiteSVM, Rent, type TransactionMetadata } from 'litesvm';
import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { lamportsPerByte } from '../ledger/rent.ts';
import { signTransaction } from '../runtime/wallets.ts';

interface InnerMachine {
  sendVersionedTransaction(wire: Uint8Array): TransactionMetadata | FailedTransactionMetadata;
  airdrop(address: Uint8Array, lamports: bigint): unknown;
  getAccount(address: Uint8Array): {
    lamports(): bigint;
    owner(): Uint8Array;
    data(): Uint8Array;
  } | null;
}

type Stored = Parameters<LiteSVM['setAccount']>[0];
type Address = Stored['address'];

export interface MachineResult {
  readonly failed: boolean;
  /** The error as the machine prints it. */
  readonly error: string;
  readonly logs: readonly string[];
  readonly units: number;
  /** The transaction as a node answers it, without balances. */
  readonly answer: unknown;
}

export interface MachineAccount {
  readonly lamports: bigint;
  readonly owner: string;
  readonly data: Buffer;
}

/** The real machine with the real token programs, at the simulated chain's rent. */
export class RealMachine {
  readonly #svm: LiteSVM;

  constructor(funded: readonly Keypair[], lamports: bigint) {
    this.#svm = new LiteSVM().withNativeMints();
    this.#svm.setRent(new Rent(lamportsPerByte, 1, 50));
    for (const { publicKeyBytes } of funded) this.#inner.airdrop(publicKeyBytes, lamports);
  }

  addProgram(id: string, binary: Uint8Array): void {
    this.#svm.addProgram(id as Address, binary);
  }

  setTime(unixTimeS: bigint): void {
    this.#svm.setClock(new Clock(1_000n, unixTimeS, 1n, 2n, unixTimeS));
  }

  put(address: string, { lamports, owner, data }: Omit<MachineAccount, 'data'> & { readonly data: Uint8Array }): void {
    const space = BigInt(data.length);
    this.#svm.setAccount({ address, lamports, data, programAddress: owner, executable: false, space } as unknown as Stored);
  }

  run(instructions: readonly Instruction[], signers: readonly [Keypair, ...Keypair[]]): MachineResult {
    this.#svm.expireBlockhash();
    const wire = signTransaction({ version: 0, recentBlockhash: this.#svm.latestBlockhash(), instructions, signers });
    const result = this.#inner.sendVersionedTransaction(wire);
    const failed = result instanceof FailedTransactionMetadata;
    const meta = failed ? result.meta() : result;
    const logs = meta.logs();
    const innerInstructions = meta.innerInstructions().map((list, index) => ({
      index,
      instructions: list.map((one) => {
        const instruction = one.instruction();
        const [accounts, data] = [[...instruction.accounts()], encodeBase58(instruction.data())];
        return { programIdIndex: instruction.programIdIndex(), accounts, data, stackHeight: one.stackHeight() };
      }),
    }));
    const answer = {
      version: 0,
      transaction: [Buffer.from(wire).toString('base64'), 'base64'],
      meta: { err: failed ? 'failed' : null, logMessages: logs, innerInstructions, preTokenBalances: [], postTokenBalances: [] },
    };
    return { failed, error: failed ? result.toString() : '', logs, units: Number(meta.computeUnitsConsumed()), answer };
  }

  account(address: string): MachineAccount | null {
    const account = this.#inner.getAccount(decodeBase58(address) ?? new Uint8Array(32));
    if (account === null || account.lamports() === 0n) return null;
    return { lamports: account.lamports(), owner: encodeBase58(account.owner()), data: Buffer.from(account.data()) };
  }

  get #inner(): InnerMachine {
    return (this.#svm as unknown as { inner: InnerMachine }).inner;
  }
}
