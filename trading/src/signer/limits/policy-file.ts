import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTextFile } from '@sluice/shared/config/text-file.ts';
import { giveToOwner } from '@sluice/gateway/store/files/files.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { openPolicy, type Policy } from './operator-policy.ts';

/** The longest file. Two full lists of addresses need a tenth of it. */
const maxFileBytes = 1 << 20;

/** `key` has signed the policy, and must sign the next one. */
export interface PolicyInForce {
  readonly key: string;
  readonly policy: Policy;
}

/** `inForce` is null if no key was ever pinned. */
export type PolicyReading = { readonly ok: true; readonly inForce: PolicyInForce | null } | { readonly ok: false; readonly reason: string };

export interface PolicyFiles {
  readonly folder: string;
  readonly keystore: string;
  /** The `auditKey`. Only a process that has the passphrase can pin a policy key. */
  readonly key: Uint8Array;
}

function pinFile({ folder, keystore }: Omit<PolicyFiles, 'key'>): string {
  return join(folder, `${keystore}.policy-key`);
}

function policyFile({ folder, keystore }: Omit<PolicyFiles, 'key'>): string {
  return join(folder, `${keystore}.policy`);
}

/** The pinned key, which signs policies. Null: none is pinned. `false`: somebody without the passphrase changed the file. */
export function readPin(files: PolicyFiles): string | null | false {
  const text = readIfThere(pinFile(files));
  if (text === null) return null;
  const [publicKey = '', mac = ''] = text.trim().split(' ');
  return isAddress(publicKey) && mac === pinMac(files, publicKey) ? publicKey : false;
}

export function writePin(files: PolicyFiles, publicKey: string): void {
  replaceFile(files.folder, pinFile(files), `${publicKey} ${pinMac(files, publicKey)}\n`);
}

export function writePolicy(files: PolicyFiles, content: string): void {
  replaceFile(files.folder, policyFile(files), content);
}

/** Reads the policy. `least`: the highest version in the audit logs. Throws the system's error if a file cannot be read. */
export function readPolicy(files: PolicyFiles, least: number): PolicyReading {
  const key = readPin(files);
  if (key === false) return { ok: false, reason: `${pinFile(files)} was changed: its key was not pinned with the passphrase` };
  if (key === null)
    return least === 0 ? { ok: true, inForce: null } : { ok: false, reason: `${pinFile(files)} is gone, and policy ${least} was in force` };
  const content = readIfThere(policyFile(files));
  if (content === null)
    return { ok: false, reason: `${policyFile(files)} is missing: a key is pinned, and nothing that it signed is there` };
  const policy = openPolicy(content, key, files.keystore);
  if ('fault' in policy) return { ok: false, reason: `${policyFile(files)}: ${policy.fault}` };
  if (policy.version < least)
    return { ok: false, reason: `${policyFile(files)} has version ${policy.version}, and ${least} was in force already` };
  return { ok: true, inForce: { key, policy } };
}

/** A value that changes when one of the two files is replaced. */
export function policyStamp(files: PolicyFiles): string {
  return [pinFile(files), policyFile(files)]
    .map((file) => statSync(file, { throwIfNoEntry: false }))
    .map((stats) => (stats === undefined ? '-' : `${stats.ino} ${stats.mtimeMs} ${stats.size}`))
    .join('|');
}

function pinMac({ key, keystore }: PolicyFiles, publicKey: string): string {
  return createHmac('sha256', key).update(`sluice-policy-key|1|${keystore}|${publicKey}`).digest('hex');
}

function readIfThere(file: string): string | null {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  return stats.size > maxFileBytes ? '' : readTextFile(file);
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
