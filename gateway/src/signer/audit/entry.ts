import type { SpendSum } from '../limits/spend.ts';
import type { Rule } from '../verdict.ts';

/** What stands in a line of an audit log; `n` counts the lines of the log over all its segments. */
export type AuditEntry =
  /** The first line of a log. */
  | { readonly n: number; readonly event: 'begin'; readonly logId: string; readonly keystore: string; readonly atMs: number }
  | SegmentEntry
  /** Right behind a `segment`: what the log's earlier segments have signed for in the periods that were current. */
  | { readonly n: number; readonly event: 'sums'; readonly sums: readonly SpendSum[] }
  | {
      readonly n: number;
      readonly event: 'start';
      readonly maxOrderLamports: string;
      readonly maxDayLamports: string;
      readonly atMs: number;
    }
  /** From here on this policy is in force. */
  | { readonly n: number; readonly event: 'policy'; readonly version: number; readonly key: string; readonly atMs: number }
  | DecisionEntry
  /** The signature of the line `of` was not given: another process signed at the same moment, and both together are beyond a limit. */
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
  /** The mac of the last line of the segment before, hexadecimal digits, and that segment's length. */
  readonly before: string;
  readonly bytes: number;
  /** Lines of `sums` that follow. */
  readonly sums: number;
  /** The highest version of a policy that the log has seen; 0: none. */
  readonly policyVersion: number;
  readonly atMs: number;
}

export interface DecisionEntry {
  readonly n: number;
  readonly event: 'decision';
  readonly order: string;
  /** Null: none that is unlocked. */
  readonly wallet: string | null;
  /** The coin that is traded; null where the message is no trade. Logs of earlier versions do not have it. */
  readonly mint?: string | null;
  /** SHA-256 of the message, hexadecimal digits. */
  readonly message: string;
  readonly verdict: 'signed' | 'refused';
  readonly rule: Rule | null;
  /** Most SOL that could leave by it; null where that was not reckoned. */
  readonly lamports: string | null;
  readonly atMs: number;
}

/** Distributes over the kinds of entry. */
export type NewEntry = AuditEntry extends infer Entry ? (Entry extends AuditEntry ? Omit<Entry, 'n'> : never) : never;
