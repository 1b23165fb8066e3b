import { createHash } from 'node:crypto';
import { maxIdempotencyKeyChars, type EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { wrongFields, type QuoteRefusal } from '../../quote/best-quote.ts';
import type { IdempotencyUse, Owner } from '@sluice/gateway/store/order-model/order.ts';
import type { Outcome, Refusal } from '../../place/outcome.ts';
import type { OrderCall } from '../order-call.ts';

/** The use of the header `Idempotency-Key`: null if the header is missing, or what is wrong with it. */
export type ReadIdempotency = { readonly ok: true; readonly use: IdempotencyUse | null } | { readonly ok: false; readonly fault: string };

const printable = /^[\x21-\x7e]+$/;

/**
 * Reads the header of a call to an endpoint (its `id`) whose body has passed the endpoint's schema. A quoted key (draft-ietf-httpapi-
 * idempotency-key-header) and the same key without quotes are equal.
 */
export function readIdempotency(header: string | null, endpoint: string, body: unknown): ReadIdempotency {
  if (header === null) return { ok: true, use: null };
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (key.length > maxIdempotencyKeyChars || !printable.test(key)) {
    return { ok: false, fault: `must have 1 to ${maxIdempotencyKeyChars} printable ASCII characters without spaces` };
  }
  return { ok: true, use: { endpoint, key, fingerprint: fingerprintOf(body) } };
}

/** SHA-256 of a JSON value. It does not depend on the order of the fields or on the spaces between them. */
export function fingerprintOf(body: unknown): Uint8Array {
  return createHash('sha256').update(canonical(body)).digest();
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}

/** Answers a call that may spend: runs it for its owner, with its `Idempotency-Key`, if its body was read without a fault. */
export async function answerOnce<Read extends object, Json>(
  { owner, idempotencyKey, body }: Pick<OrderCall, 'owner' | 'idempotencyKey' | 'body'>,
  { id }: EndpointSpec,
  read: Read | QuoteRefusal,
  place: (owner: Owner, read: Read, use: IdempotencyUse | null) => Promise<Outcome<Json>>,
): Promise<{ readonly json: Json; readonly headers?: Readonly<Record<string, string>> } | Refusal> {
  if (owner === null) return { error: 'UNAUTHENTICATED' };
  if ('error' in read) return read;
  const idempotency = readIdempotency(idempotencyKey, id, body);
  if (!idempotency.ok) return wrongFields({ 'Idempotency-Key': idempotency.fault });
  const outcome = await place(owner, read, idempotency.use);
  if ('error' in outcome) return outcome;
  const { answer: json, isReplay } = outcome;
  return isReplay ? { json, headers: { 'Idempotency-Replayed': 'true' } } : { json };
}
