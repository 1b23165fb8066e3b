import { isUtf8 } from 'node:buffer';
import { refusedNames } from '@sluice/shared/wire/rest/fields.ts';
import { hasNul, nulFault, type BodyRead } from './text.ts';

/** Bounds of a JSON body, in addition to its bytes. */
export const jsonLimits = {
  /** Levels of nested lists and objects. */
  depth: 16,
  /** Names of all objects together. */
  keys: 256,
} as const;

/**
 * Reads JSON (RFC 8259) strictly enough for orders: UTF-8 only, no name twice in an object, no names like `__proto__`, no number that would be
 * rounded to another one, bounded depth and number of names. Never throws.
 */
export function readJson(bytes: Uint8Array): BodyRead<unknown> {
  if (!isUtf8(bytes)) return { ok: false, at: '', what: 'must be UTF-8' };
  return new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')).read();
}

const escapes = /^(?:[^\\]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*$/;
const loneSurrogate = /[\ud800-\udfff]/u;
const numberForm = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
/** Significant digits that a double always represents. */
const safeDigits = 15;
/** Returned instead of a value after a fault. */
const broken = Symbol('broken');

class Reader {
  readonly #text: string;
  readonly #path: (string | number)[] = [];
  #at = 0;
  #keys = 0;
  #what: string | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  read(): BodyRead<unknown> {
    const value = this.#value(0);
    this.#space();
    if (this.#what === null && this.#at < this.#text.length) this.#malformed();
    return this.#what === null ? { ok: true, value } : { ok: false, at: this.#path.join('.'), what: this.#what };
  }

  /** Records a fault at the current path. Only the first one counts. */
  #fault(what: string): typeof broken {
    this.#what ??= what;
    return broken;
  }

  #malformed(): typeof broken {
    if (this.#what === null) this.#path.length = 0;
    return this.#fault(
      this.#at < this.#text.length ? `must be JSON: it is wrong at character ${this.#at + 1}` : 'must be JSON: it ends too early',
    );
  }

  #space(): void {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  #value(depth: number): unknown {
    this.#space();
    switch (this.#text.charCodeAt(this.#at)) {
      case 0x22:
        return this.#string();
      case 0x7b:
        return depth === jsonLimits.depth ? this.#fault(`must not be deeper than ${jsonLimits.depth} levels`) : this.#object(depth + 1);
      case 0x5b:
        return depth === jsonLimits.depth ? this.#fault(`must not be deeper than ${jsonLimits.depth} levels`) : this.#list(depth + 1);
      case 0x74:
        return this.#word('true', true);
      case 0x66:
        return this.#word('false', false);
      case 0x6e:
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #word(word: string, value: boolean | null): unknown {
    if (!this.#text.startsWith(word, this.#at)) return this.#malformed();
    this.#at += word.length;
    return value;
  }

  #string(): string | typeof broken {
    const text = this.#text;
    const start = ++this.#at;
    let escaped = false;
    for (; ; this.#at++) {
      const code = text.charCodeAt(this.#at);
      if (code === 0x22) break;
      // After the end, the code is NaN.
      if (!(code >= 0x20)) return this.#malformed();
      if (code === 0x5c) {
        escaped = true;
        this.#at++;
      }
    }
    const inner = text.slice(start, this.#at++);
    if (!escaped) return inner;
    if (!escapes.test(inner)) {
      this.#at = start;
      return this.#malformed();
    }
    const value = JSON.parse(`"${inner}"`) as string;
    if (loneSurrogate.test(value)) return this.#fault('must be well-formed Unicode');
    return hasNul(value) ? this.#fault(nulFault) : value;
  }

  #number(): number | typeof broken {
    numberForm.lastIndex = this.#at;
    const match = numberForm.exec(this.#text);
    if (match === null) return this.#malformed();
    this.#at = numberForm.lastIndex;
    const value = Number(match[0]);
    if (isPreserved(match[0], value, match[2] !== undefined)) return value;
    const what =
      Math.abs(value) > Number.MAX_SAFE_INTEGER
        ? 'is larger than the largest exact integer'
        : 'has more digits than a number can represent';
    return this.#fault(`${what}; send it as a string if the field allows it`);
  }

  #object(depth: number): unknown {
    const object: Record<string, unknown> = {};
    const isRead = this.#items(0x7d, () => {
      this.#space();
      if (this.#text.charCodeAt(this.#at) !== 0x22) return this.#malformed();
      const name = this.#string();
      if (name === broken) return broken;
      this.#path.push(name);
      if (++this.#keys > jsonLimits.keys) return this.#fault(`exceeds the maximum of ${jsonLimits.keys} names in the body`);
      if (refusedNames.includes(name)) return this.#fault('is not an allowed name');
      if (Object.hasOwn(object, name)) return this.#fault('appears twice');
      this.#space();
      if (!this.#take(0x3a)) return this.#malformed();
      const value = this.#value(depth);
      object[name] = value;
      return value;
    });
    return isRead ? object : broken;
  }

  #list(depth: number): unknown {
    const list: unknown[] = [];
    const isRead = this.#items(0x5d, () => {
      this.#path.push(list.length);
      const value = this.#value(depth);
      list.push(value);
      return value;
    });
    return isRead ? list : broken;
  }

  /** Reads items, each of which adds its name to the path, up to the bracket that closes them. False after a fault. */
  #items(closing: number, read: () => unknown): boolean {
    this.#at++;
    this.#space();
    if (this.#take(closing)) return true;
    for (;;) {
      if (read() === broken) return false;
      this.#path.pop();
      this.#space();
      if (this.#take(closing)) return true;
      if (!this.#take(0x2c)) return this.#malformed() !== broken;
    }
  }

  #take(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at++;
    return true;
  }
}

/**
 * Whether the stored number equals the written one. Fractions may be rounded. But an integer must be exact, and a number other than 0 must
 * not become 0.
 */
function isPreserved(text: string, value: number, hasExponent: boolean): boolean {
  if (!Number.isFinite(value)) return false;
  if (!Number.isInteger(value) || (text.length <= safeDigits && !hasExponent)) return true;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '').replace(/0+$/, '');
  if (digits === '') return true;
  // The value is below 1.8e308 and zeros on the right were removed, so the power of ten decides.
  const trimmed = `${whole}${fraction}`.replace(/^0+/, '').length - digits.length;
  const power = Number(exponent) - fraction.length + trimmed;
  return power >= 0 && BigInt(`${sign}${digits}`) * 10n ** BigInt(power) === BigInt(value);
}
