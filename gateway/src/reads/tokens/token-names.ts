import type { FoundToken } from '@sluice/shared/wire/rest/tokens/token.ts';
import type { TokenIdentity } from './token-facts.ts';

/** Most tokens that can be found, about 300 bytes each. Above this limit, the token that was learned first is dropped. */
const maxTokens = 30_000;

interface Entry extends FoundToken {
  /** In lower case. */
  readonly symbolText: string;
  readonly nameText: string;
}

/** Names of tokens that this gateway has seen: those of creations, and those that were requested. */
export class TokenNames {
  /** By mint; the one that was learned last comes last. */
  readonly #tokens = new Map<string, Entry>();
  readonly #limit: number;

  constructor(limit = maxTokens) {
    this.#limit = limit;
  }

  /** `createdAtMs` is null if it is not known. */
  learn(mint: string, identity: Pick<TokenIdentity, 'symbol' | 'name'> | null, createdAtMs: number | null): void {
    const { symbol, name } = identity ?? { symbol: null, name: null };
    const known = this.#tokens.get(mint);
    const [symbolText, nameText] = [symbol ?? '', name ?? ''].map((text) => text.toLowerCase()) as [string, string];
    if (symbolText === '' && nameText === '') return;
    this.#tokens.delete(mint);
    this.#tokens.set(mint, { mint, symbol, name, createdAtMs: createdAtMs ?? known?.createdAtMs ?? null, symbolText, nameText });
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > this.#limit) this.#tokens.delete(oldest!);
  }

  forget(mint: string): void {
    this.#tokens.delete(mint);
  }

  /** Tokens whose symbol, name or mint contains the text: first those with just this symbol, of equal ones the one that was learned last. */
  find(text: string, limit: number): readonly FoundToken[] {
    const part = text.toLowerCase();
    const [exact, others]: [Entry[], Entry[]] = [[], []];
    for (const entry of this.#tokens.values()) {
      if (entry.symbolText === part || entry.mint === text) exact.push(entry);
      else if (entry.symbolText.includes(part) || entry.nameText.includes(part) || entry.mint.includes(text)) others.push(entry);
    }
    return [...exact.slice(-limit).toReversed(), ...others.slice(-limit).toReversed()]
      .slice(0, limit)
      .map(({ mint, symbol, name, createdAtMs }) => ({ mint, symbol, name, createdAtMs }));
  }
}
