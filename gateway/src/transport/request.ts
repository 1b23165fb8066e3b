import { requestId } from './request-id.ts';
import type { HttpRequest } from './transport.ts';

/** A received request. Its text is copied, except that `peer` may depend on the transport until `settle` is called. What only few handlers need is computed on access. */
export class ReceivedRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly requestId: string;
  /** `100 Continue` was written as the beginning of the answer. */
  isContinued = false;
  readonly #fields: readonly string[];
  #peer: string | (() => string);
  #headers: ReadonlyMap<string, string> | null = null;
  #query: URLSearchParams | null = null;

  /** `fields`: lower-case names and values, alternating. `peer` is called at most once, before `settle` returns. */
  constructor(method: string, path: string, search: string, fields: readonly string[], peer: string | (() => string)) {
    this.method = method;
    this.path = path;
    this.search = search;
    this.#fields = fields;
    this.#peer = peer;
    this.requestId = requestId(this.header('x-request-id'));
  }

  get urlChars(): number {
    return this.path.length + (this.search === '' ? 0 : this.search.length + 1);
  }

  get remoteAddress(): string {
    if (typeof this.#peer !== 'string') this.#peer = this.#peer();
    return this.#peer;
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.search));
  }

  get headers(): ReadonlyMap<string, string> {
    return (this.#headers ??= mapOf(this.#fields));
  }

  header(name: string): string | undefined {
    const fields = this.#fields;
    let value: string | undefined;
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] === name) value = value === undefined ? fields[i + 1]! : `${value}, ${fields[i + 1]!}`;
    }
    return value;
  }

  /** Whether the end of the body is unambiguous: it is sent in chunks, or with a length. */
  get isCodingKnown(): boolean {
    const coding = this.header('transfer-encoding');
    return coding === undefined || coding.toLowerCase() === 'chunked';
  }

  /** How often a header appears. */
  count(name: string): number {
    let count = 0;
    for (let i = 0; i < this.#fields.length; i += 2) if (this.#fields[i] === name) count++;
    return count;
  }

  /** Copies what is available only during the transport's call. */
  settle(): void {
    this.#peer = this.remoteAddress;
  }
}

function mapOf(fields: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let i = 0; i < fields.length; i += 2) {
    const before = headers.get(fields[i]!);
    headers.set(fields[i]!, before === undefined ? fields[i + 1]! : `${before}, ${fields[i + 1]!}`);
  }
  return headers;
}
