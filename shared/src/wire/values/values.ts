import { Type, type TProperties, type TSchema } from 'typebox';
import { candleIntervalNames } from './intervals.ts';

/**
 * Kinds of values, each defined once: the patterns and lengths of texts, and the bounds of numbers.
 *
 * `documented` holds what the code checks after the schema, because the answer depends on it: a mint of another form gives INVALID_MINT, and
 * not INVALID_REQUEST. Only the documents have it.
 */
export interface Described {
  readonly documented?: Readonly<Record<string, unknown>>;
  readonly [keyword: string]: unknown;
}

/** The keywords of a JSON schema that validation, documents, codecs and generated clients read. */
export interface SchemaShape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaShape[];
  readonly items?: SchemaShape;
  readonly properties?: Readonly<Record<string, SchemaShape>>;
  readonly patternProperties?: Readonly<Record<string, SchemaShape>>;
  readonly additionalProperties?: unknown;
  readonly required?: readonly string[];
  readonly title?: string;
  readonly description?: string;
  /** See `Described`. */
  readonly documented?: SchemaShape;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  /** Unit of the number, for messages. */
  readonly 'x-unit'?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly pattern?: string;
}

const safe = Number.MAX_SAFE_INTEGER;
const sentence = (...parts: readonly (string | undefined)[]): { readonly description?: string } => {
  const description = parts.filter((part) => part !== undefined && part !== '').join(' ');
  return description === '' ? {} : { description };
};

export const Nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** Option of an object that has no further fields. */
export const closed = { additionalProperties: false } as const;

/** An object without further fields. */
export const Closed = <T extends TProperties>(fields: T) => Type.Object(fields, closed);

/** The same, with a description. */
export const Group = <T extends TProperties>(description: string, fields: T) => Type.Object(fields, { ...closed, description });

/** The same, with the name that documents and clients give it. */
export const Titled = <T extends TProperties>(title: string, fields: T) => Type.Object(fields, { ...closed, title });

/** The same, with both. */
export const Message = <T extends TProperties>(title: string, description: string, fields: T) =>
  Type.Object(fields, { ...closed, title, description });

/** Examples of texts for the documents, by their patterns. */
export const exampleTexts = new Map<string, string>();

/** A text with a pattern. `unit` follows each description. */
function text(pattern: string, example: string, unit?: string) {
  exampleTexts.set(pattern, example);
  return (description?: string, bounds: { readonly minLength?: number; readonly maxLength?: number } = {}) =>
    Type.String({ pattern, ...bounds, ...sentence(description, unit) });
}

// --- Examples. A page of the documentation replaces these three by what exists on its gateway.

export const exampleOrderId = 'ord_01JD2Q6M7N8P9RSTVWXYZ01234';
export const exampleTriggerId = 'trg_01JD2Q6M7N8P9RSTVWXYZ01234';
export const exampleWallet = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
export const exampleMint = '3ENQHPR7pckco8BNzLpsEN3JSBcVvequGCxhr9uY2JvR';
const exampleSignature = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';

// --- Texts of the chain.

const base58 = '[1-9A-HJ-NP-Za-km-z]';
/** Base58 of 32 bytes. */
export const addressPattern = `^${base58}{32,44}$`;
export const Address = text(addressPattern, exampleMint, 'Base58.');
/** A mint in a request. Another text gives INVALID_MINT. */
export const RequestedMint = (description = 'Mint of the token, base58.', options: Described = {}) =>
  Type.String({ maxLength: 64, documented: { pattern: addressPattern, minLength: 32, maxLength: 44 }, description, ...options });
/** Base58 of 64 bytes. */
export const Signature = text(`^${base58}{64,88}$`, exampleSignature);
export const Base64 = text('^[A-Za-z0-9+/]+={0,2}$', 'AQAAAAAAAAA=');

// --- Amounts.

const rawUnit = 'Raw integer in its smallest unit, as a decimal string.';
/** At most the 39 digits of a u128. */
export const Raw = text('^[0-9]{1,39}$', '1000000000', rawUnit);
export const SignedRaw = (description: string) =>
  Type.String({ pattern: '^-?[0-9]{1,39}$', examples: ['2039280'], ...sentence(description, rawUnit) });
/** An amount in a request, from 1 to the largest u64. */
export const RequestedRaw = (description: string) =>
  Type.String({
    pattern: '^[0-9]+$',
    maxLength: 20,
    documented: { pattern: upTo('18446744073709551615') },
    ...sentence(description, rawUnit),
  });
/** A number in a request that may be a text, as in forms: above 0. */
export const decimalPattern = `^([0-9]*[1-9][0-9]*(\\.[0-9]+)?|[0-9]+\\.[0-9]*[1-9][0-9]*)([eE][+-]?[0-9]{1,3})?$`;
export const upToHundredPattern = '^0*([0-9]{1,2}(\\.[0-9]+)?|100(\\.0+)?)$';
/** From 0 to 0.1. */
export const upToTenthPattern = '^0+(\\.(0[0-9]*|10*))?$';

