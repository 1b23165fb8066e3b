import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import {
  commitments,
  type MarketStreamEvent,
  type NewTokenEvent,
  type StreamEvent,
  type TokenMetadataEvent,
} from '@sluice/shared/wire/events/events.ts';
import type { Filter, MigrationFilter, NewTokenFilter, PriceFilter, TradeFilter } from '@sluice/shared/wire/stream/filters.ts';
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
  const tests = [...commonTests(filter), ...channelTests(channel, filter)];
  return {
    key: canonical(filter),
    filter,
    confirmed: false,
    test: (event) => event.type === 'retract' || tests.every((test) => test(event)),
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
  const { quoteMint } = filter;
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

function channelTests(channel: Channel, filter: Filter): Test[] {
  switch (channel) {
    case 'trades':
      return tradeTests(filter);
    case 'newTokens':
      return newTokenTests(filter);
    case 'prices':
      return priceTests(filter);
    case 'migrations':
      return migrationTests(filter);
    case 'candles':
    case 'orders':
      return [];
  }
}

function oneOf(accepted: string | readonly string[]): (value: string) => boolean {
  if (typeof accepted === 'string') return (value) => value === accepted;
  const set = new Set(accepted);
  return (value) => set.has(value);
}

function commonTests({ pool, quoteMint, commitment }: Common): Test[] {
  const tests: Test[] = [];
  const market = (test: (event: MarketStreamEvent) => boolean): void =>
    void tests.push((event) => event.type !== 'retract' && event.type !== 'order' && test(event));
  if (pool !== undefined) {
    const matches = oneOf(pool);
    market((event) => matches(event.pool));
  }
  if (quoteMint !== undefined) {
    const matches = oneOf(quoteMint);
    market((event) => matches(event.quoteMint));
  }
  if (commitment !== undefined) {
    const least = commitments.indexOf(commitment);
    market((event) => commitments.indexOf(event.commitment) >= least);
  }
  return tests;
}

function tradeTests({ minSol, maxSol, side, trader }: TradeFilter): Test[] {
  const tests: Test[] = [];
  if (side !== undefined) tests.push((event) => event.type === 'trade' && event.side === side);
  if (minSol !== undefined) tests.push((event) => event.type === 'trade' && event.solAmount !== null && event.solAmount >= minSol);
  if (maxSol !== undefined) tests.push((event) => event.type === 'trade' && event.solAmount !== null && event.solAmount <= maxSol);
  if (trader !== undefined) {
    const matches = oneOf(trader);
    tests.push((event) => event.type === 'trade' && matches(event.trader));
  }
  return tests;
}

function newTokenTests(filter: NewTokenFilter): Test[] {
  const tests: Test[] = [];
  // A metadata event repeats the tested fields of the token's creation, so it passes if the creation passed.
  const add = (test: (event: NewTokenEvent | TokenMetadataEvent) => boolean): void =>
    void tests.push((event) => (event.type === 'newToken' || event.type === 'tokenMetadata') && test(event));
  const { creator, name, symbol, minDevBuySol, maxDevBuySol, traits, withoutTraits } = filter;
  if (creator !== undefined) {
    const matches = oneOf(creator);
    add((event) => matches(event.creator));
  }
  if (name !== undefined) add((event) => event.name.toLowerCase().includes(name.toLowerCase()));
  if (symbol !== undefined) add((event) => event.symbol.toLowerCase().includes(symbol.toLowerCase()));
  if (minDevBuySol !== undefined) add((event) => event.initialBuy !== null && (event.initialBuy.solAmount ?? -1) >= minDevBuySol);
  if (maxDevBuySol !== undefined) {
    add((event) => event.initialBuy === null || (event.initialBuy.solAmount !== null && event.initialBuy.solAmount <= maxDevBuySol));
  }
  if (traits !== undefined) add((event) => traits.every((trait) => event.traits.includes(trait)));
  if (withoutTraits !== undefined) add((event) => !withoutTraits.some((trait) => event.traits.includes(trait)));
  return tests;
}

function priceTests({ source }: PriceFilter): Test[] {
  return source === undefined ? [] : [(event) => event.type === 'price' && event.source === source];
}

function migrationTests({ minSol }: MigrationFilter): Test[] {
  return minSol === undefined ? [] : [(event) => event.type === 'migration' && event.solAmount !== null && event.solAmount >= minSol];
}
