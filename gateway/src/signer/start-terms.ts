import { resolve } from 'node:path';
import { maxHaltAgeMs } from '../store/halt.ts';
import { segmentBytes } from './audit/log.ts';
import type { AuditPlace } from './audit/place.ts';
import type { SigningLimits } from './signing.ts';

/** What a signing process is started with, as its one argument, in JSON. Nothing that its gateway says later changes it. */
export interface StartTerms {
  /** Name of the keystore whose wallets it holds. */
  readonly keystore: string;
  readonly passphraseFile: string;
  /** `DATA_DIR` of the gateway that starts it; null: it is started for a gateway of another user. */
  readonly dataDir: string | null;
  /** Where the audit logs, the halt's mark and the policy are. */
  readonly folder: string;
  /** Which of the folder's logs is its own. */
  readonly slot: number;
  /** Lamports, in digits. */
  readonly maxOrderLamports: string;
  readonly maxDayLamports: string;
  readonly maxHaltAgeMs: number;
  /** Length of an audit log's segment, after which another begins. */
  readonly segmentBytes: number;
}

export interface TermsOptions {
  readonly place: AuditPlace;
  readonly keystore: string;
  readonly passphraseFile: string;
  readonly dataDir: string | null;
  readonly limits: SigningLimits;
  readonly segmentBytes?: number | undefined;
}

export function startTerms(options: TermsOptions): StartTerms {
  const { place, keystore, passphraseFile, dataDir, limits } = options;
  return {
    keystore,
    passphraseFile: resolve(passphraseFile),
    dataDir: dataDir === null ? null : resolve(dataDir),
    folder: place.folder,
    slot: place.slot,
    maxOrderLamports: limits.maxOrderLamports.toString(),
    maxDayLamports: limits.maxDayLamports.toString(),
    maxHaltAgeMs,
    segmentBytes: options.segmentBytes ?? segmentBytes,
  };
}
