/** A setting that looked right and did not do: its port is taken, its folder holds no store. `what` carries no secret. */
export class SettingError extends Error {
  readonly setting: string;

  constructor(setting: string, what: string, cause?: unknown) {
    super(`${setting}: ${what}`, cause === undefined ? undefined : { cause });
    this.name = 'SettingError';
    this.setting = setting;
  }
}
