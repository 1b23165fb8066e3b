import type { Json, JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { boundsOf, readablePattern } from '@sluice/shared/wire/values/bounds.ts';
import { html, inline, nothing, table, type Html } from './html.ts';
import { words } from './json-at.ts';

/** Levels of nested objects that one table shows. */
const maxDepth = 4;

/** The fields of an object schema as a table. Fields of nested objects are listed by their paths. */
export function fieldTable(schema: JsonObject): Html {
  return table(['field', 'type', 'meaning'], rowsOf(schema, '', 0));
}

function rowsOf(schema: JsonObject, path: string, depth: number): Html[][] {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.entries(properties).flatMap(([name, property]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const optional = required.includes(name) ? nothing : html` <span class="faint">optional</span>`;
    const row = [html`<code>${at}</code>${optional}`, typeOf(property), descriptionOf(property)];
    const within = depth < maxDepth ? objectIn(property) : null;
    return [row, ...(within === null ? [] : rowsOf(within.schema, at + within.suffix, depth + 1))];
  });
}

/** The object schema of a field: the field itself, the items of a list, or a nullable object. */
function objectIn(schema: JsonObject): { readonly schema: JsonObject; readonly suffix: string } | null {
  if (schema['properties'] !== undefined) return { schema, suffix: '' };
  if (schema['items'] !== undefined) {
    const within = objectIn(schema['items'] as JsonObject);
    return within === null ? null : { schema: within.schema, suffix: `[]${within.suffix}` };
  }
  const [first, ...others] = alternativesOf(schema).filter((one) => one['type'] !== 'null');
  return first === undefined || others.length > 0 ? null : objectIn(first);
}

function alternativesOf(schema: JsonObject): readonly JsonObject[] {
  return (schema['anyOf'] ?? []) as readonly JsonObject[];
}

/** The type of a value; a link if it is described elsewhere. */
export function typeOf(schema: JsonObject): Html {
  const reference = schema['$ref'];
  if (typeof reference === 'string') return schemaLink(reference);
  if (schema['const'] !== undefined) return html`<code>${JSON.stringify(schema['const'])}</code>`;
  if (Array.isArray(schema['enum']))
    return joined(
      (schema['enum'] as readonly Json[]).map((value) => html`<code>${words(value)}</code>`),
      ' ',
    );
  // An object with alternatives has the same fields in each of them.
  if (schema['properties'] !== undefined) return html`object`;
  const alternatives = alternativesOf(schema);
  if (alternatives.length > 0) return joined(alternatives.map(typeOf), ' or ');
  if (schema['items'] !== undefined) return html`list of ${typeOf(schema['items'] as JsonObject)}${faint(boundsOf(schema))}`;
  if (schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false) {
    return html`map to ${typeOf(schema['additionalProperties'] as JsonObject)}`;
  }
  return html`${words(schema['type'] ?? 'anything')}${faint(boundsOf(schema))}${patternOf(schema)}`;
}

function faint(text: string): Html {
  return text === '' ? nothing : html` <span class="faint">${text}</span>`;
}

function patternOf(schema: JsonObject): Html {
  const pattern = readablePattern(schema);
  return pattern === null ? nothing : html` <code class="faint">${pattern}</code>`;
}

export function schemaLink(reference: string): Html {
  const name = reference.split('/').at(-1)!;
  return html`<a href="/docs/schemas#schema-${name}">${name}</a>`;
}

function descriptionOf(schema: JsonObject): Html {
  const texts = [schema, ...alternativesOf(schema)].map((one) => one['description']).filter((text) => typeof text === 'string');
  const preset = schema['default'] === undefined ? [] : [`Default: \`${JSON.stringify(schema['default'])}\`.`];
  return inline([...new Set([...texts, ...preset])].join(' '));
}

function joined(parts: readonly Html[], between: string): Html {
  return { html: parts.map((part) => part.html).join(between) };
}
