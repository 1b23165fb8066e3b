/** `link`: a sign-in link that the operator created. */
export type OneTimeKind = 'link';

export interface OneTime {
  readonly kind: OneTimeKind;
  /** Hash of the value that was handed out; the value itself is not stored. */
  readonly hash: Uint8Array;
  /** The account that the link signs in. */
  readonly accountId: string;
  readonly expiresAtMs: number;
}

/** Values that can be used once, by all gateways together. */
export interface OneTimeTable {
  /** Deletes expired entries, then stores this one. False: `maxOneTime` of its kind are stored. */
  put(entry: OneTime, nowMs: number): Promise<boolean>;
  /** Removes and returns the entry. Of several simultaneous calls, one gets it. Null: no such entry, used already, or expired. */
  take(kind: OneTimeKind, hash: Uint8Array, nowMs: number): Promise<OneTime | null>;
}

/** Maximum number of entries of a kind. A further one is refused until others expire. */
export const maxOneTime: Readonly<Record<OneTimeKind, number>> = { link: 1_000 };
