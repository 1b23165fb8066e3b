import { randomBytes } from 'node:crypto';

/** Characters of an epoch's name: its start time in milliseconds in base 32, then random characters. */
export const epochLength = 12;
export const epochTimeDigits = 9;
export const epochDigits = '0123456789abcdefghijklmnopqrstuv';

/** The random characters, because two servers may begin an epoch in the same millisecond. */
export function epochEnding(): string {
  return randomBytes(9)
    .toString('base64url')
    .slice(0, epochLength - epochTimeDigits);
}

export function newEpoch(): string {
  return Date.now().toString(32).padStart(epochTimeDigits, '0') + epochEnding();
}

const timeForm = new RegExp(`^[${epochDigits}]{${epochTimeDigits}}`);

/** Whether one epoch began after another. A text that is not the name of an epoch counts as the earliest. */
export function isLater(epoch: string, than: string): boolean {
  return timeForm.test(epoch) && epoch.slice(0, epochTimeDigits) > than.slice(0, epochTimeDigits);
}
