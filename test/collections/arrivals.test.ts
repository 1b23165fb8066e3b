import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Arrivals } from '@sluice/shared/runtime/collections/arrivals.ts';

it('reads what arrived in order, what may overtake first, and at once what is too much', async () => {
  const read: string[] = [];
  const compared: number[] = [];
  const arrivals = new Arrivals<{ readonly name: string; readonly bytes: Uint8Array }>({
    read: ({ name }) => void read.push(name),
    mayOvertake: ({ name }, waiting) => compared.push(waiting.length) > 0 && name.startsWith('*'),
  });
  const push = (name: string, length = 1): void => arrivals.push({ name, bytes: new Uint8Array(length) });
  for (const name of ['1', '2', '*3', '4', '*5']) push(name);
  expect(read).toEqual([]);
  await turn();
  await turn();
  await turn();
  expect(read).toEqual(['*3', '*5', '1', '2', '4']);
  expect(compared).toEqual([1, 2, 2, 3]);
  push('6', 10_000_000);
  push('7', 10_000_000);
  expect(read.slice(5)).toEqual(['6']);
  for (let item = 0; item < 9_000; item++) push('8');
  expect(read.length).toBe(5 + 2 + 9_000 - 8_192);
});
