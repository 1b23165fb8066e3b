/** What a signing process is started with, as its one argument, in JSON. Nothing that it is told later changes it. */
export interface StartTerms {
  /** Name of the keystore whose wallets it holds. */
  readonly keystore: string;
  readonly passphraseFile: string;
  readonly auditFile: string;
  /** Lamports, in digits. */
  readonly maxOrderLamports: string;
  readonly maxDayLamports: string;
  readonly maxHaltAgeMs: number;
}
