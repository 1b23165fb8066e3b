import { validator, type Validate } from '@sluice/shared/wire/validate.ts';
import { Type, type TObject } from 'typebox';
import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import type { HttpRequest, ReceivedBody } from '../transport/transport.ts';
import { readJson } from './read-json.ts';

export type BodyOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly error: ErrorCode;
      readonly message?: string;
      readonly details?: Readonly<Record<string, unknown>>;
    };

const whole = '(body)';
const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;
const NoFields = Type.Object({}, { additionalProperties: false });

export type CheckBody<T = Readonly<Record<string, unknown>>> = (request: Pick<HttpRequest, 'header'>, body: ReceivedBody) => BodyOutcome<T>;

/** Reads a JSON body by its schema, where nothing of it is required an empty one too; without a schema it is empty or `{}`. */
export function bodyCheck<T = Readonly<Record<string, unknown>>>(schema: TObject | undefined): CheckBody<T> {
  const validate = validator(schema ?? NoFields) as Validate<T>;
  const nothing: BodyOutcome<T> = { ok: true, value: Object.freeze({}) as T };
  const mayBeEmpty = (schema?.required ?? []).length === 0;
  return (request, body) => {
    if (mayBeEmpty && body.length === 0) return nothing;
    if (body === 'too_large') return { ok: false, error: 'PAYLOAD_TOO_LARGE' };
    const encoding = request.header('content-encoding');
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      return { ok: false, error: 'UNSUPPORTED_MEDIA_TYPE', message: 'A compressed body is not read; send it as it is.' };
    }
    const type = request.header('content-type');
    if (type === undefined ? body.byteLength > 0 : !jsonType.test(type.trim())) {
      return { ok: false, error: 'UNSUPPORTED_MEDIA_TYPE', message: 'The body must be `application/json` in UTF-8.' };
    }
    if (body.byteLength === 0) return invalid({ [whole]: 'required' }, 'The request has no body.');
    const json = readJson(body);
    if (!json.ok) return invalid({ [json.path === '' ? whole : json.path.slice(0, 256)]: json.what });
    const checked = validate(json.value);
    if (checked.ok) return checked;
    const { '(message)': root, ...fields } = checked.fields;
    return invalid(root === undefined ? fields : { [whole]: root, ...fields });
  };
}

function invalid(fields: Readonly<Record<string, string>>, message?: string): BodyOutcome<never> {
  return { ok: false, error: 'INVALID_REQUEST', details: { fields }, ...(message === undefined ? {} : { message }) };
}
