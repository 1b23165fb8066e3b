/** Somebody who signed in to the dashboard. The store knows hashes of what the browser holds. */
export interface StoredSession {
  readonly tokenHash: Uint8Array;
  readonly accountId: string;
  readonly csrfHash: Uint8Array;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly lastSeenAtMs: number;
}

export interface SessionTable {
  /**
   * Begins a session, which is the account's last sign-in. An account has `maxSessionsPerAccount`: beyond them the oldest ends.
   * False: no such account, or disabled.
   */
  create(session: Omit<StoredSession, 'lastSeenAtMs'>): Promise<boolean>;
  /** Null: none such, or it has ended. */
  byTokenHash(tokenHash: Uint8Array, nowMs: number): Promise<StoredSession | null>;
  /** Notes that it was used, and when it ends now. False: none such. */
  touch(tokenHash: Uint8Array, seenAtMs: number, expiresAtMs: number): Promise<boolean>;
  /** False: none such. */
  remove(tokenHash: Uint8Array): Promise<boolean>;
  /** Returns how many there were. */
  removeAllOf(accountId: string): Promise<number>;
}

export const maxSessionsPerAccount = 10;
