import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import {
  lamportsPerSol,
  systemProgram,
  token2022Program,
  tokenProgram,
  usdcMint,
  wrappedSolMint,
} from '@sluice/shared/solana/well-known.ts';
import { mayhemSolVault } from '../programs/constants.ts';
import { boostAuthorityOf, canonicalPoolOf, creatorVaultOf, holderRewardsOf, lpMintOf, poolAuthorityOf } from '../programs/addresses.ts';
import { associatedTokenInstruction } from '../programs/token/associated-token.ts';
import { unitLimitInstruction, unitPriceInstruction } from '../programs/compute-budget.ts';
import { feeRecipients, buybackFeeRecipients, reservedFeeRecipients } from '../programs/recipients.ts';
import { routed } from '../programs/router.ts';
import { readCurve, type Curve } from '../programs/pump/state.ts';
import { transferInstruction } from '../programs/system.ts';
import { closeAccountInstruction, syncNativeInstruction } from '../programs/token/token-instructions.ts';
import { tokenAmount, tokenFields } from '../layout/token-state.ts';
import { usdcPerSol, whirlpoolSwapInstruction } from '../programs/whirlpool.ts';
import { deriveTokenAccount } from '../layout/derive.ts';
import type { MarketChain } from '../chain-options.ts';
import { CoinBook, newCoin, type Coin, type CoinBounds } from './coin-book.ts';
import { createV2, legacyBuy, migrate, migrateV2, type NewCoin } from './instructions.ts';
import { coinText } from './names.ts';
import { planBuy, planSell, type PlannedTrade, type TradeSetting } from './coin-plans.ts';
import { pumpMint } from './pump-mint.ts';
import type { Random } from './random.ts';
import { signTransaction, wallet } from '../runtime/wallets.ts';

/** A wallet with less than this gets an airdrop. */
const poorLamports = 5n * lamportsPerSol;
const airdropLamports = 60n * lamportsPerSol;
const maxAirdropsPerSlot = 4;
const poorUsdc = 500_000_000n;
const restockSol = 15n * lamportsPerSol;
const slotsBeforeMigration = 6;
const targetUsdcPerSol = 150;
/** At most this many coins are tried for a trade in a slot. */
const maxTries = 6;
const maxHoldersScanned = 400;
/** How the market's coins are created. */
const share = { mayhem: 0.04, cashback: 0.06, holderReward: 0.06, usdc: 0.06, ownCreatorFee: 0.05 } as const;
const habit = { onPool: 0.35, routed: 0.35, legacyMessage: 0.5, devBuy: 0.85, buys: 0.56, sellAll: 0.35 } as const;

export interface Actors {
  readonly traders: readonly Keypair[];
  readonly maker: Keypair;
  readonly migrator: Keypair;
  /** Starts a slot. */
  begin(chain: MarketChain): void;
  createCoin(): void;
  trade(): void;
  chooseHotCoin(): void;
  pushHotCoin(): void;
  movePrice(): void;
  /** Migrations, airdrops, retirement. */
  tend(): void;
}

export interface ActorSettings {
  readonly wallets: number;
  /** One of this many wallets also trades in USDC. */
  readonly usdcEvery: number;
  readonly boostedShare: number;
  readonly bounds: CoinBounds;
}

export function createActors(seed: string, random: Random, settings: ActorSettings): Actors {
  return new MarketActors(seed, random, settings);
}

class MarketActors implements Actors {
  readonly traders: readonly Keypair[];
  readonly maker: Keypair;
  readonly migrator: Keypair;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #random: Random;
  readonly #seed: string;
  readonly #settings: ActorSettings;
  readonly #book: CoinBook;
  /** Traders that have already sent something in this slot. */
  readonly #busy = new Set<number>();
  #chain: MarketChain | null = null;
  #coins = 0;
  #hot: Coin | null = null;
  #nextChecked = 0;

  constructor(seed: string, random: Random, settings: ActorSettings) {
    this.#book = new CoinBook(settings.bounds);
    this.#settings = settings;
    this.#seed = seed;
    this.#random = random;
    this.traders = Array.from({ length: settings.wallets }, (_, index) => wallet(seed, `trader ${index}`));
    this.maker = wallet(seed, 'price maker');
    this.migrator = wallet(seed, 'migrator');
    this.#numbers = new Map(this.traders.map(({ publicKey }, index) => [publicKey, index]));
  }

  begin(chain: MarketChain): void {
    this.#chain = chain;
    this.#busy.clear();
  }

