import { bufferOf } from './bytes.ts';

/**
 * Searches for a field by its name in the JSON of an event, of which no other part is parsed. A text cannot be mistaken for the name of a field, because
 * JSON escapes its quotes. In each event of the schemas, the first field of the name is the one that is meant.
 */
export const typeIn = textSearch('type');
export const idIn = textSearch('id');
export const mintIn = textSearch('mint');
export const poolAddressIn = textSearch('poolAddress');
export const commitmentIn = textSearch('commitment');
export const slotIn = integerSearch('slot');
/** `ts.published`. */
export const tsPublishedIn = integerSearch('published');

const quote = 0x22;

/** The text of a field. Null if there is none. */
function textSearch(name: string): (json: Uint8Array) => string | null {
  const mark = Buffer.from(`"${name}":"`);
  return (json) => {
    const bytes = bufferOf(json);
    const at = bytes.indexOf(mark);
    if (at === -1) return null;
    const from = at + mark.length;
    const end = bytes.indexOf(quote, from);
    return end === -1 ? null : bytes.toString('latin1', from, end);
  };
}

/** The integer of a field, 0 or more. Null if there is none. */
function integerSearch(name: string): (json: Uint8Array) => number | null {
  const mark = Buffer.from(`"${name}":`);
  return (json) => {
    const bytes = bufferOf(json);
    const at = bytes.indexOf(mark);
    if (at === -1) return null;
    const from = at + mark.length;
    let end = from;
    let value = 0;
    for (let digit = digitAt(bytes, end); digit >= 0 && digit <= 9; digit = digitAt(bytes, ++end)) value = value * 10 + digit;
    return end === from ? null : value;
  };
}

function digitAt(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) - 0x30;
}
