/** Longest text of a node that is written to a log or an error. */
const maxShownChars = 200;
/** Characters that a terminal or a log would interpret. */
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** A text from a node in a form that can be shown and logged: one line of bounded length. */
export function shownText(text: string): string {
  const shown = text.slice(0, maxShownChars).replace(control, ' ');
  return text.length > maxShownChars ? `${shown}…` : shown;
}

/** A shorter part of an address is no secret, and could be a part of ordinary words. */
const minSecretChars = 5;
/** Only the last two labels of a host name may be shown. */
const shownLabels = 2;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);

/** Makes a text from a node fit to be shown, stored and logged. */
export type NodeText = (text: string) => string;

/**
 * Hides the secrets of this address in the texts of its node, in error messages and in results. Nodes and providers repeat their address in errors, and the address
 * can contain a key: in the user name, the password, the path, the query or the subdomain. Each such part is hidden, also in its decoded and
 * encoded form. A URL with the node's host is hidden to its end, because the node may have shortened it.
 *
 * A text is cleaned where it leaves, because most texts never do. Values that were checked to be addresses, signatures or numbers are no texts;
 * nor are the bytes of accounts and events, which are the chain's.
 */
export function nodeTextOf(address: string): NodeText {
  if (!URL.canParse(address)) return () => '(hidden)';
  const { hostname, username, password, pathname, searchParams } = new URL(address);
  const labels = hostname.split('.').slice(0, -shownLabels);
  const isName = /[a-z]/i.test(hostname) && !hostname.startsWith('[');
  // A query may be the key alone.
  const inQuery = [...searchParams].map(([name, value]) => (value === '' ? name : value));
  // The header `Authorization` has both together.
  const basic = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  const parts = [username, password, basic, ...pathname.split('/'), ...inQuery, ...(isName ? labels : [])];
  const forms = parts.flatMap((part) => [part, decoded(part), encodeURIComponent(decoded(part))]);
  const secrets = [...new Set(forms)].filter((form) => form.length >= minSecretChars).toSorted((a, b) => b.length - a.length);
  const urls = String.raw`(?:https?|wss?):\/\/(?:[^\s\/@]*@)?${escaped(hostname)}\S*`;
  const hidden = new RegExp([urls, ...secrets.map(escaped)].join('|'), 'gi');
  return (text) => shownText(text.replace(hidden, '(hidden)'));
}

/** An IPv4 address, or an IPv6 address in brackets, as `URL` writes them. */
const ipAddress = /^\[|^\d+\.\d+\.\d+\.\d+$/;

/**
 * The last two labels of the host of an endpoint, such as `helius-rpc.com`, which may be shown to everybody. Null for an IP address or a name
 * without a dot. Nothing else of the URL may be shown: providers put keys into the path, the query, the user name and the subdomain.
 */
export function shownHost(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { hostname } = new URL(url);
  if (ipAddress.test(hostname)) return null;
  const labels = hostname.split('.').filter((label) => label !== '');
  return labels.length < shownLabels ? null : labels.slice(-shownLabels).join('.');
}
