import { Type, type TProperties } from 'typebox';

/** Option of an object that has no further fields. */
export const closed = { additionalProperties: false } as const;

/** An object without further fields. */
export const Closed = <T extends TProperties>(fields: T) => Type.Object(fields, closed);

/** The same, with the name that documents and clients give it. */
export const Titled = <T extends TProperties>(title: string, fields: T) => Type.Object(fields, { ...closed, title });
