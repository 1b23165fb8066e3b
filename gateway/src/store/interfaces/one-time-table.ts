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
  /** Deletes expired entries, then stores this one. False: `maxOneTime` of its kind are stored, used ones included. */
  put(entry: OneTime, nowMs: number): Promise<boolean>;
  /** Returns the entry, and marks it as used. Of several simultaneous calls, one gets it. `used`: used already. Null: no such entry, or expired. */
  take(kind: OneTimeKind, hash: Uint8Array, nowMs: number): Promise<OneTime | 'used' | null>;
}

/** Maximum number of entries of a kind; a used one is stored until it expires. A further one is refused until others expire. */
export const maxOneTime: Readonly<Record<OneTimeKind, number>> = { link: 1_000 };
