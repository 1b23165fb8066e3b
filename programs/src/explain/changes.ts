import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { Explanation } from '@sluice/shared/wire/rest/explain.ts';

type Changes = Explanation['changes'];
interface Sums {
  lamports: bigint;
  rent: bigint;
  readonly tokens: Map<string, { amount: bigint; decimals: number }>;
}

/**
 * What a transaction changed, by wallet. A token account counts for its owner: its tokens, and its rent. The lamports of an account of wrapped SOL
 * are tokens. The sum of all lamports, rent and wrapped SOL is minus the fee.
 */
export function changesOf(view: TransactionView, meta: Readonly<Record<string, unknown>>): Changes {
  const wallets = new Map<string, Sums>();
  const sumsOf = (wallet: string): Sums => {
    const known = wallets.get(wallet);
    if (known !== undefined) return known;
    const sums: Sums = { lamports: 0n, rent: 0n, tokens: new Map() };
    wallets.set(wallet, sums);
    return sums;
  };
  const owners = new Map<string, string>();
  const wrapped = new Map<string, bigint>();
  for (const { account, mint, owner, decimals, before, after } of view.tokenBalances ?? []) {
    const wallet = owner ?? account;
    owners.set(account, wallet);
    if (mint === wrappedSolMint) wrapped.set(account, after - before);
    if (after === before) continue;
    const { tokens } = sumsOf(wallet);
    const token = tokens.get(mint) ?? { amount: 0n, decimals };
    token.amount += after - before;
    tokens.set(mint, token);
  }
  const [before, after] = [lamportsIn(meta['preBalances']), lamportsIn(meta['postBalances'])];
  for (const [index, account] of view.accountKeys.entries()) {
    const change = (after[index] ?? 0n) - (before[index] ?? 0n);
    const owner = owners.get(account);
    if (owner === undefined) {
      if (change !== 0n) sumsOf(account).lamports += change;
      continue;
    }
    const rent = change - (wrapped.get(account) ?? 0n);
    if (rent !== 0n) sumsOf(owner).rent += rent;
  }
  return [...wallets].flatMap(([wallet, { lamports, rent, tokens }]) => {
    const moved = [...tokens].filter(([, { amount }]) => amount !== 0n);
    if (lamports === 0n && rent === 0n && moved.length === 0) return [];
    const changed = moved.map(([mint, { amount, decimals }]) => ({ mint, amount: `${amount}`, decimals }));
    return [{ wallet, lamports: `${lamports}`, rentLamports: `${rent}`, tokens: changed }];
  });
}

function lamportsIn(balances: unknown): readonly bigint[] {
  if (!Array.isArray(balances)) return [];
  return balances.map((balance) => (typeof balance === 'number' && Number.isSafeInteger(balance) ? BigInt(balance) : 0n));
}

/** Compute units that the node reports; null if it does not. */
export function computeUnitsOf(meta: Readonly<Record<string, unknown>>): number | null {
  const units = meta['computeUnitsConsumed'];
  return typeof units === 'number' && Number.isSafeInteger(units) && units >= 0 ? units : null;
}

/** The parsed form of an instruction in the encoding `jsonParsed`: its name and its arguments; null if there is none. */
export function parsedForm(instruction: unknown): { readonly name: string; readonly info: unknown } | null {
  if (!isRecord(instruction) || instruction['parsed'] === undefined) return null;
  const { parsed } = instruction;
  if (typeof parsed === 'string') return { name: 'memo', info: { text: parsed } };
  return isRecord(parsed) && typeof parsed['type'] === 'string' ? { name: parsed['type'], info: parsed['info'] ?? null } : null;
}
