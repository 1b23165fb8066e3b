import { readInnerEvents, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { eventAuthorities } from '@sluice/venues/registry.ts';
import type { Block, Chain, TransactionErrorJson, TransactionRecord } from './chain.ts';

/** How many transactions are remembered by default. The oldest slots are dropped first and counted in `forgotten`. */
const defaultMaxTransactions = 20_000;
/** How many slots are remembered, including empty ones. */
const maxOracleSlots = 20_000;

/** One event: the program that logged it, the path of the instruction, and the bytes as base64. */
export interface OracleEvent {
  readonly programId: string;
  readonly path: string;
  readonly data: string;
}

export interface OracleTransaction {
  readonly signature: string;
  readonly index: number;
  readonly err: TransactionErrorJson | null;
  /** The events in its `Program data:` lines. If the runtime truncated the log, the events in the venues' own calls. */
  readonly events: readonly OracleEvent[];
}

export interface OracleSlot {
  readonly slot: number;
  /** The slot died with a fork. */
  readonly dead: boolean;
  readonly transactions: readonly OracleTransaction[];
}

/** What really happened on the chain, independent of what a faulty server reported: truncated, lost and forged lines do not appear here. */
export interface Oracle {
  /** All remembered slots, oldest first. A slot that died and was built again appears twice. */
  slots(): readonly OracleSlot[];
  slot(slot: number): OracleSlot | null;
  /** Events of successful transactions in slots that live, in chain order; `id` is `<signature>:<path>`. */
  liveEvents(programId?: string): readonly (OracleEvent & { readonly id: string; readonly slot: number })[];
  /** Transactions that are no longer remembered. */
  readonly forgotten: number;
  close(): void;
}

interface Retained {
  readonly block: Block;
  dead: boolean;
}

/** The getTransaction result of a record, before encoding; null for a record without bytes. */
function viewOf(record: TransactionRecord): TransactionView | null {
  const decoded = decodeTransaction(record.wire);
  if (decoded.kind === 'malformed') return null;
  const { accountKeys, signature, slot, blockTime, version, logs } = record;
  return {
    kind: 'transaction',
    signature,
    version,
    feePayer: accountKeys[0] ?? '',
    slot,
    index: null,
    blockTime,
    err: null,
    logs,
    accountKeys,
    loadedAddresses: 0,
    instructions: decoded.instructions.map(({ programIdIndex, data }) => ({
      programId: accountKeys[programIdIndex] ?? '',
      accounts: [],
      data,
    })),
    inner: new Map(record.innerInstructions.map(({ index, instructions }) => [index, instructions])),
    tokenBalances: null,
  };
}

function eventsOf(record: TransactionRecord): readonly OracleEvent[] {
  const events: OracleEvent[] = [];
  const note = (programId: string, path: string, data: Uint8Array): void => {
    events.push({ programId, path, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64') });
  };
  const view = record.err === null && record.logs.includes('Log truncated') ? viewOf(record) : null;
  if (view === null) readLogs(record.logs, note);
  else readInnerEvents(view, eventAuthorities, note);
  return events;
}

function describe({ block, dead }: Retained): OracleSlot {
  const transactions = block.transactions.map((record) => ({
    signature: record.signature,
    index: record.index,
    err: record.err,
    events: eventsOf(record),
  }));
  return { slot: block.slot, dead, transactions };
}

/** Watches a chain. Log lines are read only on request, so that watching costs almost nothing. */
export function createOracle(chain: Chain, maxTransactions = defaultMaxTransactions): Oracle {
  let retained: Retained[] = [];
  let transactions = 0;
  let forgotten = 0;
  const forget = (): void => {
    let gone = 0;
    while ((transactions > maxTransactions || retained.length - gone > maxOracleSlots) && gone < retained.length - 1) {
      const count = retained[gone++]?.block.transactions.length ?? 0;
      transactions -= count;
      forgotten += count;
    }
    if (gone > 0) retained = retained.slice(gone);
  };
  const unlisten = chain.listen({
    onFrozen: (block) => {
      retained.push({ block, dead: false });
      transactions += block.transactions.length;
      forget();
    },
    onDead: (slots) => {
      const gone = new Set(slots);
      for (const item of retained) if (gone.has(item.block.slot)) item.dead = true;
    },
  });
  return {
    slots: () => retained.map(describe),
    slot: (slot) => {
      const found = retained.findLast((item) => item.block.slot === slot);
      return found === undefined ? null : describe(found);
    },
    liveEvents: (programId) =>
      retained
        .filter((item) => !item.dead)
        .flatMap(({ block }) =>
          block.transactions
            .filter((record) => record.err === null)
            .flatMap((record) =>
              eventsOf(record).map((event) => ({ ...event, id: `${record.signature}:${event.path}`, slot: block.slot })),
            ),
        )
        .filter((event) => programId === undefined || event.programId === programId),
    get forgotten() {
      return forgotten;
    },
    close: unlisten,
  };
}
