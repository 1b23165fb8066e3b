import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { contextAndValue, isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { clockSysvar } from '@sluice/shared/solana/well-known.ts';
import type { Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import { addressForm, readAccount } from '../rpc/read-account.ts';
import type { AccountState } from '../sighting.ts';

export interface WatchedProgram {
  readonly programId: string;
  /** First bytes of the accounts to subscribe to; empty for none. */
  readonly watchedAccountPrefixes: readonly Uint8Array[];
}

/** One subscription for each prefix: accounts of one kind have had several lengths over the years, but always the same first bytes. */
export function programSubscriptions({ programId, watchedAccountPrefixes }: WatchedProgram): Subscription[] {
  return watchedAccountPrefixes.map((prefix, index) => ({
    name: `accounts:${programId}:${index}`,
    method: 'programSubscribe',
    params: [programId, { encoding: 'base64', commitment: 'processed', filters: [{ memcmp: { offset: 0, bytes: encodeBase58(prefix) } }] }],
    // Some providers disable it; trades still come by their logs.
    required: false,
  }));
}

/**
 * The clock's account changes with every slot. At `confirmed`, the context of its notifications says which slots are confirmed. No other
 * subscription for confirmed slots is served by all providers.
 */
export const confirmedSubscription: Subscription = {
  name: 'confirmed',
  method: 'accountSubscribe',
  params: [clockSysvar, { encoding: 'base64', commitment: 'confirmed' }],
  required: false,
};

/** The slot in the `params` of a notification; null if there is none. */
export const readNotifiedSlot = (params: unknown): number | null => contextOf(params)?.slot ?? null;

export function readProgramNotification(params: unknown, receivedUs: number): AccountState | 'malformed' {
  const found = contextOf(params);
  if (found === null || !isRecord(found.value)) return 'malformed';
  const { pubkey, account } = found.value;
  if (typeof pubkey !== 'string' || !addressForm.test(pubkey)) return 'malformed';
  return readAccount(pubkey, account, found.slot, receivedUs) ?? 'malformed';
}

/** Reads the `params` of an `accountNotification`, which does not name the account. */
export function readAccountNotification(address: string, params: unknown, receivedUs: number): AccountState | 'malformed' {
  const found = contextOf(params);
  if (found === null) return 'malformed';
  return readAccount(address, found.value, found.slot, receivedUs) ?? 'malformed';
}

function contextOf(params: unknown): { readonly slot: number; readonly value: unknown } | null {
  return isRecord(params) ? contextAndValue(params['result']) : null;
}
