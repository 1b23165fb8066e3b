import type { Decoding, LocatedEvent } from './transaction-decoder.ts';

/** If more transactions wait, only what opens a pool overtakes them. */
const maxCompared = 1_000;
/** How logs name instructions that create, open or migrate. Other programs may have such names. A name has a bound, so that the search is linear. */
const openingForm =
  /(?:Instruction|initialize2): (?:Create(?:V2|\w{0,40}Pool)?|Initialize(?:V2|Instruction2|With\w{1,40}|\w{0,40}(?:Pool|LbPair)\w{0,40})?|Migrat\w{1,40})(?![A-Za-z])/;

/** Whether what a node sent may be urgent. It is decoded only then. */
export const looksUrgent = (bytes: Buffer): boolean => openingForm.test(bytes.toString('latin1'));

const isOpening = ({ event }: LocatedEvent): boolean => event.type === 'created' || event.type === 'poolCreated';

const poolsOf = ({ event }: LocatedEvent): string[] => (event.type === 'migrated' ? [event.fromPool, event.toPool] : [event.pool]);

/**
 * Clients wait for new tokens, opened pools and migrations more than for trades, so in a burst these overtake. A transaction never overtakes another
 * one with an event of the same pool, unless it opens the pool.
 */
export function mayOvertake<T>(one: T, waiting: readonly T[], contentsOf: (one: T) => Decoding | null): boolean {
  const contents = contentsOf(one);
  if (contents?.kind !== 'read') return false;
  const opened = new Set(contents.events.filter(isOpening).flatMap(poolsOf));
  if (opened.size === 0 && !contents.events.some(({ event }) => event.type === 'migrated')) return false;
  const pools = contents.events.flatMap(poolsOf).filter((pool) => !opened.has(pool));
  if (pools.length === 0 || waiting.length > maxCompared) return pools.length === 0;
  return !waiting.some((other) => {
    const earlier = contentsOf(other);
    return earlier?.kind === 'read' && earlier.events.flatMap(poolsOf).some((pool) => pools.includes(pool));
  });
}

/** The same transactions in the order in which they are to be published. */
export function urgentFirst<T extends { readonly contents: Decoding | null }>(inOrder: readonly T[]): readonly T[] {
  const [first, rest]: [T[], T[]] = [[], []];
  for (const one of inOrder) (mayOvertake(one, rest, ({ contents }) => contents) ? first : rest).push(one);
  return [...first, ...rest];
}
