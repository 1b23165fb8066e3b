import { existsSync, readFileSync } from 'node:fs';

/**
 * `NODE_OPTIONS=--import=<this file>` sets the wall clock of a process and its threads ahead by CLOCK_AHEAD_MS, or by the number in the file
 * CLOCK_AHEAD_FILE, which may change while the process runs. The steady clock stays as it is.
 */
const { CLOCK_AHEAD_MS: fixed = '0', CLOCK_AHEAD_FILE: file } = process.env;
let aheadMs = Number(fixed);
const RealDate = Date;
const now = () => RealDate.now() + aheadMs;

if (file !== undefined) {
  const look = () => existsSync(file) && (aheadMs = Number(readFileSync(file, 'utf8')));
  look();
  setInterval(look, 20).unref();
}

globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length === 0 ? [now()] : values));
  }
  static now() {
    return now();
  }
};
