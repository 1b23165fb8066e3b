import type { Rule } from '../checks/verdict.ts';

/** `period`: hours or days since 1970 (UTC). `key`: the wallet, followed by `|<mint>` if the sum is for one coin. */
export type SpendSum = readonly [kind: 'hour' | 'day' | 'token', period: number, key: string, lamports: string];

/** The content of a line of an audit log. `n` counts the lines of the log, over all segments. */
export type AuditEntry =
  /** The first line of a log. */
  | { readonly n: number; readonly event: 'begin'; readonly logId: string; readonly keystore: string; readonly atMs: number }
  | SegmentEntry
  /** Directly after a `segment` line: what the earlier segments have signed for in the current periods. */
  | { readonly n: number; readonly event: 'sums'; readonly sums: readonly SpendSum[] }
  | {
      readonly n: number;
      readonly event: 'start';
      readonly maxOrderLamports: string;
      readonly maxDayLamports: string;
      readonly atMs: number;
    }
  /** From this line on the policy is in force. */
  | { readonly n: number; readonly event: 'policy'; readonly version: number; readonly key: string; readonly atMs: number }
  | DecisionEntry
  /** The decision of line `of` is void, and no signature was given: together with another process's signature it exceeds a limit. */
  | {
      readonly n: number;
      readonly event: 'void';
      readonly of: number;
      readonly wallet: string;
      readonly mint: string;
      readonly lamports: string;
      readonly rule: Rule;
      readonly atMs: number;
    };

/** The first line of a segment but the first. */
export interface SegmentEntry {
  readonly n: number;
  readonly event: 'segment';
  readonly logId: string;
  readonly keystore: string;
  readonly segment: number;
  /** The mac (hexadecimal) of the last line of the previous segment, and the length of that segment. */
  readonly before: string;
  readonly bytes: number;
  /** The number of `sums` lines that follow. */
  readonly sums: number;
  /** The highest policy version in the log so far. 0: none. */
  readonly policyVersion: number;
  readonly atMs: number;
}

export interface DecisionEntry {
  readonly n: number;
  readonly event: 'decision';
  readonly order: string;
  /** Null: not an unlocked wallet. */
  readonly wallet: string | null;
  /** The coin that is traded; null if the message is not a trade. Logs of earlier versions do not have it. */
  readonly mint?: string | null;
  /** SHA-256 of the message, hexadecimal digits. */
  readonly message: string;
  readonly verdict: 'signed' | 'refused';
  readonly rule: Rule | null;
  /** Maximum number of lamports that could leave the wallet. Null: not computed. */
  readonly lamports: string | null;
  readonly atMs: number;
}

/** Distributes over the kinds of entry. */
export type NewEntry = AuditEntry extends infer Entry ? (Entry extends AuditEntry ? Omit<Entry, 'n'> : never) : never;
