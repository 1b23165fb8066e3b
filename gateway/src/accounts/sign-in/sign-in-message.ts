/** Longest message that is read. Ours have about 400 characters. */
const maxMessageChars = 2048;
const headEnd = ' wants you to sign in with your Solana account:';
const resourcesLabel = 'Resources:';

const uriForm = /^[a-z][a-z0-9+.-]*:[!-~]+$/i;
const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
/** reserved, unreserved and space of RFC 3986: no quotes, no percent, no line break. */
const statementForm = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;= ]+$/;
const domainForm = /^[A-Za-z0-9.\-_~:[\]]+$/;
const addressForm = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

const isTime = (text: string): boolean => timeForm.test(text) && Number.isFinite(Date.parse(text));
const isUri = (text: string): boolean => uriForm.test(text) && URL.canParse(text);

/** The lines with labels, in their only valid order. */
const lines = [
  ['uri', 'URI: ', isUri],
  ['version', 'Version: ', (text: string) => text === '1'],
  ['chainId', 'Chain ID: ', (text: string) => /^((solana:)?(mainnet|testnet|devnet)|localnet)$/.test(text)],
  ['nonce', 'Nonce: ', (text: string) => /^[A-Za-z0-9]{8,128}$/.test(text)],
  ['issuedAt', 'Issued At: ', isTime],
  ['expirationTime', 'Expiration Time: ', isTime],
  ['notBefore', 'Not Before: ', isTime],
  ['requestId', 'Request ID: ', (text: string) => /^[A-Za-z0-9\-._~%!$&'()*+,;=:@]*$/.test(text)],
] as const;

/**
 * The fields of the text that a wallet signs to sign in, by the ABNF of Sign-In With Solana (EIP-4361 for Solana; the feature
 * `solana:signIn` of the Wallet Standard). Times are RFC 3339 with a zone. Absent fields are omitted from the text.
 */
interface Message extends Partial<Record<(typeof lines)[number][0], string>> {
  /** Host of the page, with the port if the address names a port. */
  domain: string;
  /** Base58 */
  address: string;
  statement?: string;
  resources?: readonly string[];
}
export type SignInMessage = Readonly<Message>;

/** The text of a message. The wallet builds it from the fields and signs it as UTF-8. */
export function signInText(message: SignInMessage): string {
  const fields = lines.flatMap(([name, label]) => {
    const value = message[name];
    return value === undefined ? [] : [label + value];
  });
  if (message.resources !== undefined) fields.push(resourcesLabel, ...message.resources.map((uri) => `- ${uri}`));
  return [
    message.domain + headEnd,
    message.address,
    ...(message.statement === undefined ? [] : ['', message.statement]),
    ...(fields.length === 0 ? [] : ['', ...fields]),
  ].join('\n');
}

/**
 * Parses a text. Null if it does not exactly have the form: an unknown, repeated or misplaced line, or an invalid value. `signInText` of the
 * result gives the same text again, byte by byte. A line that begins with a label is a field, never the statement.
 */
export function parseSignInText(text: string): SignInMessage | null {
  if (text.length > maxMessageChars) return null;
  const [head = '', address = '', ...rest] = text.split('\n');
  const domain = head.endsWith(headEnd) ? head.slice(0, -headEnd.length) : '';
  if (!domainForm.test(domain) || !addressForm.test(address)) return null;
  const message: Message = { domain, address };
  if (rest[0] === '' && rest[1] !== undefined && !isLabelled(rest[1])) {
    if (!statementForm.test(rest[1])) return null;
    message.statement = rest[1];
    rest.splice(0, 2);
  }
  if (rest.length === 0) return message;
  if (rest.length === 1 || rest.shift() !== '') return null;
  return readFields(message, rest);
}

function isLabelled(line: string): boolean {
  return line === resourcesLabel || lines.some(([, label]) => line.startsWith(label));
}

function readFields(message: Message, rest: string[]): SignInMessage | null {
  for (const [name, label, isValue] of lines) {
    if (rest[0]?.startsWith(label) !== true) continue;
    const value = rest.shift()!.slice(label.length);
    if (!isValue(value)) return null;
    message[name] = value;
  }
  if (rest.length === 0) return message;
  if (rest.shift() !== resourcesLabel) return null;
  if (!rest.every((line) => line.startsWith('- ') && isUri(line.slice(2)))) return null;
  message.resources = rest.map((line) => line.slice(2));
  return message;
}
