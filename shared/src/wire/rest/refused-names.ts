/** No object of a request may have these names, at any depth: in JavaScript they change an object instead of naming a field. */
export const refusedNames: readonly string[] = ['__proto__', 'constructor', 'prototype'];
