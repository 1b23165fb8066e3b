import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { AccountState } from '../sighting.ts';

export const addressForm = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** Reads one account in the form of the RPC (`data` as `[base64, "base64"]`); null if it has another form. */
export function readAccount(address: string, account: unknown, slot: number, receivedUs: number): AccountState | null {
  if (!isRecord(account)) return null;
  const { owner, data } = account;
  if (typeof owner !== 'string' || !addressForm.test(owner)) return null;
  if (!Array.isArray(data) || typeof data[0] !== 'string' || data[1] !== 'base64') return null;
  return { address, owner, data: Buffer.from(data[0], 'base64'), slot, receivedUs };
}
