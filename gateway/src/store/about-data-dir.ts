import { SettingError } from '@sluice/shared/config/setting-error.ts';

/** Does `work`, and throws what it throws as a fault of the setting that names the folder: `what`, and the error's message. */
export function aboutDataDir<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new SettingError('DATA_DIR', `${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
