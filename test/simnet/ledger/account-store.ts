import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount } from '../chain.ts';

const accountBytes = 165;
const accountTypeOffset = 165;
const accountTypeAccount = 2;
const emptySet: ReadonlySet<string> = new Set();

/** Whether the bytes are a token account (of either token program), and not a mint. */
function isTokenAccount(account: ChainAccount): boolean {
  if (account.owner !== tokenProgram && account.owner !== token2022Program) return false;
  const { data } = account;
  if (data.length < accountBytes) return false;
  if (data.length > accountBytes && data[accountTypeOffset] !== accountTypeAccount) return false;
  return data[108] !== 0;
}

function sameHolder(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < 64; i++) if (a[i] !== b[i]) return false;
  return true;
}

function add(index: Map<string, Set<string>>, key: string, address: string): void {
  const set = index.get(key);
  if (set === undefined) index.set(key, new Set([address]));
  else set.add(address);
}

function remove(index: Map<string, Set<string>>, key: string, address: string): void {
  const set = index.get(key);
  if (set === undefined) return;
  set.delete(address);
  if (set.size === 0) index.delete(key);
}

/**
 * All accounts, with an undo layer for each slot, so that a dead fork is rolled back exactly. Stored accounts are immutable: a write
 * replaces the record. The owner of the store limits the number of layers (one for each slot that is not confirmed yet).
 */
export class AccountStore {
  readonly #accounts = new Map<string, ChainAccount>();
  readonly #byProgram = new Map<string, Set<string>>();
  readonly #byHolder = new Map<string, Set<string>>();
  readonly #byMint = new Map<string, Set<string>>();
  readonly #layers: Map<string, ChainAccount | null>[] = [];

  get size(): number {
    return this.#accounts.size;
  }

  get(address: string): ChainAccount | null {
    return this.#accounts.get(address) ?? null;
  }

  /** The account before the newest layer was opened. */
  getBelowNewestLayer(address: string): ChainAccount | null {
    const previous = this.#layers.at(-1)?.get(address);
    return previous === undefined ? this.get(address) : previous;
  }

  /** Null removes the account. */
  set(address: string, account: ChainAccount | null): void {
    const previous = this.#accounts.get(address) ?? null;
    const layer = this.#layers[this.#layers.length - 1];
    if (layer !== undefined && !layer.has(address)) layer.set(address, previous);
    this.#replace(address, previous, account);
  }

  openLayer(): void {
    this.#layers.push(new Map());
  }

  /** Undoes everything that was written since the newest layer was opened, and drops that layer. */
  undoLayer(): void {
    const layer = this.#layers.pop();
    if (layer === undefined) throw new Error('no layer to undo');
    for (const [address, previous] of layer) this.#replace(address, this.#accounts.get(address) ?? null, previous);
  }

  /** Makes the changes of the oldest layer permanent. */
  dropOldestLayer(): void {
    this.#layers.shift();
  }

  get layers(): number {
    return this.#layers.length;
  }

  *ownedBy(programId: string): Iterable<readonly [string, ChainAccount]> {
    yield* this.#entries(this.#byProgram.get(programId) ?? emptySet);
  }

  *tokenAccountsOf(holder: string): Iterable<readonly [string, ChainAccount]> {
    yield* this.#entries(this.#byHolder.get(holder) ?? emptySet);
  }

  *tokenAccountsOfMint(mint: string): Iterable<readonly [string, ChainAccount]> {
    yield* this.#entries(this.#byMint.get(mint) ?? emptySet);
  }

  totalLamports(): bigint {
    let total = 0n;
    for (const account of this.#accounts.values()) total += account.lamports;
    return total;
  }

  /** Every address, for tests and snapshots. */
  entries(): Iterable<readonly [string, ChainAccount]> {
    return this.#accounts.entries();
  }

  *#entries(addresses: ReadonlySet<string>): Iterable<readonly [string, ChainAccount]> {
    for (const address of addresses) {
      const account = this.#accounts.get(address);
      if (account !== undefined) yield [address, account];
    }
  }

  #replace(address: string, previous: ChainAccount | null, next: ChainAccount | null): void {
    if (next === null) this.#accounts.delete(address);
    else this.#accounts.set(address, next);
    if (previous?.owner !== next?.owner) {
      if (previous !== null) remove(this.#byProgram, previous.owner, address);
      if (next !== null) add(this.#byProgram, next.owner, address);
    }
    this.#reindexHolder(address, previous, next);
  }

  #reindexHolder(address: string, previous: ChainAccount | null, next: ChainAccount | null): void {
    const before = previous !== null && isTokenAccount(previous) ? previous.data : null;
    const after = next !== null && isTokenAccount(next) ? next.data : null;
    if (before === after || (before !== null && after !== null && sameHolder(before, after))) return;
    if (before !== null) {
      remove(this.#byMint, encodeBase58(before, 0, 32), address);
      remove(this.#byHolder, encodeBase58(before, 32, 32), address);
    }
    if (after !== null) {
      add(this.#byMint, encodeBase58(after, 0, 32), address);
      add(this.#byHolder, encodeBase58(after, 32, 32), address);
    }
  }
}
