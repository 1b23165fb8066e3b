import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import type { NodeText } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { bytesFaults, contextOf, countOf, linesOf } from '../answer-forms.ts';
import type { TradedAmounts } from '../../quote/drift.ts';
import { simulatedAmounts, type ExpectedTrade } from './simulated-amounts.ts';
import { classifyFailure, type FailureTerms, type ReportedFailure, type TradeFailure } from './failure.ts';

export type SimulationOutcome =
  /** `amounts`: what the expected trade gives; null if the answer does not report it, or nothing is expected. */
  | { readonly kind: 'passed'; readonly slot: number; readonly unitsConsumed: number | null; readonly amounts: TradedAmounts | null }
  /** `isConfirmed`: two nodes report it, or only one is configured. */
  | { readonly kind: 'failed'; readonly slot: number | null; readonly failure: TradeFailure; readonly isConfirmed: boolean }
  /** It passes with clearly other amounts than expected, and no other node contradicts that. */
  | { readonly kind: 'deviates'; readonly slot: number; readonly amounts: TradedAmounts }
  /** No node gave a usable answer. */
  | { readonly kind: 'unavailable'; readonly reason: string };

export interface SimulationRequest {
  /** The transaction with zeros as signatures, because a node could land one that is signed. */
  readonly wire: Uint8Array;
  /** Oldest usable state: the one of the quote. */
  readonly minContextSlot: number | null;
  readonly terms: FailureTerms | null;
  /** Null: any amounts pass. */
  readonly expected: ExpectedTrade | null;
  /** Bit mask of endpoints that alone reported a part of the state behind `expected`; they cannot confirm it. */
  readonly avoid: number;
}

/**
 * The answer of one endpoint. `final` is false if another endpoint may contradict the answer; it is then used only if none does. `behind`: the
 * endpoint has not reached the slot. `none`: not usable.
 */
export type NodeAnswer =
  | { readonly kind: 'outcome'; readonly outcome: SimulationOutcome; readonly final: boolean }
  | { readonly kind: 'behind' }
  | { readonly kind: 'none'; readonly fault: 'malformed' | 'unreachable'; readonly reason: string };

const preflightFault = -32002;
const minContextSlotFault = -32016;

function failed(slot: number | null, reported: ReportedFailure, terms: FailureTerms | null): Extract<NodeAnswer, { kind: 'outcome' }> {
  const failure = classifyFailure(reported, terms, 'simulation');
  // A node that lags has not seen the blockhash yet.
  return { kind: 'outcome', outcome: { kind: 'failed', slot, failure, isConfirmed: false }, final: failure.fault !== 'blockhash' };
}

/** Reads the result of `simulateTransaction`. */
export function readSimulation(
  result: unknown,
  { wire, terms, minContextSlot, expected }: SimulationRequest,
  { newestSlot, textOf }: { readonly newestSlot: number; readonly textOf: NodeText },
): NodeAnswer {
  const malformed: NodeAnswer = { kind: 'none', fault: 'malformed', reason: 'the answer is not of the documented form' };
  const context = contextOf(result, newestSlot);
  if (context === null || !isRecord(context.value) || context.value['err'] === undefined) return malformed;
  const { slot } = context;
  const { err, logs, unitsConsumed } = context.value;
  const lines = logs === null || logs === undefined ? [] : linesOf(logs);
  if (lines === null) return malformed;
  if (minContextSlot !== null && slot < minContextSlot) return { kind: 'behind' };
  if (err !== null) return failed(slot, { err, logs: lines, textOf }, terms);
  const amounts = expected === null ? null : simulatedAmounts(context.value, wire, expected);
  if (amounts === 'contradicted') return malformed;
  return { kind: 'outcome', outcome: { kind: 'passed', slot, unitsConsumed: countOf(unitsConsumed), amounts }, final: true };
}

/** Reads the error of a call. Rethrows anything but an `RpcError`. */
export function readSimulationFault(error: unknown, { terms }: SimulationRequest, textOf: NodeText): NodeAnswer {
  if (!(error instanceof RpcError)) throw error;
  if (error.kind === 'malformed') return { kind: 'none', fault: 'malformed', reason: 'the answer is no JSON-RPC' };
  if (error.kind !== 'answer') return { kind: 'none', fault: 'unreachable', reason: error.kind };
  if (error.code === minContextSlotFault) return { kind: 'behind' };
  if (error.code === preflightFault && isRecord(error.data) && error.data['err'] !== undefined) {
    return failed(null, { err: error.data['err'], logs: linesOf(error.data['logs']) ?? [], textOf }, terms);
  }
  const name = bytesFaults.get(error.code);
  if (name === undefined) return { kind: 'none', fault: 'unreachable', reason: `error ${error.code}` };
  return { ...failed(null, { err: name, logs: [], textOf }, terms), final: false };
}
