import type { ProgramRecord } from '@sluice/shared/wire/events/program-events.ts';

/** Settings of the thread that reads programs. */
export interface ProgramSettings {
  readonly folder: string;
  readonly httpUrls: readonly string[];
  readonly wsUrls: readonly string[];
  readonly level: string;
  readonly simulated: boolean;
  /** By program: the newest slot of its records in the log. */
  readonly since: Readonly<Record<string, number>>;
  /** Slots before it that may be incomplete. */
  readonly recheckSlots: number;
}

/** Records of a program that are not in the stream. */
export interface ProgramLoss {
  readonly program: string;
  readonly from: number;
  readonly to: number;
  readonly signatures: readonly string[];
}

/** Counts of one program since the thread began. */
export interface ProgramCounts {
  name: string;
  events: number;
  instructions: number;
  accounts: number;
  /** Records that the IDL names and whose bytes it does not fit, or that are too long. */
  refused: number;
  /** Records and transactions that a bound left out. Clients get a gap. */
  dropped: number;
  /** Transactions that were missed first and read from the history. */
  late: number;
  /** Why the newest file was refused; null if it is in use. */
  fault: string | null;
}

export type FromPrograms =
  | { readonly kind: 'records'; readonly records: readonly ProgramRecord[]; readonly losses: readonly ProgramLoss[] }
  | { readonly kind: 'counts'; readonly counts: Readonly<Record<string, ProgramCounts>> };

/**
 * `taken`: the records of one message were taken, so another may be sent. `recheck`: this process leads now, and the one before may not have published all.
 */
export type ToPrograms =
  | { readonly kind: 'taken' }
  | { readonly kind: 'recheck'; readonly since: ProgramSettings['since'] }
  | { readonly kind: 'close' };
