import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import {
  commitments,
  type Commitment,
  type MarketStreamEvent,
  type MigrationEvent,
  type NewTokenEvent,
  type PoolEvent,
  type PriceEvent,
  type StreamEvent,
  type TokenMetadataEvent,
  type TradeEvent,
} from '@sluice/shared/wire/events/events.ts';
import type { ProgramRecord } from '@sluice/shared/wire/events/program-events.ts';
import type {
  Filter,
  MigrationFilter,
  NewTokenFilter,
  PoolFilter,
  PriceFilter,
  ProgramFilter,
  TradeFilter,
} from '@sluice/shared/wire/stream/filters.ts';
import type { Channel } from '@sluice/shared/wire/stream/topics.ts';
import type { ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';

/** A filter ready for use. Equal filters have equal keys: the order of fields and list items does not matter. */
export interface CompiledFilter {
  readonly key: string;
  readonly filter: Filter;
  /** Events of confirmed slots only. */
  readonly confirmed: boolean;
  test(event: StreamEvent): boolean;
}

type Test = (event: StreamEvent) => boolean;
type Common = Pick<TradeFilter, 'pool' | 'quoteMint' | 'commitment'>;

/**
 * Compiles the filter of a channel. Null if there is none or it is empty. A `retract` passes every filter, because it is no longer
 * known whether the retracted event passed.
 */
export function compileFilter(channel: Channel, given: Filter | undefined): CompiledFilter | null {
  if (given === undefined || Object.keys(given).length === 0) return null;
  const filter = withMints(given);
  const { types, tests: testsOf } = channelTests[channel] ?? { types: [], tests: {} };
  const tests = Object.entries(filter).map(([name, value]) => (testsOf as Record<string, (given: unknown) => Test>)[name]!(value));
  return {
    key: canonical(filter),
    filter,
    confirmed: false,
    test: (event) => event.type === 'retract' || (types.includes(event.type) && tests.every((test) => test(event))),
  };
}

/** Restricts a filter (or none) to events of confirmed slots. Nothing confirmed is ever retracted, so no `retract` passes. */
export function confirmedOnly(filter: CompiledFilter | null, slots: Pick<ConfirmedSlots, 'fateOf'>): CompiledFilter {
  return {
    key: filter?.key ?? '',
    filter: filter?.filter ?? {},
    confirmed: true,
    test: (event) => slots.fateOf(event) === 'pass' && (filter === null || filter.test(event)),
  };
}

const mintsBySymbol: ReadonlyMap<string, string> = new Map([...quoteCoins.values()].map(({ symbol, mint }) => [symbol, mint]));

/** The filter with the mints of quote coins in place of their symbols. */
function withMints(filter: Filter): Filter {
  const { quoteMint } = filter as TradeFilter;
  if (quoteMint === undefined) return filter;
  const mintOf = (coin: string): string => mintsBySymbol.get(coin) ?? coin;
  return { ...filter, quoteMint: typeof quoteMint === 'string' ? mintOf(quoteMint) : quoteMint.map(mintOf) };
}

function canonical(filter: Filter): string {
  const entries = Object.entries(filter).map(([name, value]) => [
    name,
    Array.isArray(value) ? [...new Set(value as string[])].sort() : value,
  ]);
  return JSON.stringify(entries.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}

/** How each field of a filter tests an event, made from the given value. */
type Tests<Fields, Event> = {
  readonly [Name in Exclude<keyof Fields, keyof Common>]-?: (given: NonNullable<Fields[Name]>) => (event: Event) => boolean;
};

const commonTests = {
  pool: (pool: NonNullable<Common['pool']>) => oneOf(pool, (event: MarketStreamEvent) => event.pool),
  quoteMint: (quoteMint: NonNullable<Common['quoteMint']>) => oneOf(quoteMint, (event: MarketStreamEvent) => event.quoteMint),
  commitment: (commitment: Commitment) => {
    const least = commitments.indexOf(commitment);
    return (event: MarketStreamEvent) => commitments.indexOf(event.commitment) >= least;
  },
};

const tradeTests: Tests<TradeFilter, TradeEvent> = {
  side: (side) => (event) => event.side === side,
  minSol: (least) => (event) => event.solAmount !== null && event.solAmount >= least,
  maxSol: (most) => (event) => event.solAmount !== null && event.solAmount <= most,
  trader: (trader) => oneOf(trader, (event) => event.trader),
};

/** A metadata event repeats the tested fields of the token's creation, so it passes if the creation passed. */
const newTokenTests: Tests<NewTokenFilter, NewTokenEvent | TokenMetadataEvent> = {
  creator: (creator) => oneOf(creator, (event) => event.creator),
  name: (part) => (event) => event.name.toLowerCase().includes(part.toLowerCase()),
  symbol: (part) => (event) => event.symbol.toLowerCase().includes(part.toLowerCase()),
  minDevBuySol: (least) => (event) => event.initialBuy !== null && (event.initialBuy.solAmount ?? -1) >= least,
  maxDevBuySol: (most) => (event) =>
    event.initialBuy === null || (event.initialBuy.solAmount !== null && event.initialBuy.solAmount <= most),
  traits: (traits) => (event) => traits.every((trait) => event.traits.includes(trait)),
  withoutTraits: (traits) => (event) => !traits.some((trait) => event.traits.includes(trait)),
};

const priceTests: Tests<PriceFilter, PriceEvent> = { source: (source) => (event) => event.source === source };

const migrationTests: Tests<MigrationFilter, MigrationEvent> = {
  minSol: (least) => (event) => event.solAmount !== null && event.solAmount >= least,
};

const poolTests: Tests<PoolFilter, PoolEvent> = {
  type: (type) => oneOf(type, (event) => event.type),
  minSol: (least) => (event) => event.valueSol !== null && event.valueSol >= least,
  provider: (provider) => oneOf(provider, (event) => (event.type === 'poolCreated' ? event.creator : event.provider)),
};

const programKinds: Readonly<Record<string, string>> = {
  programEvent: 'event',
  programInstruction: 'instruction',
  programAccount: 'account',
};

const programTests: Tests<ProgramFilter, ProgramRecord> = {
  kind: (kind) => oneOf(kind, (event) => programKinds[event.type]!),
  name: (name) => oneOf(name, (event) => event.name),
  fields: (fields) => {
    const tests = Object.entries(fields).map(([path, value]) => [path.split('.'), value] as const);
    return (event) => tests.every(([path, value]) => valueAt(event.data, path) === value);
  },
  account: (account) => {
    const accepted = new Set(typeof account === 'string' ? [account] : account);
    return (event) => {
      if (event.type === 'programAccount') return accepted.has(event.address);
      if (event.type === 'programInstruction') return event.accounts.some(({ address }) => accepted.has(address));
      return (
        typeof event.data === 'object' && Object.values(event.data ?? {}).some((value) => typeof value === 'string' && accepted.has(value))
      );
    };
  },
};

/** The field at a path; undefined if there is none. */
function valueAt(data: unknown, path: readonly string[]): unknown {
  return path.reduce((at: unknown, name) => {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    return (at as Readonly<Record<string, unknown>>)[name];
  }, data);
}

/** The types of the events that have the tested fields, and the tests of a channel. */
const channelTests: Partial<Record<Channel, { readonly types: readonly string[]; readonly tests: object }>> = {
  trades: { types: ['trade'], tests: { ...commonTests, ...tradeTests } },
  newTokens: { types: ['newToken', 'tokenMetadata'], tests: { ...commonTests, ...newTokenTests } },
  prices: { types: ['price'], tests: { ...commonTests, ...priceTests } },
  migrations: { types: ['migration'], tests: { ...commonTests, ...migrationTests } },
  pools: { types: ['poolCreated', 'liquidityAdded', 'liquidityRemoved'], tests: { ...commonTests, ...poolTests } },
  programs: { types: Object.keys(programKinds), tests: programTests },
};

function oneOf<Event>(accepted: string | readonly string[], valueOf: (event: Event) => string): (event: Event) => boolean {
  if (typeof accepted === 'string') return (event) => valueOf(event) === accepted;
  const set = new Set(accepted);
  return (event) => set.has(valueOf(event));
}
