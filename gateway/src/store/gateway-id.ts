import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { aboutDataDir } from './about-data-dir.ts';
import { takeLock } from './lock.ts';
import { makeFolder } from './make-folder.ts';
import { readOrMakeSecret } from './secret-file.ts';

/** Gateways on one data folder that keep their ids; one more has an id for this life alone. */
const maxKept = 64;

export interface GatewayId {
  readonly id: string;
  /** The next gateway on the data folder may have it. */
  readonly release: () => void;
}

/**
 * The id under which a gateway follows orders, and which nobody else has while it lives. The next one on the same data folder has the
 * same: what was left open by a crash it takes up as its own, at once, where others wait until the hold on it has run out. Throws a
 * `SettingError` where the folder takes no files.
 */
export function takeGatewayId(dataDir: string): GatewayId {
  const folder = join(dataDir, 'gateways');
  return aboutDataDir(`the id of the gateway cannot be kept in ${folder}`, () => {
    makeFolder(folder);
    for (let slot = 0; slot < maxKept; slot++) {
      const lock = takeLock(join(folder, `${slot}.lock`));
      if (lock === null) continue;
      return { id: readOrMakeSecret(join(folder, `${slot}.id`), () => `${randomUUID()}\n`), release: () => lock.release() };
    }
    return { id: randomUUID(), release: () => undefined };
  });
}
