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

/** The sums of one kind: `hour`, `day`, or `token` for one coin on one day. */
class Counter {
  readonly kind: SpendSum[0];
  readonly #lengthMs: number;
  /** By period: hours or days since 1970. */
  readonly #periods = new Map<number, Map<string, bigint>>();

  constructor(kind: SpendSum[0], lengthMs: number) {
    [this.kind, this.#lengthMs] = [kind, lengthMs];
  }

  periodOf(atMs: number): number {
    return Math.floor(atMs / this.#lengthMs);
  }

  keyOf(wallet: string, mint: string | null): string {
    return this.kind === 'token' ? `${wallet}|${mint}` : wallet;
  }

  /** Null: unknown, because a period has too many coins. */
  sumFrom(first: number, key: string): bigint | null {
    let sum = 0n;
    for (const [period, sums] of this.#periods) {
      if (period < first) continue;
      const one = sums.get(key);
      if (one === undefined && this.#isFull(sums)) return null;
      sum += one ?? 0n;
    }
    return sum;
  }

  dropBefore(first: number): void {
    for (const period of this.#periods.keys()) if (period < first) this.#periods.delete(period);
  }

  add(period: number, key: string, lamports: bigint): void {
    const sums = this.#periods.get(period) ?? new Map<string, bigint>();
    this.#periods.set(period, sums);
    if (this.#periods.size > maxPeriods) this.#periods.delete(Math.min(...this.#periods.keys()));
    const before = sums.get(key);
    if (before === undefined && this.#isFull(sums)) return;
    const sum = (before ?? 0n) + lamports;
    sums.set(key, sum > 0n ? sum : 0n);
  }

  /** In the order of the periods. */
  sums(): readonly SpendSum[] {
    const periods = [...this.#periods].toSorted(([a], [b]) => a - b);
    return periods.flatMap(([period, sums]) => [...sums].map(([key, lamports]): SpendSum => [this.kind, period, key, lamports.toString()]));
  }

  #isFull(sums: ReadonlyMap<string, bigint>): boolean {
    return this.kind === 'token' && sums.size >= maxTokenSums;
  }
}

/**
 * The SOL that signed messages can spend, by wallet, in UTC hours and days. What was counted in a later period came from a clock that was
 * ahead, and counts as of now. The previous period is retained, so that nothing is forgotten if the clock is set back across its end.
 */
export class Spend {
  readonly #hour = new Counter('hour', hourMs);
  readonly #day = new Counter('day', dayMs);
  readonly #token = new Counter('token', dayMs);
  readonly #all = [this.#hour, this.#day, this.#token];

  /** The sums of the period that contains `atMs`. */
  of(wallet: string, mint: string, atMs: number): Spent {
    const spent = (from: Counter): bigint | null => from.sumFrom(from.periodOf(atMs), from.keyOf(wallet, mint));
    return { hour: spent(this.#hour) ?? 0n, day: spent(this.#day) ?? 0n, token: spent(this.#token) };
  }

  /** Counts a signature; a negative amount removes one. Periods before that of `endedMs`, except the previous one, count no more. */
  add(wallet: string, mint: string | null, lamports: bigint, atMs: number, endedMs = atMs): void {
    for (const to of this.#all) to.dropBefore(to.periodOf(endedMs) - 1);
    this.#add(wallet, mint, lamports, atMs);
  }

  /** Counts an entry of an audit log as of the time at which it was written, as far as that is known. */
  recall(entry: AuditEntry, atMs: number): void {
    if (entry.event === 'sums') {
      for (const [kind, period, key, lamports] of entry.sums) {
        const to = this.#all.find((one) => one.kind === kind)!;
        to.add(Math.min(period, to.periodOf(atMs)), key, BigInt(lamports));
      }
    } else if (entry.event === 'void') this.#add(entry.wallet, entry.mint, -BigInt(entry.lamports), atMs);
    else if (entry.event === 'decision' && entry.wallet !== null && entry.lamports !== null)
      this.#add(entry.wallet, entry.mint ?? null, BigInt(entry.lamports), atMs);
  }

  sums(): readonly SpendSum[] {
    return this.#all.flatMap((one) => one.sums());
  }

  #add(wallet: string, mint: string | null, lamports: bigint, atMs: number): void {
    for (const to of this.#all) if (to !== this.#token || mint !== null) to.add(to.periodOf(atMs), to.keyOf(wallet, mint), lamports);
  }
}
