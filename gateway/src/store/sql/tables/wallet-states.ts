import type { LogPosition } from '@sluice/shared/bus/bus.ts';
import type { OrderKind, StoredOrder } from '../../order-model/order.ts';
import { insertRow, integer, nullable, text } from '../columns.ts';
import type { Database, Sql, SqlRow } from '../database.ts';
import { readOrder } from './orders/order-rows.ts';

/** The mode and the chain of a trading role: `live:<genesis hash>`. Each place has its own states. */
export type WalletPlace = string;

/** Places with states. Above this number, those that were unused longest are deleted. */
export const maxWalletPlaces = 8;
/** Follows of all keys. Above this number, the oldest are deleted. */
const maxWalletFollows = 10_000;
/** Orders that one call reads. */
const maxUncounted = 200;

/** What a follower stores of one wallet: a state under the mint `''`, and one for each mint. Null: deleted. */
export interface WalletRows {
  readonly wallet: string;
  readonly rows: ReadonlyMap<string, string | null>;
}

export interface StatesToSave {
  readonly place: WalletPlace;
  readonly term: number;
  readonly checkpoint: LogPosition | null;
  readonly wallets: readonly WalletRows[];
  /** Wallets whose rows are all deleted. */
  readonly dropped: readonly string[];
  /** Orders that these states now contain. */
  readonly counted: readonly string[];
  readonly atMs: number;
}

/** A key that follows a wallet. */
export interface WalletFollow {
  readonly keyId: string;
  readonly wallet: string;
  readonly askedAtMs: number;
}

/** The states of wallets that a follower of the log keeps, as the text that it writes, with its place in the log. */
export function walletStateTable(db: Database) {
  return {
    /** Begins a term, which ends all earlier ones of this place: they can store nothing any more. */
    openTerm: (place: WalletPlace, atMs: number) => db.transaction('positions', (sql) => openTerm(sql, place, atMs), place),
    /** The rows of all wallets, in the order of the wallets, and the place in the log that they contain. */
    load: async (place: WalletPlace) => {
      const term = await db.get('SELECT epoch, log_offset FROM wallet_terms WHERE place = ?', place);
      const rows = await db.all('SELECT wallet, mint, state FROM wallet_states WHERE place = ? ORDER BY wallet', place);
      return { checkpoint: term === null ? null : checkpointOf(term), wallets: rowsByWallet(rows) };
    },
    /** The rows of one wallet by mint; empty if nothing is stored of it. */
    rowsOf: async (place: WalletPlace, wallet: string): Promise<ReadonlyMap<string, string>> => {
      const rows = await db.all('SELECT mint, state FROM wallet_states WHERE place = ? AND wallet = ?', place, wallet);
      return new Map(rows.map((row) => [text.read(row['mint']), text.read(row['state'])]));
    },
    /** Stores all of it in one transaction. `fenced`: a later term has begun, or another one has counted an order; nothing was stored. */
    save: async (states: StatesToSave): Promise<'stored' | 'fenced'> => {
      try {
        await db.transaction('positions', (sql) => save(sql, states), states.place);
        return 'stored';
      } catch (error) {
        if (error instanceof Fenced) return 'fenced';
        throw error;
      }
    },
    /** Ended orders with a fill that no state contains, in order of id within a kind. */
    uncounted: async (genesisHash: string, kinds: readonly OrderKind[]): Promise<readonly StoredOrder[]> => {
      const rows = await db.all(
        `SELECT * FROM orders WHERE ended = 1 AND fill IS NOT NULL AND counted_at_ms IS NULL AND genesis_hash = ?
           AND kind IN (${kinds.map(() => '?').join(', ')}) ORDER BY kind, id LIMIT ${maxUncounted}`,
        genesisHash,
        ...kinds,
      );
      return rows.map(readOrder);
    },
    /** Notes that a key asked for a wallet. Of the wallets of the key, the `limit` that were asked for last remain. */
    follow: (follow: WalletFollow, limit: number) => db.transaction('positions', (sql) => noteFollow(sql, follow, limit), follow.keyId),
    /** What was asked for at or after a time, oldest first. */
    follows: async (sinceMs: number): Promise<readonly WalletFollow[]> => {
      const select = `SELECT key_id, wallet, asked_at_ms FROM wallet_follows WHERE asked_at_ms >= ? ORDER BY asked_at_ms LIMIT ${maxWalletFollows}`;
      return (await db.all(select, sinceMs)).map(readFollow);
    },
  };
}

