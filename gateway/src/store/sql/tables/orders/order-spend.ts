import { integer, nullable, Table, text, type RowOf } from '../../columns.ts';
import type { Sql, SqlValue } from '../../database.ts';
import { storedBeforeMs } from '../../running-hours.ts';

const dayMs = 24 * 3_600_000;
/** For how long the sums are stored. */
const spendRetentionMs = 7 * dayMs;
/** Maximum amount that is counted: a JavaScript number is exact up to here, and one day's spend stays far below. */
const maxLamports = BigInt(Number.MAX_SAFE_INTEGER);

/** Maximum amount that an order can take from the wallet. It counts towards the wallet's day (UTC, by `createdAtMs`). */
export interface SpendReservation {
  readonly wallet: string;
  readonly lamports: bigint;
  /** The limit for all reservations of the day together, including this one. Null: no limit. */
  readonly dayLimitLamports: bigint | null;
}

/** The reservation would exceed the wallet's day limit. */
export interface OverDayLimit {
  readonly kind: 'over_day_limit';
  readonly spentLamports: bigint;
  readonly limitLamports: bigint;
}

/** Days since 1970, UTC. */
function dayOf(atMs: number): number {
  return Math.floor(atMs / dayMs);
}

/** What a wallet reserved on later days. These reservations came from a clock that was ahead, and count as of today. */
const laterSum = 'SELECT coalesce(sum(later.lamports), 0) FROM order_spend later WHERE later.wallet = ? AND later.day > ?';

/** Adds a reservation to the wallet's day, within a transaction. Null: done. Otherwise the refusal, and nothing was added. */
export async function reserveSpend(
  sql: Sql,
  { wallet, lamports, dayLimitLamports }: SpendReservation,
  atMs: number,
): Promise<OverDayLimit | null> {
  if (lamports < 0n || lamports > maxLamports) throw new RangeError('the lamports to reserve must be from 0 to 2^53 - 1');
  const limit = dayLimitLamports === null || dayLimitLamports > maxLamports ? maxLamports : dayLimitLamports;
  if (lamports <= limit) {
    // A single statement, so that the second of two simultaneous calls sees the first one's sum.
    const [day, left] = [dayOf(atMs), Number(limit - lamports)];
    const add = `INSERT INTO order_spend (wallet, day, lamports)
                 SELECT CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT) WHERE (${laterSum}) <= ?
                 ON CONFLICT (wallet, day) DO UPDATE SET lamports = order_spend.lamports + excluded.lamports
                 WHERE order_spend.lamports + (${laterSum}) <= ?`;
    const counted = await sql.run(add, wallet, day, Number(lamports), wallet, day, left, wallet, day, left);
    if (counted > 0) return null;
  }
  return { kind: 'over_day_limit', spentLamports: await spentLamports(sql, wallet, atMs), limitLamports: limit };
}

export async function spentLamports(sql: Sql, wallet: string, atMs: number): Promise<bigint> {
  const sum = 'SELECT CAST(coalesce(sum(lamports), 0) AS BIGINT) AS lamports FROM order_spend WHERE wallet = ? AND day >= ?';
  return BigInt(integer.read((await sql.get(sum, wallet, dayOf(atMs)))?.['lamports']));
}

/** The columns of an order with its reservation. */
export const reservations = new Table('orders', {
  wallet: { ...nullable(text), name: 'spend_wallet' },
  day: { ...nullable(integer), name: 'spend_day' },
  lamports: { ...nullable(integer), name: 'spend_lamports' },
});

export function reservedValues(spend: SpendReservation | null, atMs: number): Readonly<Record<string, SqlValue>> {
  return spend === null ? {} : reservations.write({ wallet: spend.wallet, day: dayOf(atMs), lamports: Number(spend.lamports) });
}

/** Releases reservations, within a transaction. The wallets are always updated in the same order, so that two transactions cannot deadlock. */
export async function releaseSpend(sql: Sql, reserved: readonly RowOf<typeof reservations>[]): Promise<void> {
  const sums = new Map<string, { readonly wallet: string; readonly day: number; lamports: number }>();
  for (const { wallet, day, lamports } of reserved) {
    if (wallet === null || day === null || lamports === null) continue;
    const key = `${wallet} ${day}`;
    const sum = sums.get(key) ?? { wallet, day, lamports: 0 };
    sum.lamports += lamports;
    sums.set(key, sum);
  }
  for (const key of [...sums.keys()].sort()) {
    const { wallet, day, lamports } = sums.get(key)!;
    await sql.run('UPDATE order_spend SET lamports = lamports - ? WHERE wallet = ? AND day = ?', lamports, wallet, day);
  }
}

/** Deletes old sums, within a transaction. */
export async function forgetSpend(sql: Sql): Promise<void> {
  const beforeMs = await storedBeforeMs(sql, spendRetentionMs);
  if (beforeMs !== null) await sql.run('DELETE FROM order_spend WHERE day < ?', dayOf(beforeMs));
}
