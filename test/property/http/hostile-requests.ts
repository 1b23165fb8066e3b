import type { Random } from '../../simnet/market/random.ts';
import type { RawRequest } from '../../support/clients/raw-http.ts';
import { formType, resolve, type Json, type JsonObject, type Operation } from './operations.ts';

/** Sources of valid values, and keys of all kinds. */
export interface Pools {
  readonly addresses: readonly string[];
  readonly keys: readonly string[];
}

export interface Hostile {
  readonly request: RawRequest;
  /** The key that was sent correctly; null if none was. */
  readonly key: string | null;
}

const texts = [
  '',
  '0',
  '-1',
  'null',
  'undefined',
  'NaN',
  '1e309',
  '9007199254740993',
  '18446744073709551616',
  'true',
  '%00',
  '../../etc/passwd',
  "' OR 1=1 --",
  '<script>alert(1)</script>',
  '${7*7}',
  '\u0000',
  '\u{1F4A9}',
  'ñ'.repeat(40),
  'A'.repeat(300),
  '11111111111111111111111111111111',
  'So11111111111111111111111111111111111111112',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
];
const names = ['__proto__', 'constructor', 'prototype', 'toString', 'length', '', 'a.b', 'limit', 'mint', 'x'.repeat(200)];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
const types = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=latin1',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  '',
  ';;;',
  'application/json,application/json',
];
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'.split('');
/** Some bodies are longer than the server reads. */
const tooLongBytes = 70_000;
/** Deeper than any schema. */
const deepLevels = 40;

/** Requests from the operations of a document: valid ones, nearly valid ones, and absurd ones. */
export class HostileRequests {
  readonly #document: JsonObject;
  readonly #operations: readonly Operation[];
  readonly #pools: Pools;
  readonly #random: Random;

  constructor(document: JsonObject, operations: readonly Operation[], pools: Pools, random: Random) {
    this.#document = document;
    this.#operations = operations;
    this.#pools = pools;
    this.#random = random;
  }

  next(): Hostile {
    const random = this.#random;
    const operation = random.pick(this.#operations);
    const method = random.chance(0.9) ? operation.method : random.pick(methods);
    const key = random.chance(0.9) ? random.pick(this.#pools.keys) : null;
    const query = this.#query(operation);
    const headers: [string, string][] = this.#headers(key);
    const inQuery = key !== null && !headers.some(([name]) => name === 'Authorization');
    const parts = [...query, ...(inQuery ? [`api-key=${encodeURIComponent(key)}`] : [])];
    const target = this.#path(operation) + (parts.length === 0 ? '' : `?${parts.join('&')}`);
    const asForm = operation.form && random.chance(0.5);
    const body =
      operation.body === null && random.chance(0.97)
        ? undefined
        : asForm
          ? this.#form(operation.body ?? {})
          : this.#body(operation.body ?? {});
    if (body === undefined) return { request: { method, target, headers }, key };
    const usual = asForm ? formType : 'application/json';
    if (random.chance(0.95)) headers.push(['Content-Type', random.chance(0.9) ? usual : random.pick(types)]);
    if (random.chance(0.02)) headers.push(['Content-Encoding', random.pick(['gzip', 'identity', 'br', ''])]);
    if (random.chance(0.1))
      return { request: { method, target, headers: [...headers, ['Transfer-Encoding', 'chunked']], body: this.#chunked(body) }, key };
    return { request: { method, target, headers, body }, key };
  }

  #headers(key: string | null): [string, string][] {
    const random = this.#random;
    const headers: [string, string][] = [];
    if (key !== null && random.chance(0.9)) headers.push(['Authorization', `Bearer ${key}`]);
    if (random.chance(0.1))
      headers.push(['X-Request-Id', random.pick(['trace-0123456789', 'short', 'a'.repeat(100), 'with space and more'])]);
    if (random.chance(0.1)) headers.push(['Origin', random.pick(['https://app.example.com', 'null', 'https://evil.test', '*'])]);
    if (random.chance(0.05))
      headers.push(['X-Forwarded-For', random.pick(['203.0.113.9', '1.2.3.4, 5.6.7.8', 'nonsense', ','.repeat(50)])]);
    if (random.chance(0.05)) headers.push(['Accept', random.pick(['*/*', 'text/html', 'application/msgpack'])]);
    if (random.chance(0.03)) headers.push([`X-${random.below(1e6)}`, 'v'.repeat(random.below(500))]);
    if (random.chance(0.02)) headers.push(['Upgrade', 'websocket']);
    return headers;
  }

  #path({ path, parameters }: Operation): string {
    const random = this.#random;
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
      const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
      return this.#encoded(this.#text(parameter?.schema ?? {}, 0.6));
    });
    if (random.chance(0.95)) return filled;
    const at = 1 + random.below(filled.length - 1);
    return random.pick([
      () => `${filled}/`,
      () => `/api${filled}`,
      () => `${filled.slice(0, at)}//${filled.slice(at)}`,
      () => `${filled.slice(0, at)}%2e%2e%2f${filled.slice(at)}`,
      () => `${filled.slice(0, at)}%${filled.slice(at)}`,
      () => filled.toUpperCase(),
      () => `${filled}${'/x'.repeat(random.below(200))}`,
      () => '/',
      () => `/${'a'.repeat(random.below(9_000))}`,
    ])();
  }

