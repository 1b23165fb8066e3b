import { readConfig, readPlace, type Config } from '../config.ts';
import type { EnvFile } from '../env-file.ts';
import { SettingReader } from '../setting-reader.ts';
import { readDataDir } from './setting-files.ts';
import { checkNames } from './setting-names.ts';
import type { SettingName } from './settings-table.ts';

export type SettingsOutcome =
  | { readonly ok: true; readonly config: Config }
  /** One sentence for each fault; it begins with the name of the setting. It never contains an address or a token. */
  | { readonly ok: false; readonly faults: readonly string[] };

export interface SettingsOptions {
  /** Settings that this process requires, and why. */
  readonly requires?: Readonly<Partial<Record<SettingName, string>>>;
  /** The result of `loadEnvFile`. */
  readonly envFile?: EnvFile;
}

const noEnvFile: EnvFile = { names: [], fault: null };

/** Reads and checks all settings. An empty value is treated as not set. It reads files and opens no connection. */
export function readSettings(env: NodeJS.ProcessEnv, { requires = {}, envFile = noEnvFile }: SettingsOptions = {}): SettingsOutcome {
  const read = new SettingReader(env);
  if (envFile.fault !== null) read.fault('.env', envFile.fault);
  checkNames(env, envFile, read);
  const config = readConfig(read);
  for (const [name, why] of Object.entries(requires)) {
    if (read.get(name as SettingName) === null) read.fault(name, `missing; ${why}`);
  }
  return read.faults.length > 0 ? { ok: false, faults: read.faults } : { ok: true, config: deepFreeze(config) };
}

/** The folders of the store's and the signing processes' files, for what must work even if settings are wrong. They are not checked. */
export function readFolders(env: NodeJS.ProcessEnv): Pick<Config, 'dataDir' | 'signerDir'> {
  const read = new SettingReader(env);
  return { dataDir: readDataDir(read), signerDir: readPlace('SIGNER_DIR', read) };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
