import { amount, insertRow, integer, Table, text } from '../../columns.ts';
import type { Database, Sql, SqlRow } from '../../database.ts';

/** A token account of a paper wallet, or an account of a program for which it paid the rent (`token` is null). */
export interface PaperAccount {
  readonly address: string;
  readonly token: { readonly mint: string; readonly program: string } | null;
  /** Raw units. */
  readonly amount: bigint;
}

/** What a paper wallet has on one chain. */
export interface PaperBalance {
  readonly lamports: bigint;
  /** What its owner put into it. The result of its trades is the difference. */
  readonly startLamports: bigint;
  /** Since when its result counts. Null: it has not traded on this chain, and its owner has set nothing. */
  readonly startedAtMs: number | null;
  readonly accounts: ReadonlyMap<string, PaperAccount>;
}

/** A paper wallet on one chain, by its genesis hash. */
export interface PaperPlace {
  readonly wallet: string;
  readonly genesisHash: string;
}

/** What an order on paper changes. All changes are signed. */
export interface PaperMovement extends PaperPlace {
  readonly lamports: bigint;
  /** Accounts that the order opened or whose amount it changed; `amount` is the change. */
  readonly accounts: readonly PaperAccount[];
}

/** Why a movement was refused. `short`: the wallet has less than it gives. `full`: it has `maxPaperAccounts` accounts with tokens. */
export type PaperRefusal =
  | { readonly kind: 'short'; readonly unit: 'lamports' | 'tokens'; readonly have: bigint; readonly need: bigint }
  | { readonly kind: 'full' };

interface PaperSetting {
  readonly lamports: bigint;
  /** Also removes all accounts, and the result counts from now on. Otherwise the result stays as it is. */
  readonly reset: boolean;
  readonly atMs: number;
}

/** What a paper wallet begins with: 10 SOL. */
export const paperStartLamports = 10_000_000_000n;
/** Maximum number of accounts of a paper wallet on one chain. Beyond that, empty ones are forgotten; if none is empty, the order is refused. */
export const maxPaperAccounts = 1_000;
/** Maximum number of chains on which a paper wallet has a balance. Beyond that, the oldest balance is forgotten. */
export const maxPaperChains = 8;

/** Transactions that change this wallet exclude each other. */
export function paperLock(wallet: string): string {
  return `paper ${wallet}`;
}

export type PaperTable = ReturnType<typeof paperTable>;

/**
 * The balances of paper wallets. On each chain a wallet begins with `paperStartLamports`. Orders on paper change the balances through
 * `OrderTable.insert`, in the transaction that stores the order.
 */
export function paperTable(db: Database) {
  return {
    /** Stores nothing. */
    balance: (place: PaperPlace) => balanceOf(db, place),
    /** Resolves with the new balance. */
    set: (place: PaperPlace, setting: PaperSetting) => db.transaction('orders', (sql) => set(sql, place, setting), paperLock(place.wallet)),
  };
}

const wallets = new Table('paper_wallets', { lamports: amount, startLamports: amount, startedAtMs: integer });
const accounts = new Table('paper_accounts', { address: text, amount });

/** One statement, so that it never shows a half of an order. */
async function balanceOf(sql: Sql, { wallet, genesisHash }: PaperPlace): Promise<PaperBalance> {
  const rows = await sql.all(
    `SELECT w.lamports, w.start_lamports, w.started_at_ms, a.address, a.mint, a.token_program, a.amount
     FROM paper_wallets w LEFT JOIN paper_accounts a ON a.wallet = w.wallet AND a.genesis_hash = w.genesis_hash
     WHERE w.wallet = ? AND w.genesis_hash = ?`,
    wallet,
    genesisHash,
  );
  const [first] = rows;
  if (first === undefined)
    return { lamports: paperStartLamports, startLamports: paperStartLamports, startedAtMs: null, accounts: new Map() };
  const own = rows.flatMap((row) => (row['address'] === null ? [] : [readAccount(row)]));
  return { ...wallets.read(first), accounts: new Map(own.map((account) => [account.address, account])) };
}

function readAccount(row: SqlRow): PaperAccount {
  const { mint, token_program: program } = row;
  return { ...accounts.read(row), token: mint === null ? null : { mint: text.read(mint), program: text.read(program) } };
}

async function set(sql: Sql, place: PaperPlace, { lamports, reset, atMs }: PaperSetting): Promise<PaperBalance> {
  const { wallet, genesisHash } = place;
  const before = await balanceOf(sql, place);
  const startLamports = reset ? lamports : before.startLamports + lamports - before.lamports;
  await writeWallet(sql, place, { lamports, startLamports, startedAtMs: reset ? atMs : (before.startedAtMs ?? atMs) });
  if (reset) await sql.run('DELETE FROM paper_accounts WHERE wallet = ? AND genesis_hash = ?', wallet, genesisHash);
  return balanceOf(sql, place);
}

/** Changes the balance by an order, within its transaction. Null: done. Otherwise the refusal, and nothing was changed. */
export async function movePaper(sql: Sql, movement: PaperMovement, atMs: number): Promise<PaperRefusal | null> {
  const before = await balanceOf(sql, movement);
  const lamports = before.lamports + movement.lamports;
  if (lamports < 0n) return { kind: 'short', unit: 'lamports', have: before.lamports, need: -movement.lamports };
  const changed = movement.accounts.map((account) => {
    const have = before.accounts.get(account.address)?.amount ?? 0n;
    return { ...account, have, amount: have + account.amount };
  });
  const short = changed.find((account) => account.amount < 0n);
  if (short !== undefined) return { kind: 'short', unit: 'tokens', have: short.have, need: short.have - short.amount };
  const others = [...before.accounts.values()].filter(({ address }) => !changed.some((one) => one.address === address));
  const isFull = others.length + changed.length > maxPaperAccounts;
  if (isFull && others.filter((other) => other.amount > 0n).length + changed.length > maxPaperAccounts) return { kind: 'full' };
  await writeWallet(sql, movement, { ...before, lamports, startedAtMs: before.startedAtMs ?? atMs });
  const { wallet, genesisHash } = movement;
  if (isFull) await sql.run("DELETE FROM paper_accounts WHERE wallet = ? AND genesis_hash = ? AND amount = '0'", wallet, genesisHash);
  for (const { token, ...account } of changed) {
    const values = { wallet, genesis_hash: genesisHash, mint: token?.mint ?? null, token_program: token?.program ?? null };
    const replace = 'ON CONFLICT (wallet, genesis_hash, address) DO UPDATE SET amount = excluded.amount';
    await insertRow(sql, 'paper_accounts', { ...values, ...accounts.write(account) }, replace);
  }
  return null;
}

async function writeWallet(
  sql: Sql,
  { wallet, genesisHash }: PaperPlace,
  balance: Omit<PaperBalance, 'accounts'> & { readonly startedAtMs: number },
): Promise<void> {
  await sql.run(
    `DELETE FROM paper_wallets WHERE wallet = ? AND genesis_hash <> ? AND genesis_hash NOT IN
       (SELECT genesis_hash FROM paper_wallets WHERE wallet = ? AND genesis_hash <> ? ORDER BY started_at_ms DESC LIMIT ${maxPaperChains - 1})`,
    wallet,
    genesisHash,
    wallet,
    genesisHash,
  );
  const replace = `ON CONFLICT (wallet, genesis_hash) DO UPDATE
    SET lamports = excluded.lamports, start_lamports = excluded.start_lamports, started_at_ms = excluded.started_at_ms`;
  await insertRow(sql, 'paper_wallets', { wallet, genesis_hash: genesisHash, ...wallets.write(balance) }, replace);
}
