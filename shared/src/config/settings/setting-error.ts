/** A setting that is well-formed but does not work: its port is in use, its folder has no store. `what` contains no secret. */
export class SettingError extends Error {
  readonly setting: string;

  constructor(setting: string, what: string, cause?: unknown) {
    super(`${setting}: ${what}`, cause === undefined ? undefined : { cause });
    this.name = 'SettingError';
    this.setting = setting;
  }
}
