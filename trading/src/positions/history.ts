import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { askUntilAgreed } from '@sluice/shared/solana/rpc/quorum/ask-until-agreed.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { History } from '@sluice/followers/positions/ledger.ts';
import type { WalletTrade } from '@sluice/followers/positions/wallet-trade.ts';
import type { SendNode } from '../nodes/nodes.ts';
import { tradesIn } from './trades-in.ts';

/** Transactions of one wallet that are read, the newest first. What happened before them stays unexplained. */
const maxTransactions = 1_000;
/** Maximum of one `getSignaturesForAddress`. */
const pageSize = 1_000;
const maxPages = 5;
/** Transactions that are read at the same time. */
const readAtOnce = 4;
const attempts = 3;
/** How long endpoints may take to reach the newest slot of a history, and the pause between two questions. */
const listWithinMs = 10_000;
const listAgainMs = 200;
const againAfterMs = 400;
const hedgeAfterMs = 300;
const othersWithinMs = 2_500;

export interface HistoryParts {
  readonly nodes: readonly Pick<SendNode, 'rpc'>[];
  readonly signal: AbortSignal;
}

interface Listed {
  readonly signature: string;
  readonly slot: number;
  /** Its place among the rows of its endpoint; higher is older. */
  readonly place: number;
  /** Endpoints that list it. */
  listedBy: number;
}

/**
 * The trades of a wallet after the slot `from`, up to `to`, in chain order. A transaction counts if any endpoint lists it and endpoints agree on what
 * it contains, so that no single one can hide or invent a trade. Null: too little could be read; try again later.
 */
export async function readHistory(parts: HistoryParts, wallet: string, from: number, to: number): Promise<History | null> {
  const answered = await listAll(parts, { wallet, from, to });
  if (answered.length === 0) return null;
  const rows = joined(answered.map(({ rows: of }) => of));
  const newest = rows.toSorted((a, b) => b.slot - a.slot || a.place - b.place).slice(0, maxTransactions);
  const isCut = newest.length < rows.length || answered.some((found) => found.isCut);
  const oldestFirst = newest.toReversed();
  const trades: WalletTrade[] = [];
  for (let at = 0; at < oldestFirst.length; at += readAtOnce) {
    const read = await Promise.all(oldestFirst.slice(at, at + readAtOnce).map((row) => tradesOf(parts, wallet, row)));
    for (const [index, found] of read.entries()) {
      // A row that only few endpoints list may be invented.
      if (found === null && oldestFirst[at + index]!.listedBy * 2 > answered.length) return null;
      trades.push(...(found ?? []));
    }
  }
  return parts.signal.aborted ? null : { from, trades, to, isCut };
}

interface Query {
  readonly wallet: string;
  readonly from: number;
  readonly to: number;
}

interface List {
  readonly rows: readonly Omit<Listed, 'listedBy'>[];
  readonly isCut: boolean;
}

/** The lists of all endpoints. An endpoint that has not reached the slot `to` is asked again; after the first answer, the others have a moment. */
async function listAll({ nodes, signal }: HistoryParts, query: Query): Promise<readonly List[]> {
  const waiting = new AbortController();
  const until = AbortSignal.any([signal, waiting.signal]);
  const giveUp = setTimeout(() => waiting.abort(), listWithinMs);
  let late: NodeJS.Timeout | undefined;
  const listUntilReached = async (node: Pick<SendNode, 'rpc'>): Promise<List | null> => {
    while (!until.aborted) {
      const found = await list(node, query, until);
      if (found !== null) {
        late ??= setTimeout(() => waiting.abort(), othersWithinMs);
        return found;
      }
      await pause(listAgainMs, until, { ref: false });
    }
    return null;
  };
  const lists = await Promise.all(nodes.map(listUntilReached));
  clearTimeout(giveUp);
  clearTimeout(late);
  return lists.filter((found) => found !== null);
}

async function list({ rpc }: Pick<SendNode, 'rpc'>, { wallet, from, to }: Query, signal: AbortSignal): Promise<List | null> {
  const rows: Omit<Listed, 'listedBy'>[] = [];
  let before: string | null = null;
  let place = 0;
  try {
    for (let page = 0; page < maxPages; page++) {
      const options = { limit: pageSize, commitment: 'confirmed', minContextSlot: to, ...(before === null ? {} : { before }) };
      const answer = await rpc.call('getSignaturesForAddress', [wallet, options], signal);
      if (!Array.isArray(answer)) return null;
      for (const item of answer as readonly unknown[]) {
        const row = rowOf(item);
        if (row === null) return null;
        before = row.signature;
        if (row.slot <= from) return { rows, isCut: false };
        if (row.slot <= to && !row.failed) rows.push({ signature: row.signature, slot: row.slot, place: place++ });
      }
      if (answer.length < pageSize) return { rows, isCut: false };
    }
    return { rows, isCut: true };
  } catch (error) {
    if (error instanceof RpcError) return null;
    throw error;
  }
}

function rowOf(item: unknown): { readonly signature: string; readonly slot: number; readonly failed: boolean } | null {
  if (!isRecord(item)) return null;
  const { signature, slot, err } = item;
  if (typeof signature !== 'string' || typeof slot !== 'number' || !Number.isSafeInteger(slot)) return null;
  return { signature, slot, failed: err !== null && err !== undefined };
}

function joined(lists: readonly (readonly Omit<Listed, 'listedBy'>[])[]): readonly Listed[] {
  const found = new Map<string, Listed>();
  for (const row of lists.flat()) {
    const known = found.get(row.signature);
    if (known === undefined) found.set(row.signature, { ...row, listedBy: 1 });
    else known.listedBy++;
  }
  return [...found.values()];
}

/** Null: no endpoints agree on what the transaction contains. */
async function tradesOf({ nodes, signal }: HistoryParts, wallet: string, { signature, slot }: Listed): Promise<WalletTrade[] | null> {
  for (let attempt = 0; attempt < attempts && !signal.aborted; attempt++) {
    if (attempt > 0) await pause(againAfterMs, signal, { ref: false });
    const verdict = await askUntilAgreed<WalletTrade[]>({
      endpoints: nodes.map((_, index) => index),
      ask: (index) => ask(nodes[index]!, { wallet, signature, slot }, signal),
      agree: (one, other) => textOf(one) === textOf(other),
      hedgeAfterMs,
      othersWithinMs,
    });
    if (verdict.kind === 'agreed') return verdict.votes[0]!.value;
  }
  return null;
}

async function ask(
  { rpc }: Pick<SendNode, 'rpc'>,
  of: { readonly wallet: string; readonly signature: string; readonly slot: number },
  signal: AbortSignal,
): Promise<WalletTrade[] | null> {
  const options = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
  try {
    const view = readTransaction(await rpc.call('getTransaction', [of.signature, options], signal));
    if (view.kind === 'malformed' || view.signature !== of.signature || view.slot !== of.slot || view.err !== null) return null;
    return tradesIn(view, of.wallet, of.slot);
  } catch (error) {
    if (error instanceof RpcError) return null;
    throw error;
  }
}

function textOf(trades: readonly WalletTrade[]): string {
  return JSON.stringify(trades, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
