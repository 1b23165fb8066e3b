/**
 * `NODE_OPTIONS=--import=<this file>` sets the wall clock of a process and its threads ahead by CLOCK_AHEAD_MS. The steady clock stays as it is.
 */
const aheadMs = Number(process.env['CLOCK_AHEAD_MS'] ?? 0);
const RealDate = Date;
const now = () => RealDate.now() + aheadMs;

globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length === 0 ? [now()] : values));
  }
  static now() {
    return now();
  }
};
