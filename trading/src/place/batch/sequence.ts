import type { TokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { wrongFields, type QuoteRefusal } from '../../quote/best-quote.ts';
import type { MarketRead } from '../../quote/markets.ts';
import { outlayOf, type LamportsAt } from '../../prepare/outlay.ts';
import type { PreparedTrade } from '../../prepare/prepare.ts';
import type { PriceParts } from '../../prepare/quote-order.ts';
import type { TradeRequest } from '../../prepare/request.ts';
import type { WalletRead } from '../../state/hot-wallets.ts';

type State = PriceParts['state'];

/** How orders change a wallet. */
interface WalletChange {
  lamports: bigint;
  /** By the address of the token account. Raw units. */
  readonly tokens: Map<string, { readonly mint: string; amount: bigint }>;
}

/** Nothing is known to exist, so every account of a program is paid for. */
const noAccounts: LamportsAt = () => 0n;

/**
 * The state that orders leave, one after the other, if each trades exactly as quoted. The next order is quoted on it. It follows from the quotes
 * alone, so no node can make it up.
 */
export class Sequence {
  readonly #base: State;
  /** The markets that orders have moved, by coin: every order of a coin continues from the same read. */
  readonly #markets = new Map<string, MarketRead>();
  /** The newest read of each coin. */
  readonly #read = new Map<string, MarketRead>();
  /** Coins whose pool an order has moved to an unknown state, to the place of that order. */
  readonly #unknown = new Map<string, number>();
  readonly #wallets = new Map<string, WalletChange>();
  #orders = 0;

  constructor(state: State) {
    this.#base = state;
  }

  /** The state after the orders that were added. */
  get state(): State {
    const { markets, wallets, blockhashes, fees, rent } = this.#base;
    const read = (mint: string): MarketRead | Promise<MarketRead> => this.#markets.get(mint) ?? this.#noteRead(mint, markets.read(mint));
    const readAgreed = async (mint: string, slot: number): Promise<MarketRead> => {
      const moved = this.#markets.get(mint);
      // The wallet was read later. Its sale continues from the same market all the same.
      return moved === undefined
        ? await this.#noteRead(mint, markets.readAgreed(mint, slot))
        : { ...moved, slot: Math.max(moved.slot, slot) };
    };
    const changed = {
      read: async (...asked: Parameters<State['wallets']['read']>) => this.#after(asked[0], await wallets.read(...asked)),
      readAgreed: async (...asked: Parameters<State['wallets']['readAgreed']>) => this.#after(asked[0], await wallets.readAgreed(...asked)),
    };
    return { markets: { read, readAgreed }, wallets: changed, blockhashes, fees, rent };
  }

  /** Why the order cannot be quoted after those before it; null if it can. */
  fault({ order: { mint } }: TradeRequest): QuoteRefusal | null {
    const mover = this.#unknown.get(mint);
    if (mover === undefined) return null;
    return wrongFields({
      [`orders.${this.#orders}.mint`]: `cannot be quoted after orders.${mover}: what that order leaves of its pool cannot be computed on this venue`,
    });
  }

  /** The order becomes part of the sequence. */
  add({ order: { mint }, publicKey }: TradeRequest, prepared: PreparedTrade): void {
    this.#moveMarket(mint, prepared);
    this.#moveWallet(publicKey, prepared);
    this.#orders++;
  }

  async #noteRead(mint: string, reading: MarketRead | Promise<MarketRead>): Promise<MarketRead> {
    const read = await reading;
    this.#read.set(mint, read);
    return read;
  }

  #moveMarket(mint: string, { quoted: { pool, quote } }: PreparedTrade): void {
    const read = this.#markets.get(mint) ?? this.#read.get(mint);
    const left = pool.after?.(quote) ?? null;
    if (read?.result.kind !== 'market' || left === null) {
      this.#unknown.set(mint, this.#orders);
      return;
    }
    const { market } = read.result;
    const pools = market.pools.map((one) => (one.pool.address === pool.address ? { ...one, pool: left } : one));
    this.#markets.set(mint, { ...read, result: { ...read.result, market: { ...market, pools } } });
  }

  #moveWallet(publicKey: string, { quoted: { quote }, outlay: terms }: PreparedTrade): void {
    const change = this.#wallets.get(publicKey) ?? { lamports: 0n, tokens: new Map() };
    this.#wallets.set(publicKey, change);
    const { fee, all } = outlayOf(terms, noAccounts);
    change.lamports -= fee + all;
    const { baseMint, baseAccount, quoteMint, quoteAccount } = terms.built.trade;
    const move = (address: string, mint: string, amount: bigint): void => {
      const known = change.tokens.get(address) ?? { mint, amount: 0n };
      known.amount += amount;
      change.tokens.set(address, known);
    };
    const sign = quote.side === 'buy' ? 1n : -1n;
    move(baseAccount, baseMint, sign * quote.baseAmount);
    if (quoteAccount !== null && quoteMint !== wrappedSolMint) move(quoteAccount, quoteMint, -sign * quote.traderQuote);
  }

  #after(publicKey: string, read: WalletRead): WalletRead {
    const change = this.#wallets.get(publicKey);
    if (change === undefined) return read;
    const tokenAccounts = new Map<string, TokenAccount | null>(read.tokenAccounts);
    const unownedLamports = new Map(read.unownedLamports);
    for (const [address, { mint, amount }] of change.tokens) {
      if (!tokenAccounts.has(address)) continue;
      const before = tokenAccounts.get(address) ?? { mint, owner: publicKey, amount: 0n, frozen: false };
      tokenAccounts.set(address, { ...before, amount: before.amount + amount });
      unownedLamports.delete(address);
    }
    const lamports = read.lamports + change.lamports;
    return { ...read, lamports: lamports < 0n ? 0n : lamports, tokenAccounts, unownedLamports };
  }
}
