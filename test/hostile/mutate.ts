import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';

/** A number from 0, below the limit. */
export type Dice = (below: number) => number;

/** The dice of one case, so that each case can be repeated alone. */
export function diceOf(seed: number, at: number): Dice {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(at + 1, 0xc2b2ae35);
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export const oneOf = <T>(list: readonly T[], dice: Dice): T => list[dice(list.length)]!;

/** Values at which arithmetic and lengths break. */
const edges = [0n, 1n, 0xffn, 0x7fff_ffffn, 0xffff_ffffn, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n];

/** Changes some bytes, cuts, prolongs, or puts a number at which code may break. Keeps the first bytes mostly, so that decoders read on. */
export function mutateBytes(bytes: Uint8Array, dice: Dice): Uint8Array {
  const action = dice(12);
  if (action === 0) return bytes.subarray(0, dice(bytes.length + 1));
  if (action === 1) return Buffer.from(Array.from({ length: dice(300) }, () => dice(256)));
  const copy = Buffer.alloc(bytes.length + (action === 2 ? dice(80) : 0), dice(256));
  copy.set(bytes);
  const from = dice(20) === 0 ? 0 : Math.min(8, copy.length);
  const place = (width: number): number => from + dice(Math.max(1, copy.length - from - width + 1));
  if (action === 3) copy.fill(dice(256), place(1));
  for (let changes = dice(4); changes >= 0; changes--) {
    if (copy.length >= from + 8 && dice(2) === 0) copy.writeBigUInt64LE(oneOf(edges, dice), place(8));
    else if (copy.length > from) copy[place(1)] = dice(256);
  }
  return copy;
}

const characters = [
  '0',
  ' ',
  ':',
  '=',
  '9',
  'P',
  'z',
  '\u0000',
  '\ud800',
  '🙂',
  'Program ',
  ' invoke [2]',
  ' success',
  'Log truncated',
  ' AAAA',
];
const dataPrefixes = ['Program data: ', 'Program log: ray_log: '];

export function mutateText(text: string, dice: Dice): string {
  const at = dice(text.length + 1);
  const action = dice(5);
  if (action === 0) return text.slice(0, at);
  if (action === 1) return text.slice(at);
  if (action === 2) return text.slice(0, at) + oneOf(characters, dice) + text.slice(at);
  if (action === 3) return text.slice(0, at) + oneOf(characters, dice) + text.slice(at + 1);
  return text.slice(0, at) + text.slice(at + 1 + dice(4));
}

function mutateLine(line: string, dice: Dice): string {
  const prefix = dataPrefixes.find((one) => line.startsWith(one));
  if (prefix === undefined || dice(4) === 0) return mutateText(line, dice);
  return prefix + Buffer.from(mutateBytes(Buffer.from(line.slice(prefix.length), 'base64'), dice)).toString('base64');
}

/** Lines are changed, dropped, doubled or swapped; lines with data are chosen more often. */
export function mutateLog(lines: readonly string[], dice: Dice): string[] {
  const copy = [...lines];
  for (let changes = dice(3); changes >= 0 && copy.length > 0; changes--) {
    const withData = copy.flatMap((line, at) => (dataPrefixes.some((prefix) => line.startsWith(prefix)) ? [at] : []));
    const at = withData.length > 0 && dice(2) === 0 ? oneOf(withData, dice) : dice(copy.length);
    const action = dice(8);
    if (action === 0) copy.splice(at, 1);
    else if (action === 1) copy.splice(at, 0, oneOf(copy, dice));
    else if (action === 2) copy[at] = oneOf(copy, dice);
    else copy[at] = mutateLine(copy[at]!, dice);
  }
  return copy;
}

const oddities = [
  null,
  0,
  -1,
  1e308,
  0.5,
  2 ** 53,
  '',
  'x',
  '🙂',
  true,
  [],
  {},
  [[]],
  { a: {} },
  'z'.repeat(50),
  '1'.repeat(400),
  undefined,
];

/** A copy of plain JSON in which some values are replaced, removed or repeated, or whose texts with bytes have other bytes. */
export function mutateJson(value: unknown, dice: Dice): unknown {
  const root = { value: structuredClone(value) };
  for (let changes = dice(3); changes >= 0; changes--) {
    let holder: Record<string, unknown> = root;
    let key = 'value';
    for (let depth = dice(12); depth > 0; depth--) {
      const next = holder[key];
      const keys = typeof next === 'object' && next !== null ? Object.keys(next) : [];
      if (keys.length === 0) break;
      holder = next as Record<string, unknown>;
      key = oneOf(keys, dice);
    }
    change(holder, key, dice);
  }
  return root.value;
}

function change(holder: Record<string, unknown>, key: string, dice: Dice): void {
  const old = holder[key];
  const action = dice(6);
  if (typeof old === 'string' && action < 4) holder[key] = dice(3) === 0 ? mutateText(old, dice) : mutateEncoded(old, dice);
  else if (typeof old === 'number' && action < 3) holder[key] = old + dice(5) - 2;
  else if (Array.isArray(old) && action === 0) old.splice(dice(old.length + 1), dice(3));
  else if (Array.isArray(old) && action === 1 && old.length > 0) old.splice(dice(old.length), 0, oneOf(old, dice));
  else if (action === 2 && !Array.isArray(holder)) Reflect.deleteProperty(holder, key);
  else holder[key] = structuredClone(oneOf(oddities, dice));
}

/** Bytes as texts of Solana have them. */
function mutateEncoded(text: string, dice: Dice): string {
  if (text.startsWith('Program ')) return mutateLine(text, dice);
  const bytes = decodeBase58(text);
  return bytes === null
    ? Buffer.from(mutateBytes(Buffer.from(text, 'base64'), dice)).toString('base64')
    : encodeBase58(Uint8Array.from(mutateBytes(bytes, dice)));
}
