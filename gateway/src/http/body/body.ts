import { validator, type Validate } from '@sluice/shared/wire/validate.ts';
import { Type, type TSchema } from 'typebox';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import type { HttpRequest, ReceivedBody } from '../../transport/transport.ts';
import type { Refusal } from '../answers.ts';
import { readForm } from './read-form.ts';
import { readJson } from './read-json.ts';
import { withoutBom } from './text.ts';

type BodyOutcome<T> = { readonly ok: true; readonly value: T } | ({ readonly ok: false } & Refusal);

const whole = '(body)';
const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;
const formType = /^application\/x-www-form-urlencoded\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;
const NoFields = Type.Object({}, { additionalProperties: false });

export type CheckBody<T = Readonly<Record<string, unknown>>> = (request: Pick<HttpRequest, 'header'>, body: ReceivedBody) => BodyOutcome<T>;

/** The part of an endpoint's spec that describes its body. */
type BodySpec = { readonly [Name in 'body' | 'form' | 'batch']?: EndpointSpec[Name] | undefined };

/** Creates the check of a body. A body without required fields may be empty. Without a schema, the body must be empty or `{}`. */
export function bodyCheck<T = Readonly<Record<string, unknown>>>({ body: given, form, batch }: BodySpec): CheckBody<T> {
  const schema = given ?? NoFields;
  const one = validator(schema) as Validate<T>;
  const several =
    batch === undefined ? one : (validator(Type.Array(schema, { minItems: 1, maxItems: batch.max }) as TSchema) as Validate<T>);
  const nothing: BodyOutcome<T> = { ok: true, value: Object.freeze({}) as T };
  const required: readonly string[] = schema.required ?? [];
  const mayBeEmpty = required.length === 0;
  return (request, received) => {
    const body = received === 'too_large' ? received : withoutBom(received);
    if (mayBeEmpty && body.length === 0) return nothing;
    if (body === 'too_large') return { ok: false, error: 'PAYLOAD_TOO_LARGE' };
    const encoding = request.header('content-encoding');
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      return { ok: false, error: 'UNSUPPORTED_MEDIA_TYPE', message: 'Compressed bodies are not supported. Send the body uncompressed.' };
    }
    const type = request.header('content-type')?.trim();
    if (given === undefined && type === undefined) return invalid({ [whole]: 'this endpoint takes no body' });
    const isForm = form === true && type !== undefined && formType.test(type);
    if (!isForm && (type === undefined ? body.byteLength > 0 : !jsonType.test(type))) {
      const message = `The body must be \`application/json\`${form === true ? ' or `application/x-www-form-urlencoded`' : ''} in UTF-8.`;
      return { ok: false, error: 'UNSUPPORTED_MEDIA_TYPE', message };
    }
    if (body.length === 0) return invalid({ [whole]: 'required' }, 'The request has no body.');
    const read = isForm ? readForm(body) : readJson(body);
    if (!read.ok) return invalid({ [read.at === '' ? whole : read.at.slice(0, 256)]: read.what });
    const checked = Array.isArray(read.value) ? several(read.value) : one(read.value);
    if (checked.ok) return checked;
    const { '(message)': root, ...fields } = checked.fields;
    return invalid(root === undefined ? fields : { [whole]: root, ...fields });
  };
}

function invalid(fields: Readonly<Record<string, string>>, message?: string): BodyOutcome<never> {
  return { ok: false, error: 'INVALID_REQUEST', details: { fields }, ...(message === undefined ? {} : { message }) };
}
