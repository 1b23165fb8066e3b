import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { readAccount } from './read-account.ts';
import type { AccountState } from '../sighting.ts';

/** Accounts in one `getMultipleAccounts`, the limit of nodes. */
const maxAccountsACall = 100;
/** Addresses that wait for a call. Above this limit, new ones are refused. */
const maxQueued = 20_000;
const maxConcurrentCalls = 4;
/** Requests within this time share a call. */
const gatherMs = 2;
const attempts = 5;
/** A token account begins with the address of its mint. */
const mintLength = 32;
const firstPauseMs = 150;

export type FetchedAccount =
  | { readonly kind: 'found'; readonly state: AccountState }
  | { readonly kind: 'missing' }
  /** No endpoint answered in time, or the queue was full. */
  | { readonly kind: 'unavailable'; readonly reason: string };

interface Request {
  readonly address: string;
  readonly usable: (state: AccountState) => boolean;
  readonly settle: (account: FetchedAccount) => void;
}

/**
 * Reads accounts by RPC, many in one call; never rejects. If one endpoint does not have an account, or returns it in a form that the caller
 * cannot use, the other endpoints are asked too.
 */
export class AccountFetcher {
  calls = 0;
  failures = 0;
  readonly #rpc: Rpc;
  readonly #signal: AbortSignal;
  #queue: Request[] = [];
  #running = 0;
  #gathering = false;

  constructor(rpc: Rpc, signal: AbortSignal) {
    this.#rpc = rpc;
    this.#signal = signal;
  }

  /** If `usable` returns false, another endpoint is asked. If none has a usable account, the first one that was found is returned. */
  fetch(address: string, usable: (state: AccountState) => boolean = () => true): Promise<FetchedAccount> {
    if (this.#queue.length >= maxQueued) return Promise.resolve({ kind: 'unavailable', reason: 'queue full' });
    return new Promise((settle) => {
      this.#queue.push({ address, usable, settle });
      if (this.#gathering) return;
      this.#gathering = true;
      setTimeout(() => {
        this.#gathering = false;
        this.#drain();
      }, gatherMs);
    });
  }

  /** Mints of the token accounts of an owner, in both token programs; empty if no endpoint answers. */
  async mintsOf(owner: string): Promise<string[]> {
    const mints: string[] = [];
    for (const programId of [token2022Program, tokenProgram]) {
      try {
        this.calls++;
        const params = [owner, { programId }, { encoding: 'base64', commitment: 'processed', dataSlice: { offset: 0, length: 32 } }];
        mints.push(...readMints(await this.#rpc.call('getTokenAccountsByOwner', params, this.#signal)));
      } catch {
        this.failures++;
      }
    }
    return mints;
  }

  #drain(): void {
    while (this.#queue.length > 0 && this.#running < maxConcurrentCalls) {
      const batch = this.#queue.splice(0, maxAccountsACall);
      this.#running++;
      void this.#load(batch).finally(() => {
        this.#running--;
        this.#drain();
      });
    }
  }

  async #load(batch: readonly Request[]): Promise<void> {
    const addresses = [...new Set(batch.map((request) => request.address))];
    const found = new Map<string, FetchedAccount>();
    const isUsable = ({ address, usable }: Request): boolean => {
      const account = found.get(address);
      return account?.kind === 'found' && usable(account.state);
    };
    let reason = 'not asked';
    for (let attempt = 0; attempt < attempts && !this.#signal.aborted; attempt++) {
      try {
        this.calls++;
        const params = [addresses, { encoding: 'base64', commitment: 'processed' }];
        await this.#rpc.call('getMultipleAccounts', params, this.#signal, (answer) => {
          const usable = new Set(batch.filter(isUsable).map(({ address }) => address));
          for (const [address, account] of readAnswer(addresses, answer)) {
            if (!usable.has(address) && (account.kind === 'found' || !found.has(address))) found.set(address, account);
          }
          return batch.every(isUsable);
        });
        if (found.size > 0) break;
        reason = 'an answer in an unknown form';
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      this.failures++;
      if (attempt + 1 < attempts) await pause(firstPauseMs * 2 ** attempt, this.#signal, { ref: false });
    }
    for (const { address, settle } of batch) settle(found.get(address) ?? { kind: 'unavailable', reason });
  }
}

function readMints(answer: unknown): string[] {
  const value = isRecord(answer) ? answer['value'] : null;
  if (!Array.isArray(value)) return [];
  const mints: string[] = [];
  for (const item of value) {
    const data: unknown = isRecord(item) && isRecord(item['account']) ? item['account']['data'] : null;
    const bytes = Array.isArray(data) && typeof data[0] === 'string' ? Buffer.from(data[0], 'base64') : null;
    if (bytes !== null && bytes.length >= mintLength) mints.push(encodeBase58(bytes, 0, mintLength));
  }
  return mints;
}

/** Empty if the answer is not of the documented form. An account in another form is treated as unavailable. */
function readAnswer(addresses: readonly string[], answer: unknown): Map<string, FetchedAccount> {
  const found = new Map<string, FetchedAccount>();
  if (!isRecord(answer) || !isRecord(answer['context']) || !isSlot(answer['context']['slot'])) return found;
  const { value } = answer;
  if (!Array.isArray(value) || value.length !== addresses.length) return found;
  const { slot } = answer['context'];
  const receivedUs = nowUs();
  for (const [index, address] of addresses.entries()) {
    const account: unknown = value[index];
    if (account === null) found.set(address, { kind: 'missing' });
    else {
      const state = readAccount(address, account, slot, receivedUs);
      if (state !== null) found.set(address, { kind: 'found', state });
    }
  }
  return found;
}