  createCoin(): void {
    const number = this.#freeTrader(false);
    if (number === null) return;
    const creator = this.#trader(number);
    const random = this.#random;
    const mint = pumpMint(this.#seed, this.#coins);
    const quoteMint = random.chance(share.usdc) ? usdcMint : null;
    const cashback = quoteMint === null && random.chance(share.cashback);
    const coin: NewCoin = {
      mint,
      user: creator.publicKey,
      creator: creator.publicKey,
      text: coinText(random, this.#coins),
      mayhem: quoteMint === null && !cashback && random.chance(share.mayhem),
      cashback,
      holderReward: !cashback && random.chance(share.holderReward),
      creatorFeeBps: !cashback && random.chance(share.ownCreatorFee) ? BigInt(50 + random.below(250)) : 0n,
      quoteMint,
    };
    this.#coins++;
    const known = newCoin(coin.mint, token2022Program, quoteMint, this.#on().slot);
    const instructions = [createV2(coin)];
    if (quoteMint === null && !coin.mayhem && random.chance(habit.devBuy)) {
      instructions.push(...this.#devBuy(coin, creator.publicKey));
      known.holders.add(number);
    }
    this.#busy.add(number);
    if (this.#send(instructions, creator, [mint])) this.#book.addCurve(known);
  }

  trade(): void {
    for (let tries = 0; tries < maxTries; tries++) {
      const coin = this.#pickCoin();
      if (coin === null) return;
      const buys = this.#random.chance(habit.buys) || coin.holders.size === 0;
      if (buys ? this.#buy(coin, this.#random.around(0.12, 1.1)) : this.#sell(coin)) return;
    }
  }

  chooseHotCoin(): void {
    if (this.#hot !== null) return;
    const open = this.#book.onCurve.filter((coin) => coin.completedSlot === null && coin !== this.#hot);
    const recent = open.slice(-20);
    if (recent.length > 0) this.#hot = this.#random.pick(recent);
  }

  pushHotCoin(): void {
    const coin = this.#hot;
    if (coin === null) return;
    if (coin.completedSlot !== null || coin.pool !== null || this.#curveOf(coin) === null) {
      this.#hot = null;
      return;
    }
    if (this.#random.chance(0.6)) this.#buy(coin, 1.5 + this.#random.next() * 4);
  }

  movePrice(): void {
    const chain = this.#on();
    const pool = chain.account(solPricePool.address);
    if (pool === null) return;
    const price = usdcPerSol(pool.data);
    const sellsSol = this.#random.chance(0.5 + (price - targetUsdcPerSol) / 20);
    const size = this.#random.around(2, 0.9);
    const amount = sellsSol ? BigInt(Math.round(size * 1e9)) : BigInt(Math.round(size * price * 1e6));
    const owner = this.maker.publicKey;
    const swap = whirlpoolSwapInstruction({
      trader: owner,
      traderSol: deriveTokenAccount(owner, wrappedSolMint, tokenProgram).address,
      traderUsdc: deriveTokenAccount(owner, usdcMint, tokenProgram).address,
      amount,
      sellsSol,
    });
    this.#send([swap], this.maker);
  }

  tend(): void {
    this.#migrateCompleted();
    this.#feedWallets();
    for (const coin of this.#book.trim((candidate) => this.#isHeldOutside(candidate))) this.#retire(coin);
  }

  #on(): MarketChain {
    if (this.#chain === null) throw new Error('the market has no chain yet');
    return this.#chain;
  }

  #trader(number: number): Keypair {
    const trader = this.traders[number];
    if (trader === undefined) throw new Error(`no trader ${number}`);
    return trader;
  }

  #hasUsdc(number: number): boolean {
    return number % this.#settings.usdcEvery === 0;
  }

  #freeTrader(usdc: boolean): number | null {
    for (let tries = 0; tries < maxTries; tries++) {
      const number = this.#random.below(this.traders.length);
      if (!this.#busy.has(number) && (!usdc || this.#hasUsdc(number))) return number;
    }
    return null;
  }

  /** Most trades are of the newest coins. */
  #pickCoin(): Coin | null {
    const { onCurve, onPool } = this.#book;
    const list = onPool.length > 0 && this.#random.chance(habit.onPool) ? onPool : onCurve;
    const open = list.length;
    if (open === 0) return null;
    const fromNewest = Math.floor(this.#random.next() ** 2 * open);
    const coin = list[open - 1 - fromNewest];
    return coin === undefined || (coin.completedSlot !== null && coin.pool === null) ? null : coin;
  }

  #curveOf(coin: Coin): Curve | null {
    const account = this.#on().account(coin.curve);
    return account === null ? null : readCurve(account.data);
  }

  #setting(coin: Coin, user: string): TradeSetting {
    const random = this.#random;
    const curve = this.#curveOf(coin);
    return {
      chain: this.#on(),
      coin,
      user,
      random,
      feeRecipient: random.pick(curve?.mayhem === true ? reservedFeeRecipients : feeRecipients),
      buyback: random.pick(buybackFeeRecipients),
      // A few traders set a limit so tight that the trade must fail.
      careless: random.chance(0.025),
    };
  }

  #buy(coin: Coin, sizeInSol: number): boolean {
    const number = this.#freeTrader(coin.quoteMint !== null);
    if (number === null) return false;
    const trader = this.#trader(number);
    const planned = planBuy(this.#setting(coin, trader.publicKey), Math.min(Math.max(sizeInSol, 0.005), 12));
    if (planned === null) return this.#missing(coin);
    this.#busy.add(number);
    coin.holders.add(number);
    return this.#sendTrade(planned, trader);
  }

  #sell(coin: Coin): boolean {
    const holders = [...coin.holders].filter((number) => !this.#busy.has(number));
    if (holders.length === 0) return false;
    const number = this.#random.pick(holders);
    const trader = this.#trader(number);
    const account = deriveTokenAccount(trader.publicKey, coin.mint, coin.tokenProgram).address;
    const held = tokenAmount(this.#on().account(account));
    if (held === 0n) {
      coin.holders.delete(number);
      return false;
    }
    const all = this.#random.chance(habit.sellAll);
    const amount = all ? held : (held * BigInt(20 + this.#random.below(60))) / 100n;
    const planned = planSell(this.#setting(coin, trader.publicKey), amount === 0n ? held : amount);
    if (planned === null) return this.#missing(coin);
    this.#busy.add(number);
    if (!all) return this.#sendTrade(planned, trader);
    const close = closeAccountInstruction(coin.tokenProgram, account, trader.publicKey, trader.publicKey);
    return this.#sendTrade({ ...planned, after: [...planned.after, close] }, trader);
  }

  /** The coin cannot be traded now: its curve is complete, or the coin disappeared with a dead fork. */
  #missing(coin: Coin): boolean {
    const curve = this.#curveOf(coin);
    if (curve === null && coin.createdSlot + slotsBeforeMigration < this.#on().slot) this.#book.remove(coin);
    return false;
  }

  #sendTrade(planned: PlannedTrade, trader: Keypair): boolean {
    const random = this.#random;
    const budget = [unitLimitInstruction(planned.units)];
    if (random.chance(0.7)) budget.push(unitPriceInstruction(BigInt(random.below(400) * 1_000)));
    const trade = random.chance(habit.routed) ? routed(planned.trade) : planned.trade;
    return this.#send([...budget, ...planned.before, trade, ...planned.after], trader);
  }

  /** `withoutKey`: further signers, without a private key. */
  #send(instructions: readonly Instruction[], payer: Keypair, withoutKey: readonly string[] = []): boolean {
    const chain = this.#on();
    const version = this.#random.chance(habit.legacyMessage) ? 'legacy' : 0;
    const { blockhash } = chain.latestBlockhash();
    const wire = signTransaction({ version, recentBlockhash: blockhash, instructions, signers: [payer], withoutKey });
    return chain.send(wire, { skipPreflight: true, isTrusted: true }).ok;
  }

  /** The creator's own purchase in the transaction that creates the coin. */
  #devBuy(coin: NewCoin, user: string): Instruction[] {
    const curve: Curve = {
      virtualToken: 0n,
      virtualQuote: 0n,
      realToken: 0n,
      realQuote: 0n,
      supply: 0n,
      complete: false,
      creator: coin.holderReward ? holderRewardsOf(coin.mint) : coin.creator,
      mayhem: coin.mayhem,
      cashback: coin.cashback,
      quoteMint: systemProgram,
      creatorFeeBps: coin.creatorFeeBps,
      canEditCreatorFee: false,
      holderReward: coin.holderReward,
    };
    const lamports = BigInt(Math.round(Math.min(this.#random.around(0.4, 1), 5) * 1e9));
    const trade = {
      mint: coin.mint,
      tokenProgram: token2022Program,
      curve,
      user,
      feeRecipient: this.#random.pick(feeRecipients),
      buyback: this.#random.pick(buybackFeeRecipients),
      amount: lamports,
      limit: 1n,
    };
    return [associatedTokenInstruction(user, user, coin.mint, token2022Program, true), legacyBuy(trade, true)];
  }

  #migrateCompleted(): void {
    const chain = this.#on();
    for (const coin of this.#book.onCurve.slice()) {
      const curve = this.#curveOf(coin);
      if (curve === null || !curve.complete) continue;
      coin.completedSlot ??= chain.slot;
      const quoteMint = coin.quoteMint ?? wrappedSolMint;
      const pool = canonicalPoolOf(coin.mint, quoteMint);
      if (chain.account(pool) !== null) {
        this.#book.moveToPool(coin, pool);
        continue;
      }
      if (chain.slot < coin.completedSlot + slotsBeforeMigration) continue;
      // Sent again after a while: the first one may have disappeared with a dead fork.
      coin.completedSlot = chain.slot;
      const user = this.migrator.publicKey;
      const boost = this.#random.chance(this.#settings.boostedShare);
      const instruction =
        coin.quoteMint === null
          ? migrate(coin.mint, coin.tokenProgram, user, boost)
          : migrateV2(coin.mint, coin.tokenProgram, quoteMint, user, boost);
      this.#send([unitLimitInstruction(800_000), instruction], this.migrator);
    }
  }

  /** Checks a few wallets in turn, and funds the poor ones. */
  #feedWallets(): void {
    const chain = this.#on();
    const checked = [this.migrator.publicKey, this.maker.publicKey];
    for (let i = 0; i < maxAirdropsPerSlot; i++) {
      this.#nextChecked = (this.#nextChecked + 1) % this.traders.length;
      checked.push(this.#trader(this.#nextChecked).publicKey);
      this.#restockUsdc(this.#nextChecked);
    }
    for (const address of checked) {
      if ((chain.account(address)?.lamports ?? 0n) < poorLamports) chain.airdrop(address, airdropLamports);
    }
  }

  #restockUsdc(number: number): void {
    if (!this.#hasUsdc(number) || this.#busy.has(number)) return;
    const trader = this.#trader(number);
    const user = trader.publicKey;
    const traderUsdc = deriveTokenAccount(user, usdcMint, tokenProgram).address;
    if (tokenAmount(this.#on().account(traderUsdc)) >= poorUsdc) return;
    const traderSol = deriveTokenAccount(user, wrappedSolMint, tokenProgram).address;
    this.#busy.add(number);
    this.#send(
      [
        associatedTokenInstruction(user, user, wrappedSolMint, tokenProgram, true),
        transferInstruction(user, traderSol, restockSol),
        syncNativeInstruction(tokenProgram, traderSol),
        whirlpoolSwapInstruction({ trader: user, traderSol, traderUsdc, amount: restockSol, sellsSol: true }),
        closeAccountInstruction(tokenProgram, traderSol, user, user),
      ],
      trader,
    );
  }

  /** Whether somebody outside the market holds the coin. */
  #isHeldOutside(coin: Coin): boolean {
    const own = new Set([coin.curve, coin.pool, poolAuthorityOf(coin.mint), mayhemSolVault]);
    let scanned = 0;
    for (const [, account] of this.#on().tokenAccountsOfMint(coin.mint)) {
      if (++scanned > maxHoldersScanned) return true;
      if (tokenFields.amount(account.data) === 0n) continue;
      const holder = tokenFields.owner(account.data);
      if (!own.has(holder) && !this.#numbers.has(holder)) return true;
    }
    return false;
  }

  #retire(coin: Coin): void {
    const chain = this.#on();
    const pool = canonicalPoolOf(coin.mint, coin.quoteMint ?? wrappedSolMint);
    const curve = this.#curveOf(coin);
    const lpMint = lpMintOf(pool);
    const addresses = [coin.mint, coin.curve, pool, lpMint, poolAuthorityOf(coin.mint)];
    for (const mint of [coin.mint, lpMint]) for (const [address] of chain.tokenAccountsOfMint(mint)) addresses.push(address);
    for (const owner of [coin.curve, pool, poolAuthorityOf(coin.mint), boostAuthorityOf(pool)]) {
      for (const [address] of chain.tokenAccountsOf(owner)) addresses.push(address);
    }
    if (curve?.holderReward === true) addresses.push(creatorVaultOf(curve.creator));
    chain.retire([...new Set(addresses)]);
  }
}
