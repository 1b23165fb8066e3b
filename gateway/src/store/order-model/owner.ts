/** The key that places an order, and its account; null for a key of the operator. */
export interface Owner {
  readonly keyId: string;
  readonly accountId: string | null;
}

/** Orders belong to the account; those of a key of the operator belong to the key. */
export function ownerOf({ accountId, keyId }: Owner): string {
  return accountId === null ? `key:${keyId}` : `account:${accountId}`;
}
