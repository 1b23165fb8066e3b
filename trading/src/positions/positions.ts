import { randomBytes } from 'node:crypto';
import { LogConsumer } from '@sluice/followers/kit/log-consumer.ts';
import { amountOf } from '@sluice/followers/positions/position.ts';
import type { TokenPrices } from '@sluice/gateway/reads/tokens/token-prices.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { OrderPublisher } from '../model/order-publisher.ts';
import { FollowedWallets } from './followed-wallets.ts';
import { PositionFollower, type PositionFollowerParts } from './position-follower.ts';
import { averageCostSol, positionObject } from './position-object.ts';

/** How long a close waits for events that came before it. */
const closeWithinMs = 1_000;

/** What a trigger must know of a position. */
export interface HeldPosition {
  /** SOL for one whole bought token. */
  readonly averageCostSol: number;
  /** Raw tokens of the wallet. */
  readonly amount: bigint;
}

export interface PositionsReport {
  /** Followed wallets, and their trades that can still be retracted. */
  readonly wallets: number;
  readonly undecided: number;
  /** Reads of the chain; null before the first period. */
  readonly reads: PositionFollower['counts'];
}

export interface PositionsParts extends Omit<PositionFollowerParts, 'onShown' | 'followed' | 'signal'> {
  readonly bus: Bus;
  readonly keystore: string;
  readonly publisher: Pick<OrderPublisher, 'publishPosition'>;
  readonly prices: Pick<TokenPrices, 'known'>;
}

/** Keeps positions while the trading role is here. */
export class Positions {
  readonly #follower: PositionFollower;
  readonly #consumer: LogConsumer<unknown>;
  readonly #followed: FollowedWallets;
  readonly #listeners = new Set<(publicKey: string, mint: string) => void>();
  readonly #parts: PositionsParts;
  /** Makes the ids of events unique, together with a number. */
  readonly #run = randomBytes(8).toString('hex');
  readonly #life = new AbortController();
  #events = 0;

  constructor(parts: PositionsParts) {
    this.#parts = parts;
    this.#followed = new FollowedWallets(parts);
    this.#follower = new PositionFollower({
      ...parts,
      followed: this.#followed,
      signal: this.#life.signal,
      onShown: (wallet, mints, isStored) => (isStored ? this.#publish(wallet, mints) : this.#notify(wallet, mints)),
    });
    this.#consumer = new LogConsumer<unknown>(this.#follower, { bus: parts.bus, log: parts.log });
  }

  /**
   * The position of a wallet, with trades that can still be retracted. Null: it holds no bought tokens. `unknown`: nobody follows the wallet, or trades of it
   * are missing and still being read.
   */
  of(publicKey: string, mint: string): HeldPosition | null | 'unknown' {
    const wallet = this.#follower.ledger?.get(publicKey) ?? null;
    if (wallet === null || wallet.isBehind) return 'unknown';
    const position = wallet.current(mint);
    const average = position === null ? null : averageCostSol(position);
    return position === null || average === null ? null : { averageCostSol: average, amount: amountOf(position) };
  }

  /** Calls the listener when the position of a wallet changes. Returns a function that stops it. */
  onChange(listener: (publicKey: string, mint: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** An order has ended; its fees, or its trade on paper, are counted at once. */
  orderEnded(): void {
    this.#follower.orderEnded();
  }

  /** Looks at once which wallets were asked for. */
  hurry(): void {
    this.#followed.hurry();
  }

  report(): PositionsReport {
    const { ledger, counts } = this.#follower;
    return { wallets: ledger?.size ?? 0, undecided: ledger?.undecided ?? 0, reads: counts };
  }

  async close(): Promise<void> {
    this.#life.abort();
    await this.#consumer.close(closeWithinMs);
  }

  #notify(wallet: string, mints: ReadonlySet<string>): void {
    for (const mint of mints) for (const listener of this.#listeners) listener(wallet, mint);
  }

  #publish(publicKey: string, mints: ReadonlySet<string>): void {
    const receivedUs = this.#parts.store.time.nowMs() * 1_000;
    for (const mint of mints) {
      const position = this.#follower.ledger?.get(publicKey)?.current(mint) ?? null;
      if (position === null) continue;
      const shown = positionObject(mint, position, this.#parts.prices.known(mint));
      const id = `${this.#run}:${++this.#events}`;
      for (const keyId of this.#followed.keysOf(publicKey)) {
        this.#parts.publisher.publishPosition(keyId, id, (published, simulated) => ({
          type: 'position',
          id,
          publicKey,
          ...shown,
          ts: { received: receivedUs, published },
          ...(simulated ? { simulated: true } : {}),
        }));
      }
    }
  }
}
