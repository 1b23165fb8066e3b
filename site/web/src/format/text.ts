const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The first and last characters of an address. */
export function shortAddress(address: string): string {
  return address.length <= 10 ? address : `${address.slice(0, 4)}…${address.slice(-4)}`;
}

/** A duration in its largest unit: `4s`, `12m`, `3h`, `2d`. */
export function age(ms: number): string {
  if (!(ms >= secondMs)) return 'now';
  if (ms < minuteMs) return `${Math.floor(ms / secondMs)}s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)}m`;
  return ms < dayMs ? `${Math.floor(ms / hourMs)}h` : `${Math.floor(ms / dayMs)}d`;
}

/** A short time with its unit: `80 ms`, `4s`, `12m`. */
export function duration(ms: number): string {
  return ms < secondMs ? `${Math.round(ms)} ms` : age(ms);
}

export function ago(atMs: number | null, nowMs: number): string {
  if (atMs === null) return 'never';
  const text = age(nowMs - atMs);
  return text === 'now' ? 'just now' : `${text} ago`;
}

/** A time of the browser's clock: `2026-11-27 19:20:21`. The language of the page changes nothing in it. */
export function dateTime(ms: number, timeZone?: string): string {
  return new Date(ms).toLocaleString('sv-SE', { timeZone });
}

export function clockTime(ms: number): string {
  return dateTime(ms).slice(11);
}

export function dateText(ms: number): string {
  return dateTime(ms).slice(0, 10);
}

/** The zone of all times: `Asia/Kolkata, UTC+05:30`. */
export function zoneText(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'longOffset' }).formatToParts();
  const offset =
    parts
      .find(({ type }) => type === 'timeZoneName')
      ?.value.replace('GMT', 'UTC')
      .replace('+00:00', '') ?? '';
  return timeZone === offset ? timeZone : `${timeZone}, ${offset}`;
}

/** Base58 of 32 bytes, as far as its form shows. */
export function isAddress(text: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text);
}
