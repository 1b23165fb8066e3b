/** MessagePack, written as a string in which each character is one byte. `bytesOf` makes bytes of it at the end. */

export const nil = '\xc0';
const yes = '\xc3';
const no = '\xc2';
const prefixes = Array.from({ length: 256 }, (_, length) =>
  length < 32 ? String.fromCharCode(0xa0 | length) : `\xd9${String.fromCharCode(length)}`,
);
const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
const twoTo32 = 2 ** 32;

function byte(value: number): string {
  return bytes[value & 0xff]!;
}

const u16 = (value: number): string => byte(value >>> 8) + byte(value);
const u32 = (value: number): string => byte(value >>> 24) + byte(value >>> 16) + byte(value >>> 8) + byte(value);

/** A text in which each character is one byte: ASCII, or the result of `utf8`. */
export function packText(text: string | null): string {
  if (text === null) return nil;
  const prefix = prefixes[text.length];
  return prefix === undefined ? textHead(text.length) + text : prefix + text;
}

function textHead(length: number): string {
  return length < 0x10000 ? `\xda${u16(length)}` : `\xdb${u32(length)}`;
}

const floatBytes = new Uint8Array(8);
const floatView = new DataView(floatBytes.buffer);

/** A number: as an integer if it is one that a double represents exactly (uint64 and int64 beyond 32 bits), otherwise as float64. */
export function packNumber(value: number | null): string {
  if (value === null) return nil;
  if (Math.floor(value) === value && value <= Number.MAX_SAFE_INTEGER) {
    if (value > 0 || Object.is(value, 0)) return packUnsigned(value);
    if (value < 0 && value >= -Number.MAX_SAFE_INTEGER) return packNegative(value);
  }
  floatView.setFloat64(0, value);
  return String.fromCharCode(
    0xcb,
    floatBytes[0]!,
    floatBytes[1]!,
    floatBytes[2]!,
    floatBytes[3]!,
    floatBytes[4]!,
    floatBytes[5]!,
    floatBytes[6]!,
    floatBytes[7]!,
  );
}

function packUnsigned(value: number): string {
  if (value < 0x80) return byte(value);
  if (value < 0x100) return `\xcc${byte(value)}`;
  if (value < 0x10000) return `\xcd${u16(value)}`;
  if (value < twoTo32) return `\xce${u32(value)}`;
  return `\xcf${u32(value / twoTo32)}${u32(value)}`;
}

function packNegative(value: number): string {
  if (value >= -0x20) return byte(value);
  if (value >= -0x80) return `\xd0${byte(value)}`;
  if (value >= -0x8000) return `\xd1${u16(value)}`;
  if (value >= -0x80000000) return `\xd2${u32(value)}`;
  return `\xd3${u32(Math.floor(value / twoTo32))}${u32(value)}`;
}

export function mapHead(fields: number): string {
  return fields < 16 ? byte(0x80 | fields) : fields < 0x10000 ? `\xde${u16(fields)}` : `\xdf${u32(fields)}`;
}

export function arrayHead(items: number): string {
  return items < 16 ? byte(0x90 | items) : items < 0x10000 ? `\xdc${u16(items)}` : `\xdd${u32(items)}`;
}

/** The UTF-8 bytes of a text, each as a character. */
export function utf8(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Any value that JSON can represent. Like in JSON, undefined fields are omitted. */
export function packValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return packText(utf8(value));
    case 'number':
      return packNumber(value);
    case 'boolean':
      return value ? yes : no;
    case 'object':
      if (value === null) return nil;
      return Array.isArray(value) ? packArray(value) : packMap(value as Readonly<Record<string, unknown>>);
    default:
      throw new TypeError(`A ${typeof value} cannot be written as MessagePack.`);
  }
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

function packArray(values: readonly unknown[]): string {
  let packed = arrayHead(values.length);
  for (const value of values) packed += packValue(value);
  return packed;
}

/** Encoded names of fields. The schemas have fewer than `maxNames`. */
const names = new Map<string, string>();
const maxNames = 1_024;

function packName(name: string): string {
  let packed = names.get(name);
  if (packed !== undefined) return packed;
  packed = packValue(name);
  if (names.size < maxNames) names.set(name, packed);
  return packed;
}

function packMap(record: Readonly<Record<string, unknown>>): string {
  let length = 0;
  let fields = '';
  for (const name of Object.keys(record)) {
    const value = record[name];
    if (value === undefined) continue;
    length++;
    fields += packName(name) + packValue(value);
  }
  return mapHead(length) + fields;
}