/** A part of a balance in a request: above 0% and up to 100%, with at most four decimals. */
export const percentPattern = [
  '^(100(\\.0{1,4})?',
  '(0{0,2}[1-9]|0?[1-9][0-9])(\\.[0-9]{1,4})?',
  '0{1,3}\\.([1-9][0-9]{0,3}|0[1-9][0-9]{0,2}|00[1-9][0-9]?|000[1-9]))%$',
].join('|');
/** An amount in a sale: whole tokens, or a part of the balance. */
export const RequestedSale = (description: string) =>
  Type.Union(
    [
      Type.Number({ documented: { exclusiveMinimum: 0 } }),
      Type.String({ maxLength: 16, documented: { pattern: percentPattern, minLength: 2, maxLength: 9 } }),
    ],
    { description },
  );
export const Ui = (description: string) => Type.Number({ minimum: 0, ...sentence(description, 'UI number (float64).') });

/** A pattern of the decimal integers from 1 to `max`, with leading zeros. */
function upTo(max: string): string {
  const digits = Array.from(max, Number);
  const smaller = digits.flatMap((digit, at) => {
    const least = at === 0 ? 1 : 0;
    return digit > least ? [`${max.slice(0, at)}[${least}-${digit - 1}][0-9]{${max.length - at - 1}}`] : [];
  });
  return `^(0*[1-9][0-9]{0,${max.length - 2}}|${[...smaller, max].join('|')})$`;
}

// --- Numbers.

const integer = (minimum: number, maximum: number) => (description?: string) =>
  Type.Integer({ minimum, maximum, ...sentence(description) });
export const Count = integer(0, safe);
export const Slot = integer(0, safe);
export const BlockHeight = integer(0, safe);
export const Decimals = integer(0, 255);
export const Bps = integer(0, safe);
/** A time that the chain reports. Nobody checks it. */
export const BlockTime = (description = 'Block time, Unix seconds; null if it is unknown.') =>
  Type.Union([Type.Integer({ minimum: -safe, maximum: safe }), Type.Null()], { description });
export const UnixSeconds = integer(0, 9_999_999_999);
export const UnixMs = integer(0, safe);
export const UnixUs = integer(0, safe);
export const Ms = (description: string) => Type.Integer({ minimum: 0, maximum: safe, ...sentence(description, 'Milliseconds.') });

// --- Names that the gateway gives.

/** Form of the ids of orders. */
export const orderIdPattern = '^ord_[0-9A-HJKMNP-TV-Z]{26}$';
export const OrderId = text(orderIdPattern, exampleOrderId);
/** Form of the ids of triggers. */
export const triggerIdPattern = '^trg_[0-9A-HJKMNP-TV-Z]{26}$';
export const TriggerId = text(triggerIdPattern, exampleTriggerId);
/** Longer than any: a signature, the path of an instruction, and endings. */
export const EventId = text('^[0-9A-Za-z.:+_-]{1,160}$', `${exampleSignature}:3.1`);
export const KeyId = text('^[0-9A-Za-z]{10}$', 'k4WbPq81Zx');
/** The part of an API key that is not secret. */
export const KeyPrefix = text('^sluice_[0-9A-Za-z]{10}$', 'sluice_k4WbPq81Zx');
/** An API key in a request. Another text gives UNAUTHENTICATED. */
export const ApiKey = (description: string) =>
  Type.String({ minLength: 1, maxLength: 512, documented: { pattern: '^sluice_[0-9A-Za-z]{10}_[0-9A-Za-z]{40}$' }, description });
export const ticketPattern = '^[A-Za-z0-9_-]{43}$';
export const Ticket = text(ticketPattern, 'Zk3vQ0mYb7d2sWfXo9cT1uHnRj5aGiLpEe8Kq4yVtBw');
export const requestIdPattern = '^[A-Za-z0-9._-]{8,64}$';
export const RequestId = text(requestIdPattern, '01JD2Q6M7N8P9RSTVWXYZ01234');
export const versionPattern = '^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$';
export const Version = text(versionPattern, '1.0.0');
export const Epoch = text('^[0-9A-Za-z_-]{1,128}$', '01jd2q6m7x4f');

const address = `${base58}{32,44}`;
const interval = `(${candleIntervalNames.join('|')})`;
export const topicPattern = `^(newTokens|migrations|trades(:@?${address})?|prices:${address}|pools(:${address})?|candles:${address}:${interval}|programs:${address}|orders:[0-9A-Za-z]{10})$`;
export const Topic = text(topicPattern, `trades:${exampleMint}`);

// --- Addresses of the network.

/** An IP address in a request. It may have capital letters, but no zone. */
export const RequestedIp = (description: string) =>
  Type.String({ minLength: 2, maxLength: 45, documented: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] }, description });
/** Maximum number of ranges of one key. */
export const maxIpRanges = 32;
/** An address with the length of its prefix, as the gateway stores it. */
export const IpRange = text('^[0-9a-f.:]{2,45}/[0-9]{1,3}$', '203.0.113.0/24');

// --- Texts for people, and texts that others wrote.

/** Characters of an API key's label, all of them printable. */
export const maxLabelChars = 64;
/** Name or symbol of a token in an answer. The creator of the token controls it; a longer one is omitted. */
export const maxTokenNameChars = 256;
export const TokenName = () => Type.String({ maxLength: maxTokenNameChars });
export const maxTokenUriChars = 2048;
export const TokenUri = () => Type.String({ maxLength: maxTokenUriChars });
/** An address in the metadata of a token, as it is published. */
export const PublishedLink = text('^(https?|ipfs)://', 'https://example.com/');
/** A text that the code does not restrict. */
export const FreeText = (description?: string) => Type.String(sentence(description));
