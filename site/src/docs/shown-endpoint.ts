import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { words } from './json-at.ts';

/** An endpoint of the OpenAPI document with both forms of its path. */
export interface ShownEndpoint {
  readonly method: string;
  readonly paths: readonly string[];
  readonly operation: JsonObject;
}

/** The endpoints of a document, each once, in its order. */
export function endpointsOf(openApi: JsonObject): readonly ShownEndpoint[] {
  const byId = new Map<string, ShownEndpoint>();
  for (const [path, methods] of Object.entries(openApi['paths'] as Record<string, Record<string, JsonObject>>)) {
    for (const [method, operation] of Object.entries(methods)) {
      const id = idOf(operation);
      const known = byId.get(id);
      byId.set(
        id,
        known === undefined ? { method: method.toUpperCase(), paths: [path], operation } : { ...known, paths: [...known.paths, path] },
      );
    }
  }
  return [...byId.values()];
}

/** `operationId` of the first form. */
export function idOf(operation: JsonObject): string {
  return words(operation['operationId']).replace(/UnderApi$/, '');
}
