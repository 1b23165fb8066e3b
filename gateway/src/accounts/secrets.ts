import { createHash, createHmac, randomBytes } from 'node:crypto';

/** A new token for a session or a link: 256 random bits as 64 hexadecimal digits. */
export function newToken(): string {
  return randomBytes(32).toString('hex');
}

export function isToken(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** The stored hash of a token. The token has 256 random bits, so a plain hash reveals nothing and the token cannot be guessed. */
export function tokenHash(token: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(token).digest());
}

/** The CSRF token of a session. It is derived from the session's token, so it need not be stored, and belongs to this session only. */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('sluice dashboard csrf').digest('hex');
}
