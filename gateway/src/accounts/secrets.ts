import { createHash, createHmac, randomBytes } from 'node:crypto';

/** 256 random bits as 64 hexadecimal digits: a session, a link. */
export function newToken(): string {
  return randomBytes(32).toString('hex');
}

export function isToken(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** What is stored of a token. It has 256 random bits, so a plain hash gives nothing away and cannot be searched through. */
export function tokenHash(token: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(token).digest());
}

/** The CSRF token of a session: made from the session's token, so that it can be made again and fits no other session. */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('sluice dashboard csrf').digest('hex');
}
