import { resolve } from 'node:path';
import { maxHaltAgeMs } from '@sluice/gateway/store/halt/halt.ts';
import { segmentBytes } from '../audit/log.ts';
import type { AuditPlace } from '../audit/place.ts';
import type { SigningLimits } from './signing.ts';

/** The settings of a signing process: its one argument, in JSON. No later message of its gateway can change them. */
export interface StartTerms {
  /** Name of the keystore whose wallets it holds. */
  readonly keystore: string;
  readonly passphraseFile: string;
  /** `DATA_DIR` of the gateway that starts it. Null: it is started for a gateway of another user. */
  readonly dataDir: string | null;
  /** Folder of the audit logs, the halt mark and the policy. */
  readonly folder: string;
  /** Number of the folder's log that it writes. */
  readonly slot: number;
  /** Lamports, as decimal strings. */
  readonly maxOrderLamports: string;
  readonly maxDayLamports: string;
  readonly maxHaltAgeMs: number;
  /** Length at which a new segment of the audit log begins. */
  readonly segmentBytes: number;
}

export interface TermsOptions extends Pick<StartTerms, 'keystore' | 'passphraseFile' | 'dataDir'> {
  readonly place: AuditPlace;
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
