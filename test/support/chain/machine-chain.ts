import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Clock, FailedTransactionMetadata, LiteSVM, Rent, type TransactionMetadata } from 'litesvm';
import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { assembleTransaction, type DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount, TransactionErrorJson } from '../../simnet/chain.ts';
import type { Execute } from '../../simnet/chain-options.ts';
import { lamportsPerByte } from '../../simnet/ledger/rent.ts';
import { computeBudgetOf, priorityFee } from '../../simnet/runtime/compute-budget.ts';
import { executeTransaction, refusedTransaction, type Bank, type Outcome } from '../../simnet/runtime/execute.ts';
import { messageInstructions, messageKeys } from '../../simnet/runtime/message.ts';
import { tokenBalances, type AccountReader } from '../../simnet/runtime/token-balances.ts';

/** Real programs on the simulated chain: transactions that call one run in the real virtual machine, with the accounts of the chain. */

const folder = process.env['PROGRAMS_DIR'] ?? '';
const binaryOf = (programId: string): string => join(folder, `${programId}.so`);

/** The programs of this list that `PROGRAMS_DIR` lacks. */
export function missingPrograms(programIds: readonly string[]): readonly string[] {
  return programIds.filter((id) => folder === '' || !existsSync(binaryOf(id)));
}

/** The machine below its typed interface, which accepts only transactions of another library. */
interface InnerMachine {
  simulateVersionedTransaction(wire: Uint8Array): Simulated | FailedTransactionMetadata;
}
interface Simulated {
  meta(): TransactionMetadata;
  postAccounts(): readonly {
    readonly address: Uint8Array;
    account(): { lamports(): bigint; owner(): Uint8Array; data(): Uint8Array };
  }[];
}
interface InstructionFailure {
  readonly index: number;
  err(): unknown;
}
type Stored = Parameters<LiteSVM['setAccount']>[0];

const slotsPerEpoch = 432_000;
const signatureFee = 5_000n;
const none: ChainAccount = { lamports: 0n, owner: systemProgram, data: new Uint8Array(0), executable: false };

/** The error in the form of a node. The machine prints the names of errors without data. */
function errorOf(failed: FailedTransactionMetadata): TransactionErrorJson {
  const error = failed.err() as unknown;
  if (!isInstructionFailure(error)) return /\b[A-Z]\w+\b/.exec(failed.toString().replace(/^.*?err: /s, ''))![0];
  const inner = error.err();
  const named = typeof inner === 'object' && inner !== null && 'code' in inner ? { Custom: inner.code } : 'ProgramFailedToComplete';
  return { InstructionError: [error.index, named] };
}

function isInstructionFailure(error: unknown): error is InstructionFailure {
  return typeof error === 'object' && error !== null && 'index' in error && 'err' in error;
}

class Machine {
  readonly #svm = new LiteSVM().withSigverify(false).withBlockhashCheck(false).withTransactionHistory(0n).withNativeMints();
  readonly #programs: ReadonlySet<string>;

  constructor(programIds: readonly string[]) {
    this.#svm.setRent(new Rent(lamportsPerByte, 1, 50));
    this.#programs = new Set(programIds);
    for (const id of programIds) this.#svm.addProgram(id as Stored['address'], readFileSync(binaryOf(id)));
  }