class Fenced extends Error {}

async function openTerm(sql: Sql, place: WalletPlace, atMs: number): Promise<number> {
  const next = 'ON CONFLICT (place) DO UPDATE SET term = wallet_terms.term + 1, used_at_ms = excluded.used_at_ms';
  await insertRow(sql, 'wallet_terms', { place, term: 1, used_at_ms: atMs }, next);
  const others = await sql.all('SELECT place FROM wallet_terms WHERE place <> ? ORDER BY used_at_ms DESC', place);
  for (const row of others.slice(maxWalletPlaces - 1)) {
    await sql.run('DELETE FROM wallet_states WHERE place = ?', text.read(row['place']));
    await sql.run('DELETE FROM wallet_terms WHERE place = ?', text.read(row['place']));
  }
  return integer.read((await sql.get('SELECT term FROM wallet_terms WHERE place = ?', place))?.['term']);
}

async function save(sql: Sql, { place, term, checkpoint, wallets, dropped, counted, atMs }: StatesToSave): Promise<void> {
  const values = [checkpoint?.epoch ?? null, checkpoint?.offset ?? null, atMs, place, term];
  const moved = await sql.run('UPDATE wallet_terms SET epoch = ?, log_offset = ?, used_at_ms = ? WHERE place = ? AND term = ?', ...values);
  if (moved === 0) throw new Fenced();
  for (const wallet of dropped) await sql.run('DELETE FROM wallet_states WHERE place = ? AND wallet = ?', place, wallet);
  for (const { wallet, rows } of wallets) {
    for (const [mint, state] of rows) {
      if (state === null) await sql.run('DELETE FROM wallet_states WHERE place = ? AND wallet = ? AND mint = ?', place, wallet, mint);
      else {
        const replace = 'ON CONFLICT (place, wallet, mint) DO UPDATE SET state = excluded.state';
        await insertRow(sql, 'wallet_states', { place, wallet, mint, state }, replace);
      }
    }
  }
  for (const id of counted) {
    const updated = await sql.run('UPDATE orders SET counted_at_ms = ? WHERE id = ? AND counted_at_ms IS NULL', atMs, id);
    if (updated === 0) throw new Fenced();
  }
}

async function noteFollow(sql: Sql, { keyId, wallet, askedAtMs }: WalletFollow, limit: number): Promise<void> {
  const again = `ON CONFLICT (key_id, wallet) DO UPDATE SET asked_at_ms = excluded.asked_at_ms
    WHERE wallet_follows.asked_at_ms < excluded.asked_at_ms`;
  await insertRow(sql, 'wallet_follows', { key_id: keyId, wallet, asked_at_ms: askedAtMs }, again);
  await sql.run(
    `DELETE FROM wallet_follows WHERE key_id = ? AND wallet NOT IN
       (SELECT wallet FROM wallet_follows WHERE key_id = ? ORDER BY asked_at_ms DESC, wallet LIMIT ?)`,
    keyId,
    keyId,
    limit,
  );
  await sql.run(
    `DELETE FROM wallet_follows WHERE asked_at_ms <
       (SELECT asked_at_ms FROM wallet_follows ORDER BY asked_at_ms DESC LIMIT 1 OFFSET ${maxWalletFollows})`,
  );
}

function checkpointOf(row: SqlRow): LogPosition | null {
  const epoch = nullable(text).read(row['epoch']) ?? null;
  return epoch === null ? null : { epoch, offset: integer.read(row['log_offset']) };
}

function rowsByWallet(rows: readonly SqlRow[]): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const row of rows) {
    const wallet = text.read(row['wallet']);
    const own = found.get(wallet) ?? new Map<string, string>();
    found.set(wallet, own.set(text.read(row['mint']), text.read(row['state'])));
  }
  return found;
}

function readFollow(row: SqlRow): WalletFollow {
  return { keyId: text.read(row['key_id']), wallet: text.read(row['wallet']), askedAtMs: integer.read(row['asked_at_ms']) };
}
