import { readInnerEvents, type TransactionView } from '@sluice/shared/solana/inner-events.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction.ts';
import { venues } from '@sluice/shared/venues/registry.ts';
import type { TransactionRecord } from '../simnet/chain.ts';
import type { Simnet } from '../simnet/simnet.ts';
import { decodeWith } from './decoded.ts';

const eventAuthorities = new Map(
  venues.flatMap((venue) => (venue.eventAuthority === null ? [] : [[venue.programId, venue.eventAuthority] as const])),
);
const kinds = { trade: 'trade', newToken: 'created', migration: 'migrated' } as const;
type Kind = keyof typeof kinds;
export const happenedKinds = Object.keys(kinds) as readonly Kind[];

interface Happened {
  readonly id: string;
  readonly kind: Kind;
  readonly slot: number;
  /** The runtime cut the logs of its transaction. */
  readonly cut: boolean;
}

/** What happened according to the instructions of every transaction, in chain order: exactly what readers must receive. */
export function happened(simnet: Simnet): Happened[] {
  const all: Happened[] = [];
  for (const { dead, transactions } of simnet.oracle.slots()) {
    if (dead) continue;
    for (const { signature } of transactions) {
      const record = simnet.chain.transaction(signature);
      if (record === null) throw new Error(`No record of ${signature}.`);
      all.push(...happenedIn(record));
    }
  }
  return all;
}

/** What happened according to the instructions of one transaction. */
export function happenedIn(record: TransactionRecord): Happened[] {
  const { signature } = record;
  const decoded = decodeTransaction(record.wire);
  if (decoded.kind === 'malformed') throw new Error(`${signature} cannot be read.`);
  if (record.err !== null) return [];
  const found: Happened[] = [];
  readInnerEvents(viewOf(record, decoded.instructions), eventAuthorities, (programId, path, data) => {
    const outcome = decodeWith(programId, data);
    const type = outcome?.kind === 'decoded' ? outcome.event.type : null;
    const kind = happenedKinds.find((name) => kinds[name] === type);
    if (kind !== undefined) found.push({ id: `${signature}:${path}`, kind, slot: record.slot, cut: record.logs.includes('Log truncated') });
  });
  return found;
}

function viewOf(
  record: TransactionRecord,
  instructions: readonly { readonly programIdIndex: number; readonly data: Uint8Array }[],
): TransactionView {
  const { accountKeys, signature, slot, blockTime, version, logs } = record;
  return {
    kind: 'transaction',
    signature,
    version,
    feePayer: accountKeys[0]!,
    slot,
    blockTime,
    err: null,
    logs,
    accountKeys,
    loadedAddresses: 0,
    instructions: instructions.map(({ programIdIndex, data }) => ({ programId: accountKeys[programIdIndex]!, accounts: [], data })),
    inner: new Map(record.innerInstructions.map(({ index, instructions: inner }) => [index, inner])),
    tokenBalances: null,
  };
}
