import type { Decoding } from './transaction-decoder.ts';

/**
 * Clients wait for new tokens, opened pools and migrations more than for trades, so in a burst these overtake. A transaction never overtakes another
 * one with an event of the same pool.
 */
export function isUrgent(contents: Decoding | null): boolean {
  return (
    contents?.kind === 'read' &&
    contents.events.some(({ event: { type } }) => type === 'created' || type === 'poolCreated' || type === 'migrated')
  );
}

/** The pools of which a transaction has events. */
export function poolsOf(contents: Decoding | null): readonly string[] {
  if (contents?.kind !== 'read') return [];
  return contents.events.flatMap(({ event }) => (event.type === 'migrated' ? [event.fromPool, event.toPool] : [event.pool]));
}

/** The same transactions in the order in which they are to be published. */
export function urgentFirst<T extends { readonly contents: Decoding | null }>(inOrder: readonly T[]): readonly T[] {
  if (!inOrder.some(({ contents }) => isUrgent(contents))) return inOrder;
  const [first, rest]: [T[], T[]] = [[], []];
  const overtaken = new Set<string>();
  for (const one of inOrder) {
    const pools = poolsOf(one.contents);
    if (isUrgent(one.contents) && !pools.some((pool) => overtaken.has(pool))) first.push(one);
    else {
      for (const pool of pools) overtaken.add(pool);
      rest.push(one);
    }
  }
  return [...first, ...rest];
}