  #query({ parameters }: Operation): string[] {
    const random = this.#random;
    const parts: string[] = [];
    for (const parameter of parameters) {
      if (parameter.in !== 'query' || random.chance(0.4)) continue;
      const name = random.chance(0.97) ? parameter.name : this.#encoded(random.pick(names));
      parts.push(`${name}=${this.#encoded(this.#text(parameter.schema, 0.75))}`);
      if (random.chance(0.03)) parts.push(parts.at(-1)!);
    }
    if (random.chance(0.04)) parts.push(`${this.#encoded(random.pick(names))}=${this.#encoded(random.pick(texts))}`);
    if (random.chance(0.01)) parts.push(random.pick(['&&&', '=', '%zz=%e0%a4%a', '+++', `q=${'x'.repeat(random.below(9_000))}`]));
    return parts;
  }

  /** For a URL; sometimes broken on purpose. */
  #encoded(text: string): string {
    const random = this.#random;
    const whole = encodeURIComponent(text);
    return random.chance(0.985) ? whole : random.pick([`${whole}%`, `%zz${whole}`, '%ff%fe', '%c0%af', whole.replaceAll('%', '%25')]);
  }

  /** A value of the schema with this probability, otherwise any value. */
  #text(schema: JsonObject, valid: number): string {
    const random = this.#random;
    if (!random.chance(valid)) return random.chance(0.5) ? random.pick(texts) : this.#address(44);
    const value = this.#value(schema, 0);
    return typeof value === 'string' ? value : JSON.stringify(value);
  }

  #address(length: number): string {
    return Array.from({ length }, () => this.#random.pick(base58)).join('');
  }

  #body(schema: JsonObject): string | Buffer {
    const random = this.#random;
    const text = JSON.stringify(this.#mutated(this.#value(schema, 0), 0));
    if (random.chance(0.8)) return text;
    const at = random.below(text.length + 1);
    return random.pick<() => string | Buffer>([
      () => text.slice(0, at),
      () => `${text.slice(0, at)}${random.pick(['"', '{', ']', ',', '\\', '\u0000', 'x'])}${text.slice(at)}`,
      () => Buffer.from([...Buffer.from(text.slice(0, at)), 0xff, 0xc0, 0xaf, ...Buffer.from(text.slice(at))]),
      () => Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256))),
      () => `${'[{"a":'.repeat(deepLevels)}1${'}]'.repeat(deepLevels)}`,
      () => `{"__proto__":{"isAdmin":true},${text.slice(1)}`,
      () => `{${Array.from({ length: 300 }, (_, i) => `"k${i}":${i}`).join()}}`,
      () => text.replace('{', '{"mint":"a","mint":"b",'),
      () => text.replaceAll(/\d+/g, (digits) => `${digits}${'0'.repeat(random.below(400))}`),
      () => '',
      () => `"${'x'.repeat(tooLongBytes)}"`,
    ])();
  }

  /** The fields of a value, escaped, sometimes broken or repeated. */
  #form(schema: JsonObject): string | Buffer {
    const random = this.#random;
    const value = this.#mutated(this.#value(schema, 0), 0);
    if (typeof value !== 'object' || value === null) return String(value);
    const pairs = Object.entries(value).map(([name, one]) => {
      const text = typeof one === 'string' ? one : JSON.stringify(one);
      return `${this.#encoded(name)}=${this.#encoded(text)}`;
    });
    if (random.chance(0.03) && pairs.length > 0) pairs.push(random.pick(pairs));
    if (random.chance(0.03)) pairs.push(...Array.from({ length: 70 }, (_, i) => `k${i}=`));
    const text = pairs.join('&');
    return random.chance(0.97)
      ? text
      : random.pick<() => string | Buffer>([
          () => '',
          () => '&&==&',
          () => `${text}&x=${'y'.repeat(tooLongBytes)}`,
          () => Buffer.from([...Buffer.from(text), 0xff, 0x00, 0x20]),
        ])();
  }

  /** In chunks of random sizes. */
  #chunked(body: string | Buffer): Buffer {
    const bytes = Buffer.from(body);
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + 1 + this.#random.below(bytes.length));
      parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
      at += part.length;
    }
    return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
  }

  /** A value of the schema, as far as its keywords are supported here. */
  #value(schema: JsonObject, depth: number): Json {
    const random = this.#random;
    const own = '$ref' in schema ? resolve(this.#document, schema) : schema;
    if (depth > 6) return null;
    if (Array.isArray(own['enum'])) return random.pick(own['enum'] as readonly Json[]);
    if (own['const'] !== undefined) return own['const'];
    const choices = own['anyOf'] ?? own['oneOf'];
    if (Array.isArray(choices)) return this.#value(random.pick(choices as readonly JsonObject[]), depth);
    switch (own['type']) {
      case 'object':
        return this.#object(own, depth);
      case 'array':
        return Array.from({ length: random.below(4) }, () => this.#value((own['items'] ?? {}) as JsonObject, depth + 1));
      case 'integer':
      case 'number': {
        const least = typeof own['minimum'] === 'number' ? own['minimum'] : 0;
        const most = typeof own['maximum'] === 'number' ? own['maximum'] : least + 1_000;
        const value = least + random.next() * (most - least);
        return own['type'] === 'integer' ? Math.round(value) : Number(value.toPrecision(1 + random.below(6)));
      }
      case 'boolean':
        return random.chance(0.5);
      case 'string':
        return random.chance(0.8) ? random.pick(this.#pools.addresses) : random.pick(['50%', '1', '0.5', ...texts]);
      default:
        return null;
    }
  }

  #object(schema: JsonObject, depth: number): Json {
    const random = this.#random;
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>;
    const required = (schema['required'] ?? []) as readonly string[];
    const value: Record<string, Json> = {};
    for (const [name, property] of Object.entries(properties)) {
      if (required.includes(name) ? random.chance(0.98) : random.chance(0.4)) value[name] = this.#value(property, depth + 1);
    }
    return value;
  }

  /** Replaces some values by others of any type, and adds some names. */
  #mutated(value: Json, depth: number): Json {
    const random = this.#random;
    if (random.chance(0.04)) {
      return random.pick<Json>([null, true, -1, 0, 1.5, 1e21, -0, [], {}, [[[]]], random.pick(texts), { a: { b: [1, 'x'] } }]);
    }
    if (depth > 6 || typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return (value as readonly Json[]).map((one) => this.#mutated(one, depth + 1));
    const entries = Object.entries(value as JsonObject).map(([name, one]) => [name, this.#mutated(one, depth + 1)] as const);
    if (random.chance(0.05)) entries.push([random.pick(names.filter((name) => name !== '__proto__')), random.pick(texts)]);
    return Object.fromEntries(entries);
  }
}

/** Bytes that are not a request, or two requests, or half of one. */
export function garbage(random: Random, valid: Buffer): Buffer {
  const at = random.below(valid.length);
  return random.pick<() => Buffer>([
    () => Buffer.from(Array.from({ length: 1 + random.below(400) }, () => random.below(256))),
    () => valid.subarray(0, at),
    () => Buffer.concat([valid.subarray(0, at), Buffer.from([random.below(256)]), valid.subarray(at)]),
    () => Buffer.concat([valid.subarray(0, at), valid.subarray(Math.min(valid.length, at + 1 + random.below(20)))]),
    () => Buffer.concat([valid, valid.subarray(0, at)]),
    () => Buffer.from(valid.toString('latin1').replace('\r\n', '\n'), 'latin1'),
    () =>
      Buffer.from(
        valid.toString('latin1').replace('HTTP/1.1', random.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.1 x', 'http/1.1', ''])),
        'latin1',
      ),
    () =>
      Buffer.from(
        valid
          .toString('latin1')
          .replace('\r\n', `\r\nContent-Length: ${random.pick(['5', '-1', '+5', '0x5', '5, 5', '', '99999999999999999999'])}\r\n`),
        'latin1',
      ),
    () => Buffer.from(valid.toString('latin1').replace('\r\n', '\r\nContent-Length: 3\r\nContent-Length: 30\r\n'), 'latin1'),
    () => Buffer.from(valid.toString('latin1').replace('\r\n', '\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n'), 'latin1'),
    () => Buffer.from(valid.toString('latin1').replace('\r\n', '\r\nTransfer-Encoding: chunked\r\n'), 'latin1'),
    () => Buffer.from(`GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(1 + random.below(300))}\r\n`, 'latin1'),
    () => Buffer.from(`GET /${'a'.repeat(random.below(40_000))} HTTP/1.1\r\n\r\n`, 'latin1'),
  ])();
}