  execute(bank: Bank, transaction: DecodedTransaction): Outcome {
    const keys = messageKeys(transaction);
    const instructions = messageInstructions(transaction, keys);
    const asked = computeBudgetOf(instructions);
    if (!asked.ok || !instructions.some(({ programId }) => this.#programs.has(programId))) return executeTransaction(bank, transaction);
    const { slot, unixTimestamp } = bank.clock;
    const epoch = BigInt(Math.floor(slot / slotsPerEpoch));
    this.#svm.setClock(new Clock(BigInt(slot), BigInt(unixTimestamp), epoch, epoch + 1n, BigInt(unixTimestamp)));
    const originals = new Map(keys.map(({ address }) => [address, bank.account(address)]));
    for (const [address, account] of originals) if (!this.#isOwn(address, account)) this.#put(address, account ?? none);
    const wire = assembleTransaction(
      transaction.messageBytes,
      transaction.signatures.map((text) => decodeBase58(text) ?? new Uint8Array(64)),
    );
    const result = (this.#svm as unknown as { inner: InnerMachine }).inner.simulateVersionedTransaction(wire);
    const failed = result instanceof FailedTransactionMetadata ? errorOf(result) : null;
    if (typeof failed === 'string') return refusedTransaction(transaction, failed);
    const fee = signatureFee * BigInt(transaction.header.requiredSignatures) + priorityFee(asked.budget);
    const payer = keys[0]!.address;
    const before = originals.get(payer)!;
    const commit = new Map<string, ChainAccount | null>([[payer, { ...before, lamports: before.lamports - fee }]]);
    if (!(result instanceof FailedTransactionMetadata)) {
      const writable = new Set(keys.flatMap((key) => (key.writable ? [key.address] : [])));
      for (const one of result.postAccounts()) {
        const [address, now] = [encodeBase58(one.address), one.account()];
        const stored = { lamports: now.lamports(), owner: encodeBase58(now.owner()), data: now.data(), executable: false };
        if (writable.has(address)) commit.set(address, stored.lamports === 0n ? null : stored);
      }
    }
    return this.#outcome(bank, {
      keys,
      originals,
      commit,
      fee,
      err: failed,
      meta: result.meta(),
      unitPrice: asked.budget.microLamportsPerUnit,
    });
  }

  #isOwn(address: string, account: ChainAccount | null): boolean {
    return this.#programs.has(address) || account?.executable === true || address.startsWith('Sysvar');
  }

  #put(address: string, { lamports, owner, data }: ChainAccount): void {
    const space = BigInt(data.length);
    this.#svm.setAccount({ address, lamports, data, programAddress: owner, executable: false, space } as unknown as Stored);
  }

  #outcome(
    bank: Bank,
    {
      keys,
      originals,
      commit,
      fee,
      err,
      meta,
      unitPrice,
    }: Pick<Outcome, 'keys' | 'commit' | 'fee' | 'unitPrice'> & {
      readonly originals: ReadonlyMap<string, ChainAccount | null>;
      readonly err: TransactionErrorJson | null;
      readonly meta: TransactionMetadata;
    },
  ): Outcome {
    const accountKeys = keys.map(({ address }) => address);
    const read = (address: string): ChainAccount | null => originals.get(address) ?? bank.account(address);
    const after = (address: string): ChainAccount | null => (commit.has(address) ? (commit.get(address) ?? null) : read(address));
    const balances = tokenBalances(accountKeys, read satisfies AccountReader, after);
    const innerInstructions = meta.innerInstructions().flatMap((list, index) => {
      const instructions = list.map((one) => {
        const inner = one.instruction();
        const accounts = [...inner.accounts()].map((at) => accountKeys[at]!);
        return { programId: accountKeys[inner.programIdIndex()]!, accounts, data: inner.data(), stackHeight: one.stackHeight() };
      });
      return instructions.length === 0 ? [] : [{ index, instructions }];
    });
    const execution = {
      err,
      logs: meta.logs(),
      unitsConsumed: Number(meta.computeUnitsConsumed()),
      fee,
      innerInstructions,
      accountKeys,
      preBalances: accountKeys.map((address) => read(address)?.lamports ?? 0n),
      postBalances: accountKeys.map((address) => after(address)?.lamports ?? 0n),
      preTokenBalances: balances.pre,
      postTokenBalances: balances.post,
      returnData: null,
      written: err === null ? new Map([...commit].map(([address, account]) => [address, account ?? none] as const)) : new Map(),
    };
    return { execution, landed: true, commit, fee, unitPrice, keys };
  }
}

export function executeWith(programIds: readonly string[]): Execute {
  const machine = new Machine(programIds);
  return (bank, transaction) => machine.execute(bank, transaction);
}
