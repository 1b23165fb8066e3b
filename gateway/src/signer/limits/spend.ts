import type { AuditEntry } from '../audit/entry.ts';

const hourMs = 3_600_000;
const dayMs = 86_400_000;
/** Coins of wallets that are counted on one day; beyond, a coin that is not among them counts as spent without end. */
const maxTokenSums = 65_536;

/** `period`: hours, or days, since 1970 (UTC). `key`: the wallet, with `|<mint>` behind it where the sum is of one coin. */
export type SpendSum = readonly [kind: 'hour' | 'day' | 'token', period: number, key: string, lamports: string];

/** What may have left one wallet, lamports; `token`: for one coin on this day. */
export interface Spent {
  readonly hour: bigint;
  readonly day: bigint;
  /** Null: too many coins were traded today to count this one. */
  readonly token: bigint | null;
}

/** SOL that may leave by what was signed in the current UTC hour and day, by wallet. Time only goes forward, whatever the clock does. */
export interface Spend {
  of(wallet: string, mint: string, atMs: number): Spent;
  /** Counts what is signed now: in the current period, also where the clock was set back. Less than nothing: it was not signed after all. */
  add(wallet: string, mint: string | null, lamports: bigint, atMs: number): void;
  /**
   * Counts what an audit log says. `past`: what is not of the current period is left out. `now`: another process has just written it; what it
   * signed counts in the current period, also where the clock was set back.
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
