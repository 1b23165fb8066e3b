import { Type, type Static, type TSchema } from 'typebox';
import { quoteCoins } from '../values/money.ts';
import { commitments, venueNames } from '../events/events.ts';
import { streamLimits } from './limits.ts';
import { addressPattern, Titled } from '../values/values.ts';

const Address = Type.String({ pattern: addressPattern });
const Venue = Type.Enum([...venueNames], { title: 'venue' });
const quoteSymbols = [...quoteCoins.values()].map(({ symbol }) => symbol);
const QuoteCoin = Type.String({ pattern: `^(?:${quoteSymbols.join('|')}|${addressPattern.slice(1, -1)})$` });
const OneOrMore = <T extends TSchema>(schema: T, description: string) =>
  Type.Optional(Type.Union([schema, Type.Array(schema, { minItems: 1, maxItems: streamLimits.filterValues })], { description }));
const Amount = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }));
const Traits = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ pattern: '^[a-zA-Z]{1,32}$' }), { minItems: 1, maxItems: streamLimits.filterValues, description }),
  );
const Part = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 64, description }));

const common = {
  pool: OneOrMore(Venue, 'Venue, or any of several.'),
  quoteMint: OneOrMore(
    QuoteCoin,
    `Quote coin: ${quoteSymbols.map((symbol) => `\`${symbol}\``).join(', ')} or its mint, or any of several.`,
  ),
  commitment: Type.Optional(Type.Enum([...commitments], { description: 'The event was seen at this commitment or a higher one.' })),
} as const;

export const TradeFilter = Titled('filter trades', {
  minSol: Amount('At least this many SOL went through the pool; trades against another coin do not pass.'),
  maxSol: Amount('At most this many SOL went through the pool; trades against another coin do not pass.'),
  side: Type.Optional(Type.Enum(['buy', 'sell'], { description: "The taker's side." })),
  trader: OneOrMore(Address, 'Wallet that traded, or any of several.'),
  ...common,
});

export const NewTokenFilter = Titled('filter newTokens', {
  creator: OneOrMore(Address, 'Creator, or any of several.'),
  name: Part('Part of the name; case-insensitive.'),
  symbol: Part('Part of the symbol; case-insensitive.'),
  minDevBuySol: Amount('The creating wallet bought for at least this many SOL.'),
  maxDevBuySol: Amount('The creating wallet bought for at most this many SOL; no purchase counts as 0.'),
  traits: Traits('The token has each of these special properties, for example `mayhemMode`.'),
  withoutTraits: Traits('The token has none of these special properties.'),
  ...common,
});

export const PriceFilter = Titled('filter prices', {
  source: Type.Optional(Type.Enum(['trade', 'account'], { description: 'What changed the price.' })),
  ...common,
});

export const MigrationFilter = Titled('filter migrations', {
  minSol: Amount('At least this many SOL moved to the pool; migrations with another coin do not pass.'),
  ...common,
  pool: OneOrMore(Venue, 'Venue of the pool to which the curve moved, or any of several. `from.pool` cannot be filtered.'),
});

export const PoolFilter = Titled('filter pools', {
  type: OneOrMore(Type.Enum(['poolCreated', 'liquidityAdded', 'liquidityRemoved']), 'Type of the event, or any of several.'),
  minSol: Amount('Both amounts have at least this value in SOL; those of unknown value do not pass.'),
  provider: OneOrMore(Address, 'Provider of the liquidity or creator of the pool, or any of several.'),
  ...common,
});

const Scalar = Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Boolean(), Type.Null()]);
export const ProgramFilter = Titled('filter programs', {
  kind: OneOrMore(Type.Enum(['event', 'instruction', 'account']), 'Kind of the record, or any of several.'),
  name: OneOrMore(Type.String({ minLength: 1, maxLength: 100 }), 'Name of the record in the IDL, or any of several.'),
  fields: Type.Optional(
    Type.Record(Type.String({ maxLength: 256 }), Scalar, {
      maxProperties: streamLimits.filterValues,
      description: 'Fields of `data` with the value that each must have. `a.b` is the field `b` in the field `a`.',
    }),
  ),
  account: OneOrMore(
    Address,
    'The account itself, or an account of the instruction; any of several. An event passes if a field of it is this address.',
  ),
});

export const filterSchemas = {
  newTokens: NewTokenFilter,
  migrations: MigrationFilter,
  trades: TradeFilter,
  prices: PriceFilter,
  pools: PoolFilter,
  programs: ProgramFilter,
} as const;

export type TradeFilter = Static<typeof TradeFilter>;
export type NewTokenFilter = Static<typeof NewTokenFilter>;
export type PriceFilter = Static<typeof PriceFilter>;
export type MigrationFilter = Static<typeof MigrationFilter>;
export type PoolFilter = Static<typeof PoolFilter>;
export type ProgramFilter = Static<typeof ProgramFilter>;
export type Filter = TradeFilter | NewTokenFilter | PriceFilter | MigrationFilter | PoolFilter | ProgramFilter;

/** Bounds that no event can pass, by the name of the field. */
export function impossibleBounds(filter: Filter): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {};
  const { minSol, maxSol, minDevBuySol, maxDevBuySol } = filter as TradeFilter & NewTokenFilter;
  if (minSol !== undefined && maxSol !== undefined && minSol > maxSol) faults['filter.minSol'] = 'above maxSol';
  if (minDevBuySol !== undefined && maxDevBuySol !== undefined && minDevBuySol > maxDevBuySol) {
    faults['filter.minDevBuySol'] = 'above maxDevBuySol';
  }
  return faults;
}
