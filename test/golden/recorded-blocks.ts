import { gunzipSync } from 'node:zlib';
import { keepTransactions } from '@sluice/shared/solana/rpc/answers/keep-transactions.ts';
import { venues } from '@sluice/venues/registry.ts';
import { pair as dlmmPair, pairLength as dlmmPairLength } from '../../venues/src/meteora/dlmm/layout.ts';
import { accountDiscriminators as dlmmDiscriminators, programId as dlmmProgram } from '../../venues/src/meteora/dlmm/program.ts';
import { fixtureBytes } from './fixtures.ts';

export type Json = Record<string, unknown>;
export interface Item extends Json {
  readonly transaction: { readonly signatures: readonly string[] };
  readonly meta: { readonly err: unknown; readonly logMessages: readonly string[] };
}
export interface Block extends Json {
  readonly transactions: readonly Item[];
}

export const slots = [332_254_908, 285_000_037] as const;
export const programs = venues.map(({ programId }) => programId);
export const signatureOf = ({ transaction }: Item): string => transaction.signatures[0]!;

export function recorded(slot: number): Block {
  const json = JSON.parse(gunzipSync(fixtureBytes(`blocks/${slot}.json.gz`)).toString()) as { readonly result: Block };
  return json.result;
}

/** The transactions that the sources report: successful, and of a venue. */
export function reportedOf(block: Block): Item[] {
  const answer = { result: structuredClone(block) };
  keepTransactions(answer, new Set(programs));
  return answer.result.transactions as Item[];
}

/** Accounts of the DLMM pairs that traded, which show only the width of their bins. */
export function dlmmPairs(slot: number): ReadonlyMap<string, unknown> {
  const lines = fixtureBytes(`blocks/${slot}.swaps.jsonl`).toString().trim().split('\n');
  return dlmmAccounts(lines.map((line) => JSON.parse(line) as Record<string, string>));
}

export function dlmmAccounts(swaps: readonly Record<string, unknown>[]): ReadonlyMap<string, unknown> {
  const bytes = Buffer.alloc(dlmmPairLength);
  bytes.set(dlmmDiscriminators.pair);
  bytes.writeUInt16LE(10, dlmmPair.binStep);
  const data = [bytes.toString('base64'), 'base64'];
  const account = { lamports: 1_000_000, owner: dlmmProgram, data, executable: false, rentEpoch: 0, space: bytes.length };
  const pools = swaps.filter(({ venue }) => venue === 'meteora-dlmm');
  return new Map(pools.map(({ pool }) => [String(pool), account]));
}
