import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { aboutDataDir, makeFolder, readOrMakeSecret } from './files/files.ts';
import { takeLock } from './files/lock.ts';

/** How many gateways on one data folder keep their ids across restarts. A further gateway gets a new id at each start. */
const maxStoredIds = 64;

export interface GatewayId {
  readonly id: string;
  /** Lets the next gateway on the data folder use the id. */
  readonly release: () => void;
}

/**
 * The id under which a gateway follows orders. No other process has it at the same time. After a crash, the next gateway on the same
 * data folder gets the same id, so it continues the open orders at once; other gateways must first wait until the claim on them has
 * expired. Throws a `SettingError` if files cannot be written to the folder.
 */
export function takeGatewayId(dataDir: string): GatewayId {
  const folder = join(dataDir, 'gateways');
  return aboutDataDir(`the id of the gateway cannot be stored in ${folder}`, () => {
    makeFolder(folder);
    for (let slot = 0; slot < maxStoredIds; slot++) {
      const lock = takeLock(join(folder, `${slot}.lock`));
      if (lock === null) continue;
      return { id: readOrMakeSecret(join(folder, `${slot}.id`), () => `${randomUUID()}\n`), release: () => lock.release() };
    }
    return { id: randomUUID(), release: () => undefined };
  });
}
