import type { TSchema } from 'typebox';
import type { Json, JsonObject } from './json.ts';

/** The pattern that TypeBox uses for a map from any name to one schema. */
const anyName = '^.*$';

/**
 * The schemas of one document. A schema with a title is listed once among the components, and referenced elsewhere. Throws if two different
 * schemas have the same name, because the document would show one instead of the other.
 */
export class SchemaBook {
  readonly #components = new Map<string, Json>();

  /** The schema, in which every schema with a title is replaced by a reference. This can be the schema itself. */
  of(schema: TSchema | JsonObject): JsonObject {
    return JSON.parse(JSON.stringify(schema), (_name, value: Json) => (isObject(value) ? this.#shown(value) : value)) as JsonObject;
  }

  /** All referenced schemas, by name. */
  get components(): JsonObject {
    return Object.fromEntries([...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** What the document shows in place of an object whose parts are converted already. Most are schemas; others have no such fields. */
  #shown({ documented = {}, ...checked }: JsonObject): JsonObject {
    const entries = Object.entries({ ...checked, ...(documented as JsonObject) });
    const made = Object.fromEntries(entries.map(([name, value]) => (name === 'patternProperties' ? ofNames(value) : [name, value])));
    if (typeof made['title'] !== 'string') return made;
    const name = componentName(made['title']);
    const known = this.#components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(made)) throw new Error(`two different schemas are called ${name}`);
    this.#components.set(name, made);
    return { $ref: `#/components/schemas/${name}` };
  }
}

const isObject = (value: Json): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A map from any name to one schema has no need of patterns. */
function ofNames(patterns: Json | undefined): readonly [string, Json] {
  const { [anyName]: ofAny, ...others } = patterns as JsonObject;
  return ofAny === undefined || Object.keys(others).length > 0 ? ['patternProperties', patterns!] : ['additionalProperties', ofAny];
}

/** `filter newTokens` → `filterNewTokens`. */
export function componentName(title: string): string {
  return title
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
}
