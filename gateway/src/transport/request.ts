import { randomFillSync } from 'node:crypto';
import type { HttpRequest, TransportHandlers, UpgradeOutcome } from './transport.ts';

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

/** Asks for the decision on a handshake. `settle` gets it in the turn of the event loop in which it was made; `fault`, why there is none. */
export function decideUpgrade(
  request: ReceivedRequest,
  handlers: Pick<TransportHandlers, 'upgrade'>,
  settle: (outcome: UpgradeOutcome) => void,
  fault: (error: unknown) => void,
): void {
  try {
    const outcome = handlers.upgrade(request);
    if (!(outcome instanceof Promise)) settle(outcome);
    else {
      request.settle();
      outcome.then((decide) => settle(decide())).catch(fault);
    }
  } catch (error) {
    fault(error);
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

const acceptedForm = /^[A-Za-z0-9._-]{8,64}$/;
const pool = Buffer.alloc(4096);
let used = pool.length;

/** The caller's `X-Request-Id` if it has 8 to 64 letters, digits, dots, underscores or hyphens; otherwise 24 random hex digits. */
function requestId(given: string | undefined): string {
  if (given !== undefined && acceptedForm.test(given)) return given;
  if (used + 12 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 12;
  return pool.toString('hex', used - 12, used);
}
