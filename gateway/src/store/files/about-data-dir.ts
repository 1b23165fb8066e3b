import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';

/** Runs `work`. If it throws, throws a `SettingError` about `DATA_DIR` with the text `what` and the error's message. */
export function aboutDataDir<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new SettingError('DATA_DIR', `${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
