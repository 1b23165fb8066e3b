import type { AuditEntry, SpendSum } from '../audit/entry.ts';

const hourMs = 3_600_000;
const dayMs = 86_400_000;
/** Maximum number of pairs of wallet and coin counted on one day. Above this limit, a further pair is treated as over every limit. */
const maxTokenSums = 65_536;

/** Maximum amount that can have left one wallet, in lamports. `token`: for one coin on this day. */
export interface Spent {
  readonly hour: bigint;
  readonly day: bigint;
  /** Null: unknown, because too many coins were traded today. */
  readonly token: bigint | null;
}

/** The SOL that signed messages can spend, by wallet, for the current UTC hour and day. If the clock goes back, the period does not. */
export interface Spend {
  of(wallet: string, mint: string, atMs: number): Spent;
  /** Counts a signature in the current period. A negative amount removes one that was not given. */
  add(wallet: string, mint: string | null, lamports: bigint, atMs: number): void;
  /**
   * Counts an entry of an audit log. `past`: ignored if it is not of the current period. `now`: another process has just written it, so it
   * is counted in the current period, even if its time is of another period.
   */
  recall(entry: AuditEntry, written: 'past' | 'now'): void;
  sums(): readonly SpendSum[];
}

interface Counter {
  readonly kind: SpendSum[0];
  readonly lengthMs: number;
  period: number;
  readonly sums: Map<string, bigint>;
}

export function createSpend(): Spend {
  const counter = (kind: SpendSum[0], lengthMs: number): Counter => ({ kind, lengthMs, period: 0, sums: new Map() });
  const [hour, day, token] = [counter('hour', hourMs), counter('day', dayMs), counter('token', dayMs)];
  const keyOf = ({ kind }: Counter, wallet: string, mint: string | null): string => (kind === 'token' ? `${wallet}|${mint}` : wallet);
  const recallSum = (to: Counter, period: number, key: string, lamports: bigint, always: boolean): void => {
    turn(to, period);
    if (always || period === to.period) addTo(to, key, lamports);
  };
  const recallSpend = (wallet: string, mint: string | null, lamports: bigint, atMs: number, always: boolean): void => {
    for (const to of [hour, day, token]) {
      if (to !== token || mint !== null) recallSum(to, Math.floor(atMs / to.lengthMs), keyOf(to, wallet, mint), lamports, always);
    }
  };
  return {
    of: (wallet, mint, atMs) => {
      const spent = (from: Counter): bigint | undefined => {
        turn(from, Math.floor(atMs / from.lengthMs));
        return from.sums.get(keyOf(from, wallet, mint));
      };
      return {
        hour: spent(hour) ?? 0n,
        day: spent(day) ?? 0n,
        token: spent(token) ?? (token.sums.size < maxTokenSums ? 0n : null),
      };
    },
    add: (wallet, mint, lamports, atMs) => {
      for (const to of [hour, day, token]) {
        turn(to, Math.floor(atMs / to.lengthMs));
        if (to !== token || mint !== null) addTo(to, keyOf(to, wallet, mint), lamports);
      }
    },
    recall: (entry, written) => {
      if (entry.event === 'sums') {
        for (const [kind, period, key, lamports] of entry.sums) {
          recallSum(
            [hour, day, token].find((one) => one.kind === kind)!,
            period,
            key,
            BigInt(lamports),
            false,
          );
        }
      } else if (entry.event === 'void') {
        recallSpend(entry.wallet, entry.mint, -BigInt(entry.lamports), entry.atMs, false);
      } else if (entry.event === 'decision' && entry.wallet !== null && entry.lamports !== null) {
        recallSpend(entry.wallet, entry.mint ?? null, BigInt(entry.lamports), entry.atMs, written === 'now');
      }
    },
    sums: () =>
      [hour, day, token].flatMap(({ kind, period, sums }) =>
        [...sums].map(([key, lamports]): SpendSum => [kind, period, key, lamports.toString()]),
      ),
  };
}

function turn(to: Counter, period: number): void {
  if (period <= to.period) return;
  to.period = period;
  to.sums.clear();
}

function addTo({ kind, sums }: Counter, key: string, lamports: bigint): void {
  const before = sums.get(key);
  if (before === undefined && kind === 'token' && sums.size >= maxTokenSums) return;
  const sum = (before ?? 0n) + lamports;
  sums.set(key, sum > 0n ? sum : 0n);
}
