import { randomBytes } from 'node:crypto';

/** Characters of an epoch's name: the time at which it began, in milliseconds in base 32, then some of chance. */
export const epochLength = 12;
export const epochTimeDigits = 9;
export const epochDigits = '0123456789abcdefghijklmnopqrstuv';

/** What is behind the time: two servers may begin an epoch in the same millisecond. */
export function epochEnding(): string {
  return randomBytes(9)
    .toString('base64url')
    .slice(0, epochLength - epochTimeDigits);
}

export function newEpoch(): string {
  return Date.now().toString(32).padStart(epochTimeDigits, '0') + epochEnding();
}

const timeForm = new RegExp(`^[${epochDigits}]{${epochTimeDigits}}`);

/** Whether one epoch began after another. What is no name of an epoch began before all. */
export function isLater(epoch: string, than: string): boolean {
  return timeForm.test(epoch) && epoch.slice(0, epochTimeDigits) > than.slice(0, epochTimeDigits);
}
