import { Type } from 'typebox';
import { venueNames } from '../venues.ts';
import { Closed, Ms, Nullable, Slot, Ui } from '../values/values.ts';

/** What several endpoints share. */

export const tokenRead = { method: 'GET', withApiPrefix: true, access: 'read', tag: 'token' } as const;

/** How many entries of a list an answer has. */
export const Limit = (what: string, { default: preset, max }: { readonly default: number; readonly max: number }) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: max, description: `Maximum number of ${what} to return. Default: ${preset}.` }));

export const Venue = (description: string) => Type.Enum([...venueNames], { description });

export const SolUsd = Nullable(
  Closed({ price: Ui('USD for one SOL.'), slot: Slot('Slot of that price.'), ageMs: Ms('Age of that price at `asOfMs`.') }),
  'The SOL/USD price that the USD values use. Null if it is unknown or older than 60 s; the USD values are then null too, unless the quote coin is USDC.',
);

/** Why there is no price. */
export const priceNullReasons = ['no_market', 'no_liquidity', 'bus_down', 'no_ingest', 'ingest_blind', 'unknown'] as const;
export type PriceNullReason = (typeof priceNullReasons)[number];
export const priceNullMeaning =
  '`no_market`: no supported venue trades the token. `no_liquidity`: its pool is empty, or its curve is complete and the new pool does not exist yet. `bus_down`: this gateway has lost its connection to ingest. `no_ingest`: no ingest process leads. `ingest_blind`: the leading ingest process reaches no node. `unknown`: its pool could not be read.';

/** No object of a request may have these names, at any depth: in JavaScript they change an object instead of naming a field. */
export const refusedNames: readonly string[] = ['__proto__', 'constructor', 'prototype'];
