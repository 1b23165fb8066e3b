import {
  maxPaperAccounts,
  maxPaperChains,
  paperStartLamports,
  type PaperAccount,
  type PaperBalance,
  type PaperMovement,
  type PaperPlace,
  type PaperRefusal,
  type PaperSetting,
  type PaperTable,
} from '../../../interfaces/paper-table.ts';
import { integer, text, textOrNull, type Database, type Sql, type SqlRow } from '../../database.ts';

/** Transactions that change this wallet exclude each other. */
export function paperLock(wallet: string): string {
  return `paper ${wallet}`;
}

export function paperTable(db: Database): PaperTable {
  return {
    balance: (place) => balanceOf(db, place),
    set: (place, setting) => db.transaction('orders', (sql) => set(sql, place, setting), paperLock(place.wallet)),
  };
}

/** One statement, so that it never shows a half of an order. Amounts are text, because they can exceed 2^53. */
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
  const accounts = rows.flatMap((row) => (row['address'] === null ? [] : [readAccount(row)]));
  return {
    lamports: BigInt(text(first['lamports'])),
    startLamports: BigInt(text(first['start_lamports'])),
    startedAtMs: integer(first['started_at_ms']),
    accounts: new Map(accounts.map((account) => [account.address, account])),
  };
}

function readAccount(row: SqlRow): PaperAccount {
  const [mint, program] = [textOrNull(row['mint']), textOrNull(row['token_program'])];
  return {
    address: text(row['address']),
    token: mint === null || program === null ? null : { mint, program },
    amount: BigInt(text(row['amount'])),
  };
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
  const short = changed.find(({ amount }) => amount < 0n);
  if (short !== undefined) return { kind: 'short', unit: 'tokens', have: short.have, need: short.have - short.amount };
  const others = [...before.accounts.values()].filter(({ address }) => !changed.some((one) => one.address === address));
  const isFull = others.length + changed.length > maxPaperAccounts;
  if (isFull && others.filter(({ amount }) => amount > 0n).length + changed.length > maxPaperAccounts) return { kind: 'full' };
  await writeWallet(sql, movement, { ...before, lamports, startedAtMs: before.startedAtMs ?? atMs });
  const { wallet, genesisHash } = movement;
  if (isFull) await sql.run("DELETE FROM paper_accounts WHERE wallet = ? AND genesis_hash = ? AND amount = '0'", wallet, genesisHash);
  for (const { address, token, amount } of changed) {
    await sql.run(
      `INSERT INTO paper_accounts (wallet, genesis_hash, address, mint, token_program, amount) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (wallet, genesis_hash, address) DO UPDATE SET amount = excluded.amount`,
      wallet,
      genesisHash,
      address,
      token?.mint ?? null,
      token?.program ?? null,
      String(amount),
    );
  }
  return null;
}

async function writeWallet(
  sql: Sql,
  { wallet, genesisHash }: PaperPlace,
  { lamports, startLamports, startedAtMs }: Omit<PaperBalance, 'accounts'> & { readonly startedAtMs: number },
): Promise<void> {
  await sql.run(
    `DELETE FROM paper_wallets WHERE wallet = ? AND genesis_hash <> ? AND genesis_hash NOT IN
       (SELECT genesis_hash FROM paper_wallets WHERE wallet = ? AND genesis_hash <> ? ORDER BY started_at_ms DESC LIMIT ${maxPaperChains - 1})`,
    wallet,
    genesisHash,
    wallet,
    genesisHash,
  );
  await sql.run(
    `INSERT INTO paper_wallets (wallet, genesis_hash, lamports, start_lamports, started_at_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (wallet, genesis_hash) DO UPDATE
     SET lamports = excluded.lamports, start_lamports = excluded.start_lamports, started_at_ms = excluded.started_at_ms`,
    wallet,
    genesisHash,
    String(lamports),
    String(startLamports),
    startedAtMs,
  );
}
