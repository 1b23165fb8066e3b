import { describe, expect, it } from 'vitest';
import { electPrimary, OwnerBook, PrimaryBook, type Server, type SlotView } from '@sluice/shared/bus/redis/redis-addresses.ts';

const urls = ['redis://a:1', 'redis://b:2', 'redis://c:3'];
const [a, b, c] = [
  { host: 'a', port: 1 },
  { host: 'b', port: 2 },
  { host: 'c', port: 3 },
];
const primary = (history: string, ...epochs: string[]): Server => ({ isPrimary: true, history, epochs });
const replica = (history: string, ...epochs: string[]): Server => ({ isPrimary: false, history, epochs });

describe('which of several servers is the primary', () => {
  it.each<[name: string, servers: readonly (Server | null)[], present: number | null, elected: number | null]>([
    ['the only server that reports itself as primary', [replica('h'), primary('h'), null], 0, 1],
    ['none if no server reports itself as primary', [replica('h'), null, replica('h')], 0, null],
    ['the server that continued where the log of another ends', [primary('h', 'e1'), primary('i', 'e1', 'e2'), replica('h')], 0, 1],
    [
      'the server that most replicas follow, if both logs continued',
      [primary('h', 'e1', 'e3'), primary('i', 'e1', 'e2'), replica('i')],
      0,
      1,
    ],
    [
      'the server whose log began later, if they have nothing in common',
      [primary('h', '01aaaaaaaabc'), primary('i', '01aaaabbbabc')],
      0,
      1,
    ],
    ['the current one, if nothing distinguishes them', [primary('h', 'e1'), primary('i', 'e1')], 1, 1],
    ['the first one, if there is no current one', [primary('h'), primary('i')], null, 0],
  ])('%s', (_, servers, present, elected) => {
    expect(electPrimary(servers, present)).toBe(elected);
  });

  it('is found without waiting for a server that does not answer a connect', async () => {
    const asked: number[] = [];
    const book = new PrimaryBook(urls, 0, async (at) => {
      asked.push(at);
      if (at === 0) throw new Error('no answer');
      return at === 2 ? primary('i') : replica('i');
    });
    expect(await book.next()).toEqual(a);
    expect(asked).toEqual([]);
    // The connection was lost.
    expect(await book.next()).toEqual(c);
    expect(asked).toEqual([0, 1, 2]);
  });
});

describe('the owner of a slot', () => {
  const view = (owner: SlotView['owner']): SlotView => ({ owner, nodes: [a, b, c] });

  it('is the node that most nodes name, in any order of answers', async () => {
    // Node a, cut off from the others, still takes itself for the owner.
    const book = new OwnerBook(urls, async ({ host }) => view(host === 'a' ? a : b));
    expect(await book.next()).toEqual(b);
  });

  it('is found while a node does not answer', async () => {
    const book = new OwnerBook(urls, ({ host }) => (host === 'a' ? new Promise(() => undefined) : Promise.resolve(view(b))));
    expect(await book.next()).toEqual(b);
  });

  it('is requested from each node in turn if none answers', async () => {
    const book = new OwnerBook(urls, async () => Promise.reject(new Error('no answer')));
    expect([await book.next(), await book.next()]).toEqual([a, b]);
  });
});
