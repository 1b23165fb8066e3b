import { SluiceError, type Sluice } from '@sluice/client';
import { quoteCoins } from '@sluice/shared/wire/values/money.ts';

/** Symbols that are remembered. The oldest are dropped. */
const maxNames = 5_000;
/** A gateway reads an unknown token from the chain, so a busy market must not cause more reads than this. */
const readsPerSecond = 10;
const maxReads = 4;

/** Symbols of tokens, by mint: from events, or else from the gateway. */
export class Names {
  readonly #sluice: Pick<Sluice, 'tokenInfo'>;
  readonly #signal: AbortSignal;
  /** Null: the symbol is being read, or the gateway does not know it. */
  readonly #symbols = new Map<string, string | null>();
  #reads = 0;
  #secondBeganMs = 0;
  #readsInSecond = 0;
  #mayRead = true;

  constructor(sluice: Pick<Sluice, 'tokenInfo'>, signal: AbortSignal) {
    this.#sluice = sluice;
    this.#signal = signal;
  }

  symbolOf(mint: string): string | null {
    // SOL and USDC have no metadata, or metadata that says something else (Wrapped SOL).
    return quoteCoins.get(mint)?.symbol ?? this.#symbols.get(mint) ?? null;
  }

  learn(mint: string, symbol: string | null): void {
    this.#symbols.delete(mint);
    this.#symbols.set(mint, symbol);
    const [oldest] = this.#symbols.size > maxNames ? this.#symbols.keys() : [];
    if (oldest !== undefined) this.#symbols.delete(oldest);
  }

  /** Starts a read if the symbol is unknown and the limits allow it. Returns null if it starts none. */
  read(mint: string): Promise<void> | null {
    if (quoteCoins.has(mint) || this.#symbols.has(mint) || !this.#mayRead || this.#reads >= maxReads || !this.#takeRead()) return null;
    this.learn(mint, null);
    this.#reads++;
    return this.#read(mint).finally(() => this.#reads--);
  }

  /** Counts a read, if another one is allowed in this second. */
  #takeRead(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#secondBeganMs >= 1000) [this.#secondBeganMs, this.#readsInSecond] = [nowMs, 0];
    return this.#readsInSecond++ < readsPerSecond;
  }

  async #read(mint: string): Promise<void> {
    try {
      const { symbol } = await this.#sluice.tokenInfo(mint, { signal: this.#signal });
      if (symbol !== null) this.learn(mint, symbol);
    } catch (error) {
      // Lines then show addresses, as for a token without a name.
      if (error instanceof SluiceError && (error.code === 'FORBIDDEN' || error.code === 'UNAUTHENTICATED')) this.#mayRead = false;
    }
  }
}
