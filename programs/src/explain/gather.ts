import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import {
  associatedTokenProgram,
  computeBudgetProgram,
  systemProgram,
  token2022Program,
  tokenProgram,
} from '@sluice/shared/solana/well-known.ts';
import type { Abortable } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { LruCache } from '@sluice/shared/metadata/lru.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { programsIn } from '../idl/folder.ts';
import { publishedAddresses } from '../idl/published.ts';

/** What one explanation is made of, as plain data: a process passes it to another. */
export interface Gathered {
  /** An answer of `getTransaction`; or a transaction in base64 with its lookup tables, in base64 too. */
  readonly source: { readonly answer: unknown } | { readonly wire: string; readonly tables: Readonly<Record<string, string>> };
  /** For programs without a file in IDL_DIR: the accounts in which they may have published their IDL. */
  readonly published: Readonly<Record<string, readonly unknown[]>>;
}

/** Programs of one transaction whose IDL is looked up on chain. */
const maxPrograms = 8;
/** Bytes of all accounts of one answer, so that it stays within the limit of answers. */
const maxAnswerBytes = 2_000_000;
const storedMs = 10 * 60_000;
const storedBytes = 16_777_216;
const withoutIdl: ReadonlySet<string> = new Set([
  associatedTokenProgram,
  computeBudgetProgram,
  systemProgram,
  token2022Program,
  tokenProgram,
]);

/** Reads from nodes what an explanation needs. Published IDLs are stored for ten minutes. */
export class Gatherer {
  readonly #rpc: Rpc;
  readonly #folder: string | null;
  readonly #stored = new LruCache<readonly unknown[]>(storedBytes);

  /** `folder`: IDL_DIR, or null. */
  constructor(rpc: Rpc, folder: string | null) {
    this.#rpc = rpc;
    this.#folder = folder;
  }

  /** Null if no node knows the transaction, or it is not confirmed. Rejects with an `RpcError`. */
  async bySignature(signature: string, signal?: Abortable): Promise<Gathered | null> {
    const options = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
    const answer = await this.#rpc.call('getTransaction', [signature, options], signal, (result) => result !== null);
    return answer === null ? null : this.ofAnswer(answer, signal);
  }

  async ofAnswer(answer: unknown, signal?: Abortable): Promise<Gathered> {
    return { source: { answer }, published: await this.#publishedFor(programsOf(answer), signal) };
  }

  /** `tables`: the lookup tables that it needs. */
  async ofWire(wire: string, tables: readonly string[], signal?: Abortable): Promise<Gathered> {
    const accounts = tables.length === 0 ? [] : await this.#accounts(tables, signal);
    const found = tables.flatMap((table, at) => {
      const account = accounts[at];
      const data = isRecord(account) && Array.isArray(account['data']) ? (account['data'] as unknown[])[0] : null;
      return typeof data === 'string' ? [[table, data] as const] : [];
    });
    return { source: { wire, tables: Object.fromEntries(found) }, published: {} };
  }

  /** The accounts in which a program may have published its IDL; null for one that does not exist. */
  async published(programId: string, signal?: Abortable): Promise<readonly unknown[]> {
    return this.#accounts(publishedAddresses(programId), signal);
  }

  async #publishedFor(programs: readonly string[], signal?: Abortable): Promise<Gathered['published']> {
    const files = new Set(this.#folder === null ? [] : programsIn(this.#folder));
    const asked = programs.filter((program) => !withoutIdl.has(program) && !files.has(program)).slice(0, maxPrograms);
    const nowMs = performance.now();
    const missing = asked.filter((program) => this.#stored.get(program, nowMs) === undefined);
    const read = missing.length === 0 ? [] : await this.#accounts(missing.flatMap(publishedAddresses), signal);
    const fresh = new Map(missing.map((program, at) => [program, read.slice(2 * at, 2 * at + 2)]));
    for (const [program, accounts] of fresh) {
      this.#stored.set(program, accounts, 100 + JSON.stringify(accounts).length, nowMs + storedMs);
    }
    return Object.fromEntries(asked.map((program) => [program, fresh.get(program) ?? this.#stored.get(program, nowMs) ?? []]));
  }

  async #accounts(addresses: readonly string[], signal?: Abortable): Promise<readonly unknown[]> {
    const dataSlice = { offset: 0, length: Math.floor(maxAnswerBytes / addresses.length) };
    const answer = await this.#rpc.call('getMultipleAccounts', [addresses, { encoding: 'base64', dataSlice }], signal);
    const accounts = isRecord(answer) ? answer['value'] : null;
    return Array.isArray(accounts) ? (accounts as readonly unknown[]) : [];
  }
}

/** The program that failed first, then those of the instructions in order. */
function programsOf(answer: unknown): readonly string[] {
  const view = readTransaction(answer);
  if (view.kind === 'malformed') return [];
  const failed = view.logs.flatMap((line) => /^Program (\w{32,44}) failed/.exec(line)?.[1] ?? []);
  const inner = [...(view.inner?.values() ?? [])].flat();
  return [...new Set([...failed, ...[...view.instructions, ...inner].map(({ programId }) => programId)])];
}
