import { randomBytes } from 'node:crypto';

/** Characters of an epoch's name. */
export const epochLength = 12;

export function newEpoch(): string {
  return randomBytes(9).toString('base64url');
}

/** What Redis puts behind the time at which an epoch began: two servers may begin one in the same millisecond. */
export function epochEnding(): string {
  return randomBytes(9).toString('base64url').slice(0, 3);
}
