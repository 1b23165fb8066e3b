import { randomBytes } from 'node:crypto';

/** Characters of an epoch's name: 72 random bits, so that two logs never share a name. */
export const epochLength = 12;

export function newEpoch(): string {
  return randomBytes(9).toString('base64url');
}
