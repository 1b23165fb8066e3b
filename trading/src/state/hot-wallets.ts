import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { decodeTokenAccount, type TokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import type { AccountReader, ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import { isDisputed, readUntilAgreed, soleSourceOf } from '../quote/sole-sources.ts';
import type { WatchedAccounts } from './accounts/watched-accounts.ts';

/** Most wallets that are followed. Beyond that the least recently requested one is dropped. */
export const maxHotWallets = 256;
/** Most token accounts followed for one wallet. Beyond that the least recently requested one is dropped. */
const maxAccountsAWallet = 8;
const idleAfterMs = 10 * 60_000;

/** A wallet at one moment. */
export interface WalletRead {
  readonly slot: number;
  /** When it was requested from the node (`performance.now`). The state is no older. */
  readonly askedAtMs: number;
  readonly lamports: bigint;
  /** The requested token accounts by address; null if the address has no token account. */
  readonly tokenAccounts: ReadonlyMap<string, TokenAccount | null>;
  /** Lamports of the requested addresses that belong to no program. */
  readonly unownedLamports: ReadonlyMap<string, bigint>;
  /** Bit mask of endpoints that alone reported a part of it. 0 if two reported all of it, or only one is configured. */
  readonly soleSources: number;
  /** The endpoints report different states and no two report the same, or a late endpoint may still report another state. */
  readonly isDisputed: boolean;
}

interface HotWallet {
  readonly publicKey: string;
  followed: boolean;
  /** Least recently requested first. */
  readonly accounts: Set<string>;
  usedAtMs: number;
}

/** Balances of the wallets that trade. */
export class HotWallets {
  readonly counts = { hits: 0, reads: 0, evicted: 0 };
  readonly #watched: WatchedAccounts;
  readonly #reader: AccountReader;
  readonly #endpoints: number;
  /** Least recently used first. */
  readonly #wallets = new Map<string, HotWallet>();

  constructor(watched: WatchedAccounts, reader: AccountReader, endpoints: number) {
    [this.#watched, this.#reader, this.#endpoints] = [watched, reader, endpoints];
  }

  get size(): number {
    return this.#wallets.size;
  }

  /** Returns at once if all accounts are followed. Rejects with an `RpcError`. */
  read(publicKey: string, tokenAccounts: readonly string[] = []): WalletRead | Promise<WalletRead> {
    this.#use(publicKey, tokenAccounts);
    const addresses = [publicKey, ...tokenAccounts];
    const current = this.#watched.current(addresses);
    if (current === null) return this.#readFresh(addresses);
    this.counts.hits++;
    const { slot, asOfMs, states, soleSources } = current;
    const accounts = states.map(({ account }) => account);
    return walletOf(addresses, accounts, { slot, askedAtMs: asOfMs, soleSources, isDisputed: false });
  }

  /** Like `readUntilAgreed`. Rejects with an `RpcError`. */
  readAgreed(publicKey: string, tokenAccounts: readonly string[], slot: number): Promise<WalletRead> {
    return readUntilAgreed(() => this.#readFresh([publicKey, ...tokenAccounts]), slot);
  }

  /** Drops wallets that nobody requests. Call it every few seconds. */
  check(): void {
    const nowMs = performance.now();
    for (const wallet of this.#wallets.values()) if (nowMs - wallet.usedAtMs > idleAfterMs) this.#evict(wallet);
  }

  async #readFresh(addresses: readonly string[]): Promise<WalletRead> {
    this.counts.reads++;
    const read = await this.#reader.read(addresses);
    this.#watched.addRead(addresses, read);
    return walletOf(addresses, read.accounts, { ...read, soleSources: soleSourceOf(read, this.#endpoints), isDisputed: isDisputed(read) });
  }

  #use(publicKey: string, tokenAccounts: readonly string[]): void {
    const wallet = this.#wallets.get(publicKey) ?? { publicKey, followed: false, accounts: new Set<string>(), usedAtMs: 0 };
    wallet.usedAtMs = performance.now();
    this.#wallets.delete(publicKey);
    this.#wallets.set(publicKey, wallet);
    wallet.followed ||= this.#watched.follow(publicKey);
    for (const address of tokenAccounts) {
      const isFollowed = wallet.accounts.delete(address) || this.#watched.follow(address);
      if (isFollowed) wallet.accounts.add(address);
    }
    for (const address of wallet.accounts) {
      if (wallet.accounts.size <= Math.max(maxAccountsAWallet, tokenAccounts.length)) break;
      wallet.accounts.delete(address);
      this.#watched.release(address);
    }
    const oldest = this.#wallets.values().next();
    if (this.#wallets.size > maxHotWallets && oldest.done !== true) this.#evict(oldest.value);
  }

  #evict({ publicKey, followed, accounts }: HotWallet): void {
    this.#wallets.delete(publicKey);
    this.counts.evicted++;
    if (followed) this.#watched.release(publicKey);
    for (const address of accounts) this.#watched.release(address);
  }
}

function walletOf(
  [, ...tokenAddresses]: readonly string[],
  [wallet, ...tokens]: readonly (ChainAccount | null)[],
  { slot, askedAtMs, soleSources, isDisputed: disputed }: Omit<WalletRead, 'lamports' | 'tokenAccounts' | 'unownedLamports'>,
): WalletRead {
  const tokenAccounts = new Map(
    tokenAddresses.map((address, i) => {
      const account = tokens[i] ?? null;
      return [address, account === null ? null : decodeTokenAccount(account.owner, account.data)] as const;
    }),
  );
  const unownedLamports = new Map<string, bigint>();
  for (const [i, address] of tokenAddresses.entries()) {
    const account = tokens[i] ?? null;
    if (account === null || account.owner === systemProgram) unownedLamports.set(address, account?.lamports ?? 0n);
  }
  return { slot, askedAtMs, lamports: wallet?.lamports ?? 0n, tokenAccounts, unownedLamports, soleSources, isDisputed: disputed };
}
