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
  of(schema: TSchema): JsonObject {
    return this.#convert(JSON.parse(JSON.stringify(schema)) as JsonObject);
  }

  /** All referenced schemas, by name. */
  get components(): JsonObject {
    const names = [...this.#components.keys()].toSorted();
    return Object.fromEntries(names.map((name) => [name, this.#components.get(name)!]));
  }

  #convert(schema: JsonObject): JsonObject {
    const { title } = schema;
    if (typeof title !== 'string') return this.#parts(schema);
    const name = componentName(title);
    const made = this.#parts(schema);
    const known = this.#components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(made)) {
      throw new Error(`two different schemas are called ${name}`);
    }
    this.#components.set(name, made);
    return { $ref: `#/components/schemas/${name}` };
  }

  #parts({ documented = {}, ...checked }: JsonObject): JsonObject {
    const entries = Object.entries({ ...checked, ...(documented as JsonObject) }).map(([name, value]): [string, Json] => {
      switch (name) {
        case 'properties':
          return [name, this.#each(value as JsonObject)];
        case 'anyOf':
          return [name, (value as readonly JsonObject[]).map((one) => this.#convert(one))];
        case 'items':
          return [name, this.#convert(value as JsonObject)];
        case 'patternProperties':
          return this.#map(value as JsonObject);
        default:
          return [name, value];
      }
    });
    return Object.fromEntries(entries);
  }

  #each(schemas: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, this.#convert(schema as JsonObject)]));
  }

  #map(schemas: JsonObject): [string, Json] {
    const { [anyName]: ofAny, ...others } = schemas;
    if (ofAny === undefined || Object.keys(others).length > 0) return ['patternProperties', this.#each(schemas)];
    return ['additionalProperties', this.#convert(ofAny as JsonObject)];
  }
}

/** `filter newTokens` → `filterNewTokens`. */
export function componentName(title: string): string {
  return title
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
}
