import { isToken } from '../secrets.ts';

/** Longest `Cookie` header that is read. */
const maxCookieChars = 8 * 1024;

/** Browsers accept `__Host-` and `Secure` only over https. On plain http, which is allowed on the loopback only, the name has no prefix. */
function cookieName(secure: boolean): string {
  return secure ? '__Host-sluice_session' : 'sluice_session';
}

/**
 * The session token in a `Cookie` header; null if there is none. Also null if there are two such cookies: one may have been set by an
 * attacker for another path, and it is unknown which one is ours.
 */
export function sessionTokenOf(cookies: string | undefined, secure: boolean): string | null {
  if (cookies === undefined || cookies.length > maxCookieChars) return null;
  const head = `${cookieName(secure)}=`;
  const [own, ...more] = cookies
    .split(';')
    .map((cookie) => cookie.trim())
    .filter((cookie) => cookie.startsWith(head))
    .map((cookie) => cookie.slice(head.length));
  return own !== undefined && more.length === 0 && isToken(own) ? own : null;
}

/** A `Set-Cookie` header. Browsers return the cookie to this host only, hide it from scripts, and do not send it with requests from other sites. */
export function sessionCookie(token: string, secure: boolean, maxAgeSeconds: number): string {
  return `${cookieName(secure)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`;
}

export function endedSessionCookie(secure: boolean): string {
  return sessionCookie('', secure, 0);
}
