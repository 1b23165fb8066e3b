import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { SettingError } from '@sluice/shared/config/setting-error.ts';
import { aboutDataDir } from '../store/about-data-dir.ts';
import { readIfThere, readOrMakeSecret } from '../store/secret-file.ts';
import type { Store } from '../store/store.ts';

/** Hashes the secret of an API key. The pepper is not in the store, so a copy of the database is not enough to check guesses of a key. */
export type KeyHash = (keyId: string, secret: string) => Uint8Array;

type PepperPlace = Pick<Store, 'dataDir' | 'checks'>;

/** Name of the stored hash of a constant, made with the pepper. It lets every machine check whether its pepper is the right one. */
const checkName = 'pepper';
const checkText = 'sluice pepper check 1';

/**
 * Reads the pepper, or makes it for a store that has had none. Rejects with a `SettingError` where the store's keys were made with
 * another one: with this one none of them would open, and those made with it would open nowhere else.
 */
export async function openKeyHash(store: PepperPlace): Promise<KeyHash> {
  const pepper = await openPepper(store);
  return (keyId, secret) => createHmac('sha256', pepper).update(`${keyId}.${secret}`).digest();
}

/** A key for something else that all gateways of a store sign alike; made of the pepper, so that there is no further secret to keep. */
export async function openSigningKey(store: PepperPlace, purpose: 'sign-in nonces' | 'records in Redis'): Promise<Uint8Array> {
  return createHmac('sha256', await openPepper(store))
    .update(`sluice ${purpose}`)
    .digest();
}

/** Whether keys of the store were made with a pepper: then there has to be that one. */
export async function needsPepper({ checks }: Pick<Store, 'checks'>): Promise<boolean> {
  return (await checks.get(checkName)) !== null;
}

/**
 * For a lost pepper: revokes every key, because none can be checked any more, and makes another pepper. Returns
 * how many keys were revoked. Null where nothing is lost: the file is there, or the store's keys never had one.
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
  // In this order: the process that makes the first pepper writes the file before it writes the store.
  if ((await needsPepper(store)) && !isPepperThere(store)) {
    throw new SettingError('DATA_DIR', `there is no ${file}, and the store has keys that were made with one; ${remedy}`);
  }
  const digits = aboutDataDir(`the pepper ${file} cannot be read`, () =>
    readOrMakeSecret(file, () => `${randomBytes(32).toString('hex')}\n`),
  );
  const pepper = Buffer.from(digits, 'hex');
  if (pepper.length !== 32) throw new SettingError('DATA_DIR', `${file} is damaged: expected 64 hexadecimal digits`);
  if (!(await checks.agree(checkName, createHmac('sha256', pepper).update(checkText).digest()))) {
    throw new SettingError('DATA_DIR', `${file} is not the pepper that the keys in the store were made with; ${remedy}`);
  }
  return pepper;
}

const remedy = 'copy DATA_DIR/pepper from the first machine, or from its backup; where it is lost: sluice keys reset --help';
