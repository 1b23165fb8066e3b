/** `link`: of a sign-in link that the operator made. */
export type OneTimeKind = 'link';

export interface OneTime {
  readonly kind: OneTimeKind;
  /** Of what was handed out; that itself is not stored. */
  readonly hash: Uint8Array;
  /** Whom a link signs in. */
  readonly accountId: string;
  readonly expiresAtMs: number;
}

/** What may be used once, over all gateways together. */
export interface OneTimeTable {
  /** Forgets what has expired by `nowMs`, then stores it. False: `maxOneTime` of its kind are there already. */
  put(entry: OneTime, nowMs: number): Promise<boolean>;
  /** Takes it away: of several at once, one gets it. Null: none such, taken, or expired. */
  take(kind: OneTimeKind, hash: Uint8Array, nowMs: number): Promise<OneTime | null>;
}

/** Beyond them a new one is refused until others expire. */
export const maxOneTime: Readonly<Record<OneTimeKind, number>> = { link: 1_000 };
