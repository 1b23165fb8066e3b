import type { AuditEntry, SpendSum } from '../audit/entry.ts';

const hourMs = 3_600_000;
const dayMs = 86_400_000;
/** Maximum number of pairs of wallet and coin counted on one day. Above this limit, a further pair is treated as over every limit. */
const maxTokenSums = 65_536;
/** Periods of one kind that are retained. Only a gateway that states old times makes them so many. */
const maxPeriods = 64;

/** Maximum amount that can have left one wallet, in lamports. `token`: for one coin on this day. */
export interface Spent {
  readonly hour: bigint;
  readonly day: bigint;
  /** Null: unknown, because too many coins were traded today. */
  readonly token: bigint | null;
}

/**
 * The SOL that signed messages can spend, by wallet, in UTC hours and days. What was counted in a later period came from a clock that was
 * ahead, and counts as of now. The previous period is retained, so that nothing is forgotten if the clock is set back across its end.
 */
export interface Spend {
  /** The sums of the period that contains `atMs`. */
  of(wallet: string, mint: string, atMs: number): Spent;
  /**
   * Counts a signature of `atMs`. A negative amount removes one that was not given. `endedMs`: periods before it, except the previous one, count
   * no more.
   */
  add(wallet: string, mint: string | null, lamports: bigint, atMs: number, endedMs?: number): void;
  /** Counts an entry of an audit log as of the time at which it was written, as far as that is known. */
  recall(entry: AuditEntry, atMs: number): void;
  sums(): readonly SpendSum[];
}

interface Counter {
  readonly kind: SpendSum[0];
  readonly lengthMs: number;
  /** By period, in ascending order: hours or days since 1970. */
  readonly periods: Map<number, Map<string, bigint>>;
}

export function createSpend(): Spend {
  const counter = (kind: SpendSum[0], lengthMs: number): Counter => ({ kind, lengthMs, periods: new Map() });
  const [hour, day, token] = [counter('hour', hourMs), counter('day', dayMs), counter('token', dayMs)];
  const all = [hour, day, token];
  const keyOf = ({ kind }: Counter, wallet: string, mint: string | null): string => (kind === 'token' ? `${wallet}|${mint}` : wallet);
  const add = (wallet: string, mint: string | null, lamports: bigint, atMs: number): void => {
    for (const to of all) if (to !== token || mint !== null) addTo(to, periodOf(to, atMs), keyOf(to, wallet, mint), lamports);
  };
  return {
    of: (wallet, mint, atMs) => {
      const spent = (from: Counter): bigint | null => sumFrom(from, periodOf(from, atMs), keyOf(from, wallet, mint));
      return { hour: spent(hour) ?? 0n, day: spent(day) ?? 0n, token: spent(token) };
    },
    add: (wallet, mint, lamports, atMs, endedMs = atMs) => {
      for (const to of all) dropBefore(to, periodOf(to, endedMs) - 1);
      add(wallet, mint, lamports, atMs);
    },
    recall: (entry, atMs) => {
      if (entry.event === 'sums') {
        for (const [kind, period, key, lamports] of entry.sums) {
          const to = all.find((one) => one.kind === kind)!;
          addTo(to, Math.min(period, periodOf(to, atMs)), key, BigInt(lamports));
        }
      } else if (entry.event === 'void') add(entry.wallet, entry.mint, -BigInt(entry.lamports), atMs);
      else if (entry.event === 'decision' && entry.wallet !== null && entry.lamports !== null)
        add(entry.wallet, entry.mint ?? null, BigInt(entry.lamports), atMs);
    },
    sums: () =>
      all.flatMap(({ kind, periods }) =>
        [...periods]
          .toSorted(([a], [b]) => a - b)
          .flatMap(([period, sums]) => [...sums].map(([key, lamports]): SpendSum => [kind, period, key, lamports.toString()])),
      ),
  };
}

function periodOf({ lengthMs }: Counter, atMs: number): number {
  return Math.floor(atMs / lengthMs);
}

/** Null: unknown, because a period has too many coins. */
function sumFrom({ kind, periods }: Counter, first: number, key: string): bigint | null {
  let sum = 0n;
  for (const [period, sums] of periods) {
    if (period < first) continue;
    const one = sums.get(key);
    if (one === undefined && kind === 'token' && sums.size >= maxTokenSums) return null;
    sum += one ?? 0n;
  }
  return sum;
}

function dropBefore({ periods }: Counter, first: number): void {
  for (const period of periods.keys()) if (period < first) periods.delete(period);
}

function addTo({ kind, periods }: Counter, period: number, key: string, lamports: bigint): void {
  const sums = periods.get(period) ?? new Map<string, bigint>();
  periods.set(period, sums);
  if (periods.size > maxPeriods) periods.delete(Math.min(...periods.keys()));
  const before = sums.get(key);
  if (before === undefined && kind === 'token' && sums.size >= maxTokenSums) return;
  const sum = (before ?? 0n) + lamports;
  sums.set(key, sum > 0n ? sum : 0n);
}
