/** A value of JSON. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** The parts of a JSON schema that the documents use. */
export interface SchemaShape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaShape[];
  readonly items?: SchemaShape;
  readonly properties?: Readonly<Record<string, SchemaShape>>;
  readonly patternProperties?: Readonly<Record<string, SchemaShape>>;
  readonly required?: readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
}
