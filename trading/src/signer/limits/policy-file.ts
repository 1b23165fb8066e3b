import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTextFile } from '@sluice/shared/config/text-file.ts';
import { giveToOwner } from '@sluice/gateway/store/files/files.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { signMessage, verifySignature, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';

/**
 * The operator's policy for all wallets of a keystore. It is signed with a key that no part of the product holds. It can only narrow the
 * limits that the signing process is started with. Limits are in lamports; null: no limit in the policy.
 */
export interface Policy {
  /** Each policy of a keystore needs a higher version; an older policy is refused. */
  readonly version: number;
  readonly keystore: string;
  readonly maxOrderLamports: bigint | null;
  /** Maximum amount that one wallet may spend in one hour (UTC). */
  readonly maxHourLamports: bigint | null;
  readonly maxDayLamports: bigint | null;
  /** Maximum amount that one wallet may spend for one coin on one day (UTC). */
  readonly maxTokenLamports: bigint | null;
  /** Mints that may be traded. Null: any. */
  readonly tokens: readonly string[] | null;
  /** Programs that may be traded on. Null: all known ones. */
  readonly venues: readonly string[] | null;
}

/** The signature covers the exact bytes of `text`. */
export interface SignedPolicy {
  readonly text: string;
  /** Base64. */
  readonly signature: string;
}

/** Maximum number of coins, or venues, in one list. */
export const maxListed = 1_000;
const limits = ['maxOrderLamports', 'maxHourLamports', 'maxDayLamports', 'maxTokenLamports'] as const;
const lists = ['tokens', 'venues'] as const;
const fields: ReadonlySet<string> = new Set(['version', 'keystore', ...limits, ...lists]);
const lamportsForm = /^[1-9]\d{0,18}$/;

export function signPolicy(policy: Policy, key: Keypair): SignedPolicy {
  const text = JSON.stringify(policy, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
  return { text, signature: Buffer.from(signMessage(key, signedBytes(text))).toString('base64') };
}

/** Reads a policy. It must be signed by this key, be for this keystore, and contain no unknown rule. Otherwise returns what is wrong. */
export function openPolicy(content: string, publicKey: string, keystore: string): Policy | { readonly fault: string } {
  const signed = parse(content);
  const text = signed?.['text'];
  const signature = signed?.['signature'];
  if (typeof text !== 'string' || typeof signature !== 'string') return { fault: 'it is no signed policy' };
  if (!verifySignature(publicKey, signedBytes(text), Buffer.from(signature, 'base64'))) return { fault: `${publicKey} has not signed it` };
  const body = parse(text);
  if (body === null) return { fault: 'it is no policy' };
  const unknown = Object.keys(body).find((name) => !fields.has(name));
  if (unknown !== undefined) return { fault: `it has a rule that this version does not know, ${JSON.stringify(unknown.slice(0, 40))}` };
  if (body['keystore'] !== keystore) return { fault: `it is not for the keystore ${keystore}` };
  const version = body['version'];
  if (!Number.isSafeInteger(version) || Number(version) < 1) return { fault: 'it has no version' };
  const wrong = limits.find((name) => !isLimit(body[name])) ?? lists.find((name) => !isList(body[name]));
  if (wrong !== undefined) return { fault: `${wrong} is not what it has to be` };
  const limit = (name: (typeof limits)[number]): bigint | null => (typeof body[name] === 'string' ? BigInt(body[name]) : null);
  return {
    version: Number(version),
    keystore,
    maxOrderLamports: limit('maxOrderLamports'),
    maxHourLamports: limit('maxHourLamports'),
    maxDayLamports: limit('maxDayLamports'),
    maxTokenLamports: limit('maxTokenLamports'),
    tokens: body['tokens'] as Policy['tokens'],
    venues: body['venues'] as Policy['venues'],
  };
}

function isLimit(value: unknown): boolean {
  return value === null || (typeof value === 'string' && lamportsForm.test(value));
}

function isList(value: unknown): boolean {
  return (
    value === null || (Array.isArray(value) && value.length <= maxListed && value.every((one) => typeof one === 'string' && isAddress(one)))
  );
}

/** Adds a prefix, so that the signature cannot be used for any other purpose. */
function signedBytes(text: string): Uint8Array {
  return Buffer.from(`sluice-policy|1|${text}`);
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

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
