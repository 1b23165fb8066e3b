import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { giveToOwner } from '../../store/give-to-owner.ts';
import { isAddress, openPolicy, type Policy } from './policy.ts';

/** The longest file. Two full lists of addresses need a tenth of it. */
const maxFileBytes = 1 << 20;

/** `key` has signed the policy, and must sign the next one. */
export interface PolicyInForce {
  readonly key: string;
  readonly policy: Policy;
}

/** `inForce` is null if no key was ever pinned. */
export type PolicyReading = { readonly ok: true; readonly inForce: PolicyInForce | null } | { readonly ok: false; readonly reason: string };

export interface PolicyPlace {
  readonly folder: string;
  readonly keystore: string;
  /** The `auditKey`. Only a process that has the passphrase can pin a policy key. */
  readonly key: Uint8Array;
}

function pinFile({ folder, keystore }: Omit<PolicyPlace, 'key'>): string {
  return join(folder, `${keystore}.policy-key`);
}

function policyFile({ folder, keystore }: Omit<PolicyPlace, 'key'>): string {
  return join(folder, `${keystore}.policy`);
}

/** The pinned key, which signs policies. Null: none is pinned. `false`: somebody without the passphrase changed the file. */
export function readPin(place: PolicyPlace): string | null | false {
  const text = readIfThere(pinFile(place));
  if (text === null) return null;
  const [publicKey = '', mac = ''] = text.trim().split(' ');
  return isAddress(publicKey) && mac === pinMac(place, publicKey) ? publicKey : false;
}

export function writePin(place: PolicyPlace, publicKey: string): void {
  replaceFile(place.folder, pinFile(place), `${publicKey} ${pinMac(place, publicKey)}\n`);
}

export function writePolicy(place: PolicyPlace, content: string): void {
  replaceFile(place.folder, policyFile(place), content);
}

/** Reads the policy. `least`: the highest version in the audit logs. Throws the system's error if a file cannot be read. */
export function readPolicy(place: PolicyPlace, least: number): PolicyReading {
  const key = readPin(place);
  if (key === false) return { ok: false, reason: `${pinFile(place)} was changed: its key was not pinned with the passphrase` };
  if (key === null)
    return least === 0 ? { ok: true, inForce: null } : { ok: false, reason: `${pinFile(place)} is gone, and policy ${least} was in force` };
  const content = readIfThere(policyFile(place));
  if (content === null)
    return { ok: false, reason: `${policyFile(place)} is missing: a key is pinned, and nothing that it signed is there` };
  const policy = openPolicy(content, key, place.keystore);
  if ('fault' in policy) return { ok: false, reason: `${policyFile(place)}: ${policy.fault}` };
  if (policy.version < least)
    return { ok: false, reason: `${policyFile(place)} has version ${policy.version}, and ${least} was in force already` };
  return { ok: true, inForce: { key, policy } };
}

/** A value that changes when one of the two files is replaced. */
export function policyStamp(place: PolicyPlace): string {
  return [pinFile(place), policyFile(place)]
    .map((file) => statSync(file, { throwIfNoEntry: false }))
    .map((stats) => (stats === undefined ? '-' : `${stats.ino} ${stats.mtimeMs} ${stats.size}`))
    .join('|');
}

function pinMac({ key, keystore }: PolicyPlace, publicKey: string): string {
  return createHmac('sha256', key).update(`sluice-policy-key|1|${keystore}|${publicKey}`).digest('hex');
}

function readIfThere(file: string): string | null {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  return stats.size > maxFileBytes ? '' : readFileSync(file, 'utf8');
}

/** Replaces a file atomically: a concurrent reader sees the old or the new content. */
function replaceFile(folder: string, file: string, content: string): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true });
  giveToOwner(draft, folder);
  renameSync(draft, file);
  const fd = openSync(folder, 'r');
  fsyncSync(fd);
  closeSync(fd);
}
