import {
  commitments,
  type MarketStreamEvent,
  type NewTokenEvent,
  type StreamEvent,
  type TokenMetadataEvent,
} from '@sluice/shared/wire/events.ts';
import type { Filter, MigrationFilter, NewTokenFilter, PriceFilter, TradeFilter } from '@sluice/shared/wire/filters.ts';
import type { Channel } from '@sluice/shared/wire/topics.ts';
import type { ConfirmedSlots } from '@sluice/shared/market/confirmed-slots.ts';

/** A filter ready for use. Equal filters have equal keys, whatever the order of their fields and lists. */
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
 * Compiles the filter of a channel; null for none and for an empty one. An event that takes another back passes every
 * filter: whether the one it names had passed is no longer known.
 */
export function compileFilter(channel: Channel, filter: Filter | undefined): CompiledFilter | null {
  if (filter === undefined || Object.keys(filter).length === 0) return null;
  const tests = [...commonTests(filter), ...channelTests(channel, filter)];
  return {
    key: canonical(filter),
    filter,
    confirmed: false,
    test: (event) => event.type === 'retract' || tests.every((test) => test(event)),
  };
}

/** The same, or none, for those who ask for confirmed events: what is not known to be confirmed does not pass, and nothing is taken back. */
export function confirmedOnly(filter: CompiledFilter | null, slots: Pick<ConfirmedSlots, 'fateOf'>): CompiledFilter {
  return {
    key: filter?.key ?? '',
    filter: filter?.filter ?? {},
    confirmed: true,
    test: (event) => slots.fateOf(event) === 'pass' && (filter === null || filter.test(event)),
  };
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

function oneOf(wanted: string | readonly string[]): (value: string) => boolean {
  if (typeof wanted === 'string') return (value) => value === wanted;
  const set = new Set(wanted);
  return (value) => set.has(value);
}

function commonTests({ pool, quoteMint, commitment }: Common): Test[] {
  const tests: Test[] = [];
  const market = (test: (event: MarketStreamEvent) => boolean): void =>
    void tests.push((event) => event.type !== 'retract' && event.type !== 'order' && test(event));
  if (pool !== undefined) {
    const wanted = oneOf(pool);
    market((event) => wanted(event.pool));
  }
  if (quoteMint !== undefined) {
    const wanted = oneOf(quoteMint);
    market((event) => wanted(event.quoteMint));
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
    const wanted = oneOf(trader);
    tests.push((event) => event.type === 'trade' && wanted(event.trader));
  }
  return tests;
}

function newTokenTests(filter: NewTokenFilter): Test[] {
  const tests: Test[] = [];
  // The metadata of a token carries of its creation what is looked at here, and so passes where the creation did.
  const add = (test: (event: NewTokenEvent | TokenMetadataEvent) => boolean): void =>
    void tests.push((event) => (event.type === 'newToken' || event.type === 'tokenMetadata') && test(event));
  const { creator, name, symbol, minDevBuySol, maxDevBuySol } = filter;
  if (creator !== undefined) {
    const wanted = oneOf(creator);
    add((event) => wanted(event.creator));
  }
  if (name !== undefined) add((event) => event.name.toLowerCase().includes(name.toLowerCase()));
  if (symbol !== undefined) add((event) => event.symbol.toLowerCase().includes(symbol.toLowerCase()));
  if (minDevBuySol !== undefined) add((event) => event.initialBuy !== null && (event.initialBuy.solAmount ?? -1) >= minDevBuySol);
  if (maxDevBuySol !== undefined) {
    add((event) => event.initialBuy === null || (event.initialBuy.solAmount !== null && event.initialBuy.solAmount <= maxDevBuySol));
  }
  for (const flag of ['mayhemMode', 'cashback', 'holderReward'] as const) {
    const wanted = filter[flag];
    if (wanted !== undefined) add((event) => event.flags[flag] === wanted);
  }
  return tests;
}

function priceTests({ source }: PriceFilter): Test[] {
  return source === undefined ? [] : [(event) => event.type === 'price' && event.source === source];
}

function migrationTests({ minSol }: MigrationFilter): Test[] {
  return minSol === undefined ? [] : [(event) => event.type === 'migration' && event.solAmount !== null && event.solAmount >= minSol];
}
