import { isIP } from 'node:net';

const hostNameForm = /^(?=.{1,253}$)[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?$/;
/** A name with such an end is read as an IPv4 address, so it must be a valid one. */
const endsInNumber = /(?:^|\.)\d+\.?$/;

/** Whether a text is an IP address (IPv6 without brackets) or the name of a host. */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || (hostNameForm.test(text) && !endsInNumber.test(text));
}
