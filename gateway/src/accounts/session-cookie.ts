import { isToken } from './secrets.ts';

/** Characters of a `Cookie` header that are looked at. */
const maxCookieChars = 8 * 1024;

/** Browsers take `__Host-` and `Secure` only over https; on plain http, which is the loopback alone, the name goes without. */
function cookieName(secure: boolean): string {
  return secure ? '__Host-sluice_session' : 'sluice_session';
}

/**
 * The session token that a `Cookie` header carries; null where it has none. Two cookies of the name (one was planted from
 * another path) are none: it is unknown which one is ours.
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

/** `Set-Cookie` that a browser sends back to this host alone, never to a script, never from another site. */
export function sessionCookie(token: string, secure: boolean, maxAgeSeconds: number): string {
  return `${cookieName(secure)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`;
}

export function endedSessionCookie(secure: boolean): string {
  return sessionCookie('', secure, 0);
}
