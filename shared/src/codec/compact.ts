import { wrappedSolMint } from '../solana/well-known.ts';
import { bufferOf } from './bytes.ts';
import { packText, packValue } from './msgpack.ts';

/**
 * The form in which frequent events are stored: MessagePack without the names of fields, and without repeated texts. It adds four forms of values to
 * MessagePack, by bytes that the writers here do not use otherwise:
 *
 *     c1 u8          a word: a frequent text, by its place in `words`
 *     c4 u8          a long text that the event had before, by its number
 *     c5 u8          the first so many characters of the first long text
 *     c7 u8, keys    a map: number of fields, the name of each field as a word, then the values in the same order
 *     c8 u16, bytes  a text in UTF-8; other texts are ASCII
 *
 * A name that is not in `words` has the key 0, and precedes its value. So a reader of another version reads every event.
 */
const wordMark = '\xc1';
const repeatedMark = '\xc4';
const prefixMark = '\xc5';
const mapMark = '\xc7';
const utf8Mark = '\xc8';

/** Names of fields and frequent values. Stored events refer to their places: append only, at most 255. */
const words = [
  '',
  ...'trade price id type mint quoteMint pool poolAddress signature slot blockTime commitment ts received published late simulated'.split(
    ' ',
  ),
  ...'side trader feePayer baseAmount baseDecimals quoteAmount quoteDecimals tokenAmount solAmount quoteUiAmount'.split(' '),
  ...'priceQuote priceSol priceUsd marketCapSol marketCapUsd priceQuoteBefore fees kind amount bps feeTotal'.split(' '),
  ...'reserves virtualBase virtualQuote realBase realQuote depth traderBalance curveCompleted source solUsd ageMs'.split(' '),
  ...'account processed confirmed finalized buy sell protocol creator lp cashback'.split(' '),
  wrappedSolMint,
];
const codes = new Map(words.map((word, code) => [word, String.fromCharCode(code)]));
const longText = 32;

/** A name of a field as its key, with the name itself if it is no word. */
export function keyOf(name: string): { readonly key: string; readonly before: string } {
  const key = codes.get(name);
  return key === undefined ? { key: '\0', before: compactValue(name) } : { key, before: '' };
}

/** The head of a map; its values follow. */
export function compactMap(keys: string): string {
  return mapMark + String.fromCharCode(keys.length) + keys;
}

/** A text that is one of few. */
export function compactWord(text: string): string {
  const code = codes.get(text);
  return code === undefined ? compactText(text) : wordMark + code;
}

/** Long texts of the event that is being written or read. */
let longTexts: string[] = [];

export function beginCompact(): string {
  longTexts = [];
  return '';
}

/** An ASCII text, or null. */
export function compactText(text: string | null): string {
  if (text === null || text.length < longText) return packText(text);
  const code = codes.get(text);
  if (code !== undefined) return wordMark + code;
  for (let i = 0; i < longTexts.length; i++) if (longTexts[i] === text) return repeatedMark + String.fromCharCode(i);
  if (text.length < 0x100 && longTexts[0]?.startsWith(text) === true) return prefixMark + String.fromCharCode(text.length);
  if (longTexts.length < 0x100) longTexts.push(text);
  return packText(text);
}

/** Any other value: its texts may be of any script. */
export function compactValue(value: unknown): string {
  if (typeof value !== 'string') return packValue(value);
  const bytes = Buffer.from(value);
  return utf8Mark + String.fromCharCode(bytes.length >>> 8, bytes.length & 0xff) + bytes.toString('latin1');
}

let bytes: Buffer = Buffer.alloc(0);
let at = 0;

/** Reads one value after the other from the offset `from` of a record. */
export function beginReading(record: Uint8Array, from: number): void {
  bytes = bufferOf(record);
  at = from;
  longTexts = [];
}

/** Reads the next value. Throws if the bytes are not in this form. */
export function readCompact(): unknown {
  const tag = bytes.readUInt8(at++);
  if (tag < 0x80) return tag;
  if (tag >= 0xe0) return tag - 0x100;
  if (tag >= 0xa0 && tag < 0xc0) return readText(tag & 0x1f);
  if (tag >= 0x90 && tag < 0xa0) return readArray(tag & 0x0f);
  const read = readers[tag];
  if (read === undefined) throw new RangeError('A stored event has an unknown form of value.');
  return read();
}

const u8 = (): number => bytes.readUInt8(at++);
const u16 = (): number => bytes.readUInt16BE((at += 2) - 2);
const u32 = (): number => bytes.readUInt32BE((at += 4) - 4);
const i32 = (): number => bytes.readInt32BE((at += 4) - 4);

const readers: readonly ((() => unknown) | undefined)[] = Object.assign([], {
  0xc0: () => null,
  0xc1: () => wordAt(u8()),
  0xc2: () => false,
  0xc3: () => true,
  0xc4: () => longTextAt(u8()),
  0xc5: () => longTextAt(0).slice(0, u8()),
  0xc7: () => readMap(u8()),
  0xc8: () => readText(u16(), 'utf8'),
  0xcb: () => bytes.readDoubleBE((at += 8) - 8),
  0xcc: u8,
  0xcd: u16,
  0xce: u32,
  0xcf: () => u32() * 0x1_0000_0000 + u32(),
  0xd0: () => bytes.readInt8(at++),
  0xd1: () => bytes.readInt16BE((at += 2) - 2),
  0xd2: i32,
  0xd3: () => i32() * 0x1_0000_0000 + u32(),
  0xd9: () => readText(u8()),
  0xda: () => readText(u16()),
  0xdc: () => readArray(u16()),
});

function readText(length: number, encoding: 'latin1' | 'utf8' = 'latin1'): string {
  const end = at + length;
  if (end > bytes.length) throw new RangeError('A stored event ends too early.');
  const text = bytes.toString(encoding, at, end);
  at = end;
  if (length >= longText && longTexts.length < 0x100 && encoding === 'latin1') longTexts.push(text);
  return text;
}

function readArray(length: number): unknown[] {
  const items: unknown[] = [];
  for (let i = 0; i < length; i++) items.push(readCompact());
  return items;
}

function longTextAt(number: number): string {
  const text = longTexts[number];
  if (text === undefined) throw new RangeError('A stored event repeats a text that it does not have.');
  return text;
}

function wordAt(code: number): string {
  const word = words[code];
  if (word === undefined) throw new RangeError('A stored event has an unknown word.');
  return word;
}

/** Lists of fields are few, so each gets a function that makes its objects. Above this limit, which only a forger reaches, none. */
const maxShapes = 256;
const shapes = new Map<string, (read: () => unknown) => object>();

function readMap(fields: number): object {
  const keysAt = at;
  at += fields;
  if (at > bytes.length) throw new RangeError('A stored event ends too early.');
  const keys = bytes.toString('latin1', keysAt, at);
  let make = shapes.get(keys);
  if (make === undefined) {
    if (keys.includes('\0') || shapes.size >= maxShapes) return readNamed(keys);
    const names = Array.from(keys, (key) => JSON.stringify(wordAt(key.charCodeAt(0))));
    // The source is made of `words` only.
    // oxlint-disable-next-line typescript/no-implied-eval
    make = new Function('read', `return { ${names.map((name) => `${name}: read()`).join(', ')} };`) as (read: () => unknown) => object;
    shapes.set(keys, make);
  }
  return make(readCompact);
}

function readNamed(keys: string): object {
  const fields: [string, unknown][] = [];
  for (const key of keys) fields.push([key === '\0' ? String(readCompact()) : wordAt(key.charCodeAt(0)), readCompact()]);
  return Object.fromEntries(fields);
}
