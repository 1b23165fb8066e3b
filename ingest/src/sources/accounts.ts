import { encodeBase58 } from '@sluice/shared/solana/base58.ts';
import { contextAndValue, isRecord } from '@sluice/shared/solana/json-forms.ts';
import { clockSysvar } from '@sluice/shared/solana/well-known.ts';
import type { Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { Venue } from '@sluice/shared/venues/venue.ts';
import type { AccountState } from './source.ts';

const addressForm = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** One subscription a prefix: pools and curves of one kind differ in length over the years, never in their first bytes. */
export function programSubscriptions(venue: Venue): Subscription[] {
  return venue.watchedAccountPrefixes.map((prefix, index) => ({
    name: `accounts:${venue.programId}:${index}`,
    method: 'programSubscribe',
    params: [
      venue.programId,
      { encoding: 'base64', commitment: 'processed', filters: [{ memcmp: { offset: 0, bytes: encodeBase58(prefix) } }] },
    ],
    // Some providers switch it off: trades still come by their logs.
    required: false,
  }));
}

/**
 * The clock changes with every slot: told at `confirmed`, its context says which slots are confirmed. There is no such
 * subscription of its own that all providers serve; one that refuses this is asked for the confirmed slot now and then.
 */
export const confirmedSubscription: Subscription = {
  name: 'confirmed',
  method: 'accountSubscribe',
  params: [clockSysvar, { encoding: 'base64', commitment: 'confirmed' }],
  required: false,
};

/** The slot in the `params` of a notification; null where there is none. */
export function readNotifiedSlot(params: unknown): number | null {
  return contextOf(params)?.slot ?? null;
}

/** Reads the `params` of a `programNotification`. */
export function readProgramNotification(params: unknown, receivedUs: number): AccountState | 'malformed' {
  const found = contextOf(params);
  if (found === null || !isRecord(found.value)) return 'malformed';
  const { pubkey, account } = found.value;
  if (typeof pubkey !== 'string' || !addressForm.test(pubkey)) return 'malformed';
  return readAccount(pubkey, account, found.slot, receivedUs) ?? 'malformed';
}

/** Reads the `params` of an `accountNotification`, which does not repeat the address that was asked for. */
export function readAccountNotification(address: string, params: unknown, receivedUs: number): AccountState | 'malformed' {
  const found = contextOf(params);
  if (found === null) return 'malformed';
  return readAccount(address, found.value, found.slot, receivedUs) ?? 'malformed';
}

/** Reads one account in the form of the RPC (`data` as `[base64, "base64"]`); null where it is not of that form. */
export function readAccount(address: string, account: unknown, slot: number, receivedUs: number): AccountState | null {
  if (!isRecord(account)) return null;
  const { owner, data } = account;
  if (typeof owner !== 'string' || !addressForm.test(owner)) return null;
  if (!Array.isArray(data) || typeof data[0] !== 'string' || data[1] !== 'base64') return null;
  return { address, owner, data: Buffer.from(data[0], 'base64'), slot, receivedUs };
}

function contextOf(params: unknown): { readonly slot: number; readonly value: unknown } | null {
  return isRecord(params) ? contextAndValue(params['result']) : null;
}
