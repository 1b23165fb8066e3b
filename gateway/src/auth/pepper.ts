import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';
import { aboutDataDir, readIfThere, readOrMakeSecret } from '../store/files/files.ts';
import type { Store } from '../store/store.ts';

/** Hashes the secret of an API key. The pepper is not in the store, so a copy of the database is not enough to check guesses of a key. */
export type KeyHash = (keyId: string, secret: string) => Uint8Array;

type PepperPlace = Pick<Store, 'dataDir' | 'checks'>;

/** Name of the stored hash of a constant, made with the pepper. It lets every machine check whether its pepper is the right one. */
const checkName = 'pepper';
const checkText = 'sluice pepper check 1';

/**
 * Reads the pepper, or creates it if the store never had one. Rejects with a `SettingError` if the keys in the store were made with another
 * pepper: none of them would be valid here, and keys made here would be valid nowhere else.
 */
export async function openKeyHash(store: PepperPlace): Promise<KeyHash> {
  const pepper = await openPepper(store);
  return (keyId, secret) => createHmac('sha256', pepper).update(`${keyId}.${secret}`).digest();
}

/** A signing key for another purpose, the same on all gateways of a store. It is derived from the pepper, so no further secret is stored. */
export async function openSigningKey(store: PepperPlace, purpose: 'sign-in nonces' | 'records in Redis'): Promise<Uint8Array> {
  return createHmac('sha256', await openPepper(store))
    .update(`sluice ${purpose}`)
    .digest();
}

/** Whether keys in the store were made with a pepper, which must then exist. */
export async function needsPepper({ checks }: Pick<Store, 'checks'>): Promise<boolean> {
  return (await checks.get(checkName)) !== null;
}

/** Why the keys of a store cannot be checked here. Null: they can, or there are none. */
export async function pepperFaultOf(place: PepperPlace): Promise<string | null> {
  try {
    if (await needsPepper(place)) await openKeyHash(place);
    return null;
  } catch (error) {
    if (error instanceof SettingError) return error.message;
    throw error;
  }
}

/**
 * Replaces a lost pepper: revokes all keys, because they can no longer be checked, and creates a new pepper. Returns the number of revoked
 * keys. Null if no pepper is lost: the file exists, or no key was ever created.
 */
export async function replaceLostPepper(store: Store, nowMs: number): Promise<number | null> {
  if (isPepperThere(store) || !(await needsPepper(store))) return null;
  const revoked = await store.keys.revokeAll(nowMs);
  await store.checks.remove(checkName);
  await openPepper(store);
  return revoked;
}

function pepperFile({ dataDir }: Pick<Store, 'dataDir'>): string {
  return join(dataDir, 'pepper');
}

function isPepperThere(place: Pick<Store, 'dataDir'>): boolean {
  const file = pepperFile(place);
  return aboutDataDir(`the pepper ${file} cannot be read`, () => readIfThere(file)) !== null;
}

async function openPepper(store: PepperPlace): Promise<Buffer> {
  const { checks } = store;
  const file = pepperFile(store);
  // The order matters: the process that creates the first pepper writes the file before the store.
  if ((await needsPepper(store)) && !isPepperThere(store)) {
    throw new SettingError('DATA_DIR', `the file ${file} is missing, and the keys in the store need it; ${remedy}`);
  }
  const digits = aboutDataDir(`the pepper ${file} cannot be read`, () =>
    readOrMakeSecret(file, () => `${randomBytes(32).toString('hex')}\n`),
  );
  const pepper = Buffer.from(digits, 'hex');
  if (pepper.length !== 32) throw new SettingError('DATA_DIR', `${file} is damaged: expected 64 hexadecimal digits`);
  if (!(await checks.agree(checkName, createHmac('sha256', pepper).update(checkText).digest()))) {
    throw new SettingError('DATA_DIR', `${file} is not the pepper of the keys in the store; ${remedy}`);
  }
  return pepper;
}

const remedy = 'copy DATA_DIR/pepper from the first machine or from its backup. If it is lost, see sluice keys reset --help';
