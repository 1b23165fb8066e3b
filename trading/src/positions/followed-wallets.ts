import type { Store } from '@sluice/gateway/store/store.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';

/** How often what keys ask for is read, and all of it, so that what they no longer follow is noticed. */
const askedEveryMs = 250;
const allEveryMs = 30_000;
/** How often new custodial wallets are looked for. */
const walletsEveryMs = 2_000;
/** Notes of gateways whose clocks differ are read again for this long. */
const overlapMs = 5_000;

export interface FollowedWalletsParts {
  readonly store: Pick<Store, 'walletStates' | 'wallets'>;
  /** Where the custodial wallets are. */
  readonly keystore: string;
  readonly clock: Pick<Clock, 'steadyMs'>;
}

/** The wallets whose positions are stored: every custodial wallet, and those that keys follow. */
export class FollowedWallets {
  readonly custodial = new Set<string>();
  readonly #parts: FollowedWalletsParts;
  /** When keys last asked for a wallet, by wallet and key. */
  #keys = new Map<string, Map<string, number>>();
  #newestAskedMs = 0;
  #newestWalletMs = 0;
  #nextAskedMs = 0;
  #nextAllMs = 0;
  #nextWalletsMs = 0;

  constructor(parts: FollowedWalletsParts) {
    this.#parts = parts;
  }

  has(wallet: string): boolean {
    return this.custodial.has(wallet) || this.#keys.has(wallet);
  }

  *all(): Iterable<string> {
    yield* this.custodial;
    for (const wallet of this.#keys.keys()) if (!this.custodial.has(wallet)) yield wallet;
  }

  keysOf(wallet: string): Iterable<string> {
    return this.#keys.get(wallet)?.keys() ?? [];
  }

  /** Everything is due at the next call of `read`. */
  hurry(): void {
    this.#nextAskedMs = this.#nextWalletsMs = 0;
  }

  /** Reads what is due. Returns the wallets that were asked for since the last call; null if nothing was due. Rejects if the store does not answer. */
  async read(): Promise<ReadonlySet<string> | null> {
    const nowMs = this.#parts.clock.steadyMs();
    if (nowMs < Math.min(this.#nextAskedMs, this.#nextWalletsMs)) return null;
    if (nowMs >= this.#nextWalletsMs) await this.#readWallets(nowMs);
    return nowMs >= this.#nextAskedMs ? this.#readAsked(nowMs) : new Set();
  }

  async #readWallets(nowMs: number): Promise<void> {
    const { store, keystore } = this.#parts;
    for (const { publicKey, createdAtMs } of await store.wallets.createdSince(keystore, this.#newestWalletMs - overlapMs)) {
      this.custodial.add(publicKey);
      this.#newestWalletMs = Math.max(this.#newestWalletMs, createdAtMs);
    }
    this.#nextWalletsMs = nowMs + walletsEveryMs;
  }

  async #readAsked(nowMs: number): Promise<ReadonlySet<string>> {
    const isAll = nowMs >= this.#nextAllMs;
    const follows = await this.#parts.store.walletStates.follows(isAll ? 0 : this.#newestAskedMs - overlapMs);
    const before = this.#keys;
    if (isAll) this.#keys = new Map();
    const asked = new Set<string>();
    for (const { keyId, wallet, askedAtMs } of follows) {
      if ((before.get(wallet)?.get(keyId) ?? 0) < askedAtMs) asked.add(wallet);
      const keys = this.#keys.get(wallet) ?? new Map<string, number>();
      this.#keys.set(wallet, keys.set(keyId, askedAtMs));
      this.#newestAskedMs = Math.max(this.#newestAskedMs, askedAtMs);
    }
    this.#nextAskedMs = nowMs + askedEveryMs;
    if (isAll) this.#nextAllMs = nowMs + allEveryMs;
    return asked;
  }
}
