/** A session of the dashboard. The store holds only hashes of the browser's token and CSRF token. */
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
   * Creates a session, and records it as the account's last sign-in. If the account has more than `maxSessionsPerAccount`, the oldest
   * ends. False: no such account, or it is disabled.
   */
  create(session: Omit<StoredSession, 'lastSeenAtMs'>): Promise<boolean>;
  /** Null: no such session, or it has expired. */
  byTokenHash(tokenHash: Uint8Array, nowMs: number): Promise<StoredSession | null>;
  /** Records the last use and the new expiry. False: no such session. */
  touch(tokenHash: Uint8Array, seenAtMs: number, expiresAtMs: number): Promise<boolean>;
  /** False: no such session. */
  remove(tokenHash: Uint8Array): Promise<boolean>;
  /** Returns how many sessions ended. */
  removeAllOf(accountId: string): Promise<number>;
}

export const maxSessionsPerAccount = 10;
