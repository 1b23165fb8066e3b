import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Clock, FailedTransactionMetadata, LiteSVM, Rent, type SimulatedTransactionInfo, type TransactionMetadata } from 'litesvm';
import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { pump } from '../../../venues/src/pump/curve/index.ts';
import { globalConfig } from '@sluice/venues/pump/amm/program.ts';
import { pumpAmm } from '../../../venues/src/pump/amm/index.ts';
import { feeConfig, feeProgram, globalAddress } from '@sluice/venues/pump/curve/program.ts';
import { fixtureAccount, fixturesPresent } from '../../golden/fixtures.ts';
import { lamportsPerByte } from '../../simnet/ledger/rent.ts';
import type { SimChain } from '../../simnet/sim-chain.ts';

/**
 * The venues' real programs in the real virtual machine, with accounts of the simulated chain. `PROGRAMS_DIR` is a folder of program
 * binaries, each named `<program id>.so`; they are not part of this repository.
 */
const folder = process.env['PROGRAMS_DIR'] ?? '';
const needed = [pump.programId, pumpAmm.programId, feeProgram];
const isThere = (id: string): boolean => existsSync(join(folder, `${id}.so`));
export const programsPresent = folder !== '' && needed.every(isThere);
/** For titles, so that a skipped suite states the reason. */
export const programsNote = programsPresent
  ? 'the programs of PROGRAMS_DIR'
  : `SKIPPED: ${folder === '' ? 'PROGRAMS_DIR is not set' : `PROGRAMS_DIR lacks ${needed.filter((id) => !isThere(id)).join(', ')}`}`;

/** The machine below its typed interface, which accepts only transactions of another library. */
interface InnerMachine {
  sendVersionedTransaction(wire: Uint8Array): TransactionMetadata | FailedTransactionMetadata;
  simulateVersionedTransaction(wire: Uint8Array): SimulatedTransactionInfo | FailedTransactionMetadata;
  getAccount(address: Uint8Array): { lamports(): bigint; owner(): Uint8Array; data(): Uint8Array } | null;
}

export interface RealResult {
  readonly failed: boolean;
  /** The error as the machine prints it; empty if there is none. */
  readonly error: string;
  readonly logs: readonly string[];
  readonly units: number;
}

export interface RealAccount {
  readonly lamports: bigint;
  readonly owner: string;
  readonly data: Uint8Array;
}

type Stored = Parameters<LiteSVM['setAccount']>[0];
type Address = Stored['address'];
const bytesOf = (address: string): Uint8Array => decodeBase58(address) ?? new Uint8Array(32);
const unixTimestamp = 1_790_000_000n;
const sysvars = 'Sysvar';
/** Since 2026-10 `Global` ends with `max_curve_depth`, which the programs require. */
const newestGlobalBytes = 1_088;
/** The programs' settings as on mainnet, if they are available. */
const settingsFixtures: ReadonlyMap<string, string> = new Map([
  [globalAddress, 'pump_global_2026-09-12'],
  [feeConfig, 'pump_fee_config_2026-10-08'],
  [globalConfig, 'pumpswap_global_config_2026-10-08'],
]);

function grown(global: Uint8Array): Uint8Array {
  const longer = new Uint8Array(Math.max(newestGlobalBytes, global.length));
  longer.set(global);
  return longer;
}

export class RealPrograms {
  readonly #svm = new LiteSVM().withNativeMints();

  constructor(chain: SimChain) {
    this.#svm.setRent(new Rent(lamportsPerByte, 1, 50));
    this.#svm.setClock(new Clock(1_000n, unixTimestamp, 1n, 2n, unixTimestamp));
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.so'))) {
      this.#svm.addProgram(file.slice(0, -3) as Address, readFileSync(join(folder, file)));
    }
    // All accounts of the chain but programs and sysvars.
    for (const [address, { lamports, data, owner, executable }] of chain.accounts()) {
      if (executable || owner.startsWith(sysvars) || address.startsWith(sysvars)) continue;
      const fixture = fixturesPresent ? settingsFixtures.get(address) : undefined;
      const stored = fixture === undefined ? data : fixtureAccount(fixture).data;
      this.put(address, { lamports, owner, data: address === globalAddress ? grown(stored) : stored });
    }
  }

  put(address: string, { lamports, owner, data }: RealAccount): void {
    const space = BigInt(data.length);
    this.#svm.setAccount({ address, lamports, data, programAddress: owner, executable: false, space } as unknown as Stored);
  }

  /** A blockhash that no message has used yet. */
  newBlockhash(): string {
    this.#svm.expireBlockhash();
    return this.#svm.latestBlockhash();
  }

  send(wire: Uint8Array): RealResult {
    const result = this.#inner.sendVersionedTransaction(wire);
    const failed = result instanceof FailedTransactionMetadata;
    const meta = failed ? result.meta() : result;
    return { failed, error: failed ? result.toString() : '', logs: meta.logs(), units: Number(meta.computeUnitsConsumed()) };
  }

  /** Whether a transaction of this wallet would pass if the wallet had this balance. */
  passesWith(wallet: string, balance: bigint, wire: Uint8Array): boolean {
    const before = this.account(wallet)!;
    this.put(wallet, { ...before, lamports: balance });
    const failed = this.#inner.simulateVersionedTransaction(wire) instanceof FailedTransactionMetadata;
    this.put(wallet, before);
    return !failed;
  }

  account(address: string): RealAccount | null {
    const account = this.#inner.getAccount(bytesOf(address));
    if (account === null || account.lamports() === 0n) return null;
    return { lamports: account.lamports(), owner: encodeBase58(account.owner()), data: account.data() };
  }

  get #inner(): InnerMachine {
    return (this.#svm as unknown as { inner: InnerMachine }).inner;
  }
}
