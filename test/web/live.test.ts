import type { Migration, NewToken, Trade } from '@sluice/client';
import { titleOf } from '@sluice/site/web/app/titles.ts';
import { EventList } from '@sluice/site/web/live/event-list.ts';
import { isNoAmount, noFilters, passes, type Known, type LiveFilters } from '@sluice/site/web/live/filters.ts';
import { describe, expect, it } from 'vitest';

const known: Known = {
  nameOf: (mint) => (mint === 'MintA' ? { symbol: 'AAA', name: 'First', creator: 'CreatorA' } : null),
  capOf: (mint) => (mint === 'MintA' ? 5_000 : null),
};
const event = { pool: 'pump', marketCapUsd: 5_000 };
const ofA = { ...event, mint: 'MintA' };
const ofB = { ...event, mint: 'MintB' };

/** Which events of each kind pass. The creator of MintB is only in its creation. */
function passed(filters: Partial<LiveFilters>) {
  const all: LiveFilters = { ...noFilters, ...filters };
  const tokens = [
    { ...ofA, creator: 'CreatorA', initialBuy: { solAmount: 2 } },
    { ...ofB, creator: 'CreatorB', initialBuy: null },
  ] as unknown as readonly NewToken[];
  const trades = [
    { ...ofA, trader: 'TraderA', side: 'buy', solAmount: 2 },
    { ...ofB, trader: 'CreatorA', side: 'sell', solAmount: 0.1 },
  ] as unknown as readonly Trade[];
  const migrations = [
    { ...ofA, solAmount: 80 },
    { ...ofB, solAmount: 0.2 },
  ] as unknown as readonly Migration[];
  const mintsOf = (list: readonly { readonly mint: string }[]): string => list.map(({ mint }) => mint.at(-1)).join('');
  return {
    tokens: mintsOf(tokens.filter((one) => passes(one, all, known))),
    trades: mintsOf(trades.filter((one) => passes(one, all, known))),
    migrations: mintsOf(migrations.filter((one) => passes(one, all, known))),
  };
}

describe('the filters of the live lists', () => {
  it.each<[Partial<LiveFilters>, string, string, string]>([
    [{}, 'AB', 'AB', 'AB'],
    [{ creator: ' CreatorA ' }, 'A', 'A', 'A'],
    [{ creator: 'CreatorB' }, 'B', '', ''],
    [{ trader: 'TraderA' }, 'AB', 'A', 'AB'],
    [{ trader: 'CreatorA' }, 'AB', 'B', 'AB'],
    [{ token: 'aaa' }, 'A', 'A', 'A'],
    [{ token: 'mintb' }, 'B', 'B', 'B'],
    [{ minSol: '1' }, 'A', 'A', 'A'],
    [{ side: 'sell' }, 'AB', 'B', 'AB'],
    [{ venue: 'launchlab' }, '', '', ''],
    [{ minCapUsd: '6k' }, '', '', ''],
  ])('%j', (filters, tokens, trades, migrations) => expect(passed(filters)).toEqual({ tokens, trades, migrations }));
});

describe('a live list', () => {
  const numbersOf = (list: EventList<{ id: string }>): string => list.newestFirst.map(({ id }) => id).join(' ');

  it('keeps rare events that the filters show while others pass, and drops the oldest of them last', () => {
    let minimum = 0;
    const list = new EventList<{ id: string }>(3, ({ id }) => Number(id) >= minimum);
    for (const id of ['1', '2', '3', '4']) list.add({ id });
    expect(numbersOf(list)).toBe('4 3 2');
    minimum = 10;
    for (const id of ['10', '5', '6', '11', '7', '8']) list.add({ id });
    expect(numbersOf(list)).toBe('8 11 10');
    for (const id of ['12', '13']) list.add({ id });
    expect(numbersOf(list)).toBe('13 12 11');
    list.remove('12');
    expect(numbersOf(list)).toBe('13 11');
  });
});

it('titles of the pages', () => {
  const id = '5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1';
  expect(titleOf({ page: 'api-keys', id: '' }, null)).toBe('API Keys – sluice');
  expect(titleOf({ page: 'token', id }, null)).toBe('Token 5Q54…e4j1 – sluice');
  expect(titleOf({ page: 'token', id }, 'WIF')).toBe('WIF – sluice');
  // A text from right to left turns nothing around.
  expect(titleOf({ page: 'token', id }, 'שלום')).toBe('\u2068שלום\u2069 – sluice');
});

it('a filter for a number names what is no number, and takes no decimal comma for thousands', () => {
  for (const text of ['', '0.5', '1,000', '12,345.5', '10k', '$3M', ' 2 ']) expect([text, isNoAmount(text)]).toEqual([text, false]);
  for (const text of ['0,5', '1,5', 'abc', '-5', '10kk', '1e3', '1,0000']) expect([text, isNoAmount(text)]).toEqual([text, true]);
  expect(passed({ minSol: '1,000' })).not.toEqual(passed({}));
  expect(passed({ minSol: '0,5' })).toEqual(passed({}));
});
