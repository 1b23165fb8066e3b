import type { ChainAccount } from '../chain.ts';
import type { MarketChain } from '../chain-options.ts';
import { usdcMint } from '@sluice/shared/solana/well-known.ts';
import { coinAccount, walletAccount, wrappedSolAccount } from '../programs/genesis/genesis.ts';
import { createActors, type Actors } from './actors.ts';
import { defaultCoinBounds, type CoinBounds } from './coin-book.ts';
import { createRandom } from './random.ts';

export interface MarketOptions {
  /** Trades by ordinary traders; 8 by default. */
  readonly tradesPerSecond?: number;
  /** 0.4 by default. */
  readonly newTokensPerSecond?: number;
  /** How often a coin is bought until its curve completes; 45 by default, 0 for never. */
  readonly completeEverySeconds?: number;
  /**
   * Share of the migrations that boost their pool (virtual quote reserves); 0.15 by default. Their logs exceed a node's limit and end in
   * `Log truncated`.
   */
  readonly boostedShare?: number;
  /** Wallets that trade; 300 by default. */
  readonly wallets?: number;
  /** How many coins exist at a time; `defaultCoinBounds` by default. */
  readonly coins?: CoinBounds;
  /** While it returns true, nobody trades. */
  readonly isAtRest?: () => boolean;
}

export interface Market {
  /** Accounts that the first block must contain. */
  readonly genesis: readonly (readonly [address: string, account: ChainAccount])[];
  /** Sends the transactions of the coming slot. */
  beforeSlot(chain: MarketChain): void;
}

const defaults = { tradesPerSecond: 8, newTokensPerSecond: 0.4, completeEverySeconds: 45, boostedShare: 0.15, wallets: 300 } as const;
/** The default market with all its rates multiplied by `speed`. */
export function marketAtSpeed(speed: number): MarketOptions {
  const { tradesPerSecond, newTokensPerSecond, completeEverySeconds } = defaults;
  return {
    tradesPerSecond: tradesPerSecond * speed,
    newTokensPerSecond: newTokensPerSecond * speed,
    completeEverySeconds: completeEverySeconds / speed,
  };
}

const sol = 1_000_000_000n;
const usdc = 1_000_000n;
const walletSol = 100n * sol;
const walletUsdc = 20_000n * usdc;
/** One of this many wallets also holds USDC. */
const usdcWalletEvery = 5;
const makerSol = 5_000n * sol;
const makerUsdc = 1_000_000n * usdc;
/** The first coins are created at once, so that there is something to trade. */
const firstCoins = 12;
const firstHotCoinSeconds = 8;
const priceMoveEverySlots = 2;

function genesisOf(actors: Actors): readonly (readonly [string, ChainAccount])[] {
  const { maker, migrator, traders } = actors;
  return [
    ...traders.map(({ publicKey }) => [publicKey, walletAccount(walletSol)] as const),
    ...traders.filter((_, index) => index % usdcWalletEvery === 0).map(({ publicKey }) => coinAccount(usdcMint, publicKey, walletUsdc)),
    [migrator.publicKey, walletAccount(walletSol)],
    [maker.publicKey, walletAccount(walletSol)],
    wrappedSolAccount(maker.publicKey, makerSol),
    coinAccount(usdcMint, maker.publicKey, makerUsdc),
  ];
}

/** A market of simulated traders. Its behaviour depends only on the seed and the chain's state. */
export function createMarket(seed: string, slotMs: number, options: MarketOptions): Market {
  const rates = { ...defaults, ...options };
  const random = createRandom(`${seed}: market`);
  const actors = createActors(seed, random, {
    wallets: rates.wallets,
    usdcEvery: usdcWalletEvery,
    boostedShare: rates.boostedShare,
    bounds: options.coins ?? defaultCoinBounds,
  });
  const slotSeconds = slotMs / 1000;
  const completeEverySlots = Math.round(rates.completeEverySeconds / slotSeconds);
  let slots = 0;
  return {
    genesis: genesisOf(actors),
    beforeSlot(chain) {
      actors.begin(chain);
      if (options.isAtRest?.() === true) {
        slots++;
        return;
      }
      const active = rates.newTokensPerSecond > 0;
      const newCoins = slots === 0 && active ? firstCoins : random.poisson(rates.newTokensPerSecond * slotSeconds);
      for (let i = 0; i < newCoins; i++) actors.createCoin();
      const trades = slots < 2 ? 0 : random.poisson(rates.tradesPerSecond * slotSeconds);
      for (let i = 0; i < trades; i++) actors.trade();
      const sinceFirst = slots - Math.round(firstHotCoinSeconds / slotSeconds);
      if (completeEverySlots > 0 && sinceFirst >= 0 && sinceFirst % completeEverySlots === 0) actors.chooseHotCoin();
      actors.pushHotCoin();
      if (slots % priceMoveEverySlots === 0) actors.movePrice();
      actors.tend();
      slots++;
    },
  };
}
