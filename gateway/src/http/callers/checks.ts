import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { validator, type Validate } from '@sluice/shared/wire/validate.ts';
import type { TObject } from 'typebox';
import { hasNul, nulFault, percentDecoded } from '../body/text.ts';
import type { HttpRequest } from '../../transport/transport.ts';

/** Name of a field, to what is wrong. */
type Fields = Readonly<Record<string, string>>;
type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fields: Fields };

type Values = Readonly<Record<string, unknown>>;

const nothing: Checked<Values> = { ok: true, value: Object.freeze({}) };
/** The credential is allowed together with any parameters. */
const credentialName = 'api-key';
/** Maximum number of faults in one answer. */
const maxFaults = 16;
const maxNameChars = 64;

interface Property {
  readonly type?: string;
}

/** Creates the check of the parameters in the path. `segments` are undecoded, in the order of the path. */
export function pathCheck({ path, params }: EndpointSpec): (segments: readonly string[]) => Checked<Values> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const declared = Object.keys(params?.properties ?? {});
  if (names.toSorted().join() !== declared.toSorted().join()) throw new Error(`${path}: its parameters differ from its schema`);
  if (params === undefined) return () => nothing;
  const read = reader(params);
  return (segments) => {
    const texts = new Map<string, string>();
    for (const [i, name] of names.entries()) {
      const text = percentDecoded(segments[i]!);
      if (text === null) return { ok: false, fields: { [name]: 'is not percent-encoded UTF-8' } };
      if (hasNul(text)) return { ok: false, fields: { [name]: nulFault } };
      texts.set(name, text);
    }
    return read(texts);
  };
}

/** Creates the check of the query: each parameter of the schema at most once, and no others except `api-key` and those of PumpPortal's clients. */
export function queryCheck({ query, dialect }: EndpointSpec): (request: Pick<HttpRequest, 'search' | 'query'>) => Checked<Values> {
  const known = new Set(Object.keys(query?.properties ?? {}));
  const read = query === undefined ? null : reader(query);
  const ofNone = read === null ? nothing : read(new Map());
  return (request) => {
    if (request.search === '') return ofNone;
    const texts = new Map<string, string>();
    const faults = new Map<string, string>();
    for (const [name, value] of request.query) {
      if (name === credentialName || (dialect === true && !known.has(name))) continue;
      const what = !known.has(name) ? 'unknown parameter' : texts.has(name) ? 'appears twice' : hasNul(value) ? nulFault : null;
      if (what === null) texts.set(name, value);
      else if (faults.size < maxFaults) faults.set(name.slice(0, maxNameChars), what);
    }
    // The caller chooses the names. `fromEntries` is safe even for `__proto__`.
    if (faults.size > 0) return { ok: false, fields: Object.fromEntries(faults) };
    return texts.size === 0 ? ofNone : read!(texts);
  };
}

/** Converts strings to the types in the schema (`integer`, `number`, `boolean`), and checks the result. */
function reader(schema: TObject): (texts: ReadonlyMap<string, string>) => Checked<Values> {
  const properties = schema.properties as Readonly<Record<string, Property>>;
  const validate = validator(schema) as Validate<Values>;
  return (texts) => {
    const values: Record<string, unknown> = {};
    for (const [name, text] of texts) values[name] = converted(properties[name]?.type, text);
    return validate(values);
  };
}

/** A value that cannot be converted stays a string, which the schema then refuses. */
function converted(type: string | undefined, text: string): unknown {
  switch (type) {
    case 'integer':
      return /^-?(0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text;
    case 'number':
      return /^-?(0|[1-9]\d{0,15})(\.\d{1,18})?$/.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      return text;
  }
}
