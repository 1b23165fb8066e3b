import { errorBody, errorTable, errorTexts, type ErrorCode } from '@sluice/shared/wire/errors.ts';
import type { HttpAnswer, HttpRequest } from '../transport/transport.ts';

/** Version of the API (not of the program), on every answer. */
export const apiVersion = '1.0.0';

/** Value of `Retry-After` in answers that have it. */
const retryAfterSeconds = 1;

const shared = { 'X-API-Version': apiVersion, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' } as const;

/** Headers in the form of `HttpAnswer.lines`. Names and values must not contain line breaks. */
export function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `\r\n${name}: ${value}`)
    .join('');
}

/** Header lines of every answer. */
export const commonLines = linesOf(shared);
/** Additional headers of answers in JSON. */
const jsonHeaders = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' } as const;
export const jsonLines = `${commonLines}${linesOf(jsonHeaders)}`;

export function jsonAnswer(
  value: unknown,
  { status = 200, headers = {} }: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): HttpAnswer {
  return { status, lines: jsonLines, headers, body: JSON.stringify(value) };
}

/** A page. A header in `headers` replaces the common header of the same name. */
export function pageAnswer(headers: Readonly<Record<string, string>>, body: string | Uint8Array): HttpAnswer {
  const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const common = Object.entries(shared).filter(([name]) => !own.has(name.toLowerCase()));
  return { status: 200, lines: '', headers: { ...Object.fromEntries(common), ...headers }, body };
}

/** `{"error":{code,message,retryable,details},"requestId"}` with the status in the table of errors. With `inList`, also `errors`, a list of strings. */
export function errorAnswer(
  request: HttpRequest,
  code: ErrorCode,
  message?: string,
  details?: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
  inList = false,
): HttpAnswer {
  const { status } = errorTable[code];
  const retry: Record<string, string> = status === 429 || status === 503 ? { 'Retry-After': String(retryAfterSeconds) } : {};
  const challenge: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  const error = errorBody(code, message, details);
  const body = { error, ...(inList ? { errors: errorTexts(error) } : {}), requestId: request.requestId };
  return jsonAnswer(body, { status, headers: { ...retry, ...challenge, ...headers } });
}

/** Why a request is refused, and after how many seconds it may be repeated. */
export interface Refusal {
  readonly error: ErrorCode;
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
}

export function refusalAnswer(
  request: HttpRequest,
  { error, message, details, retryAfterSeconds: wait }: Refusal,
  inList = false,
): HttpAnswer {
  return errorAnswer(request, error, message, details, wait === undefined ? {} : { 'Retry-After': String(wait) }, inList);
}
