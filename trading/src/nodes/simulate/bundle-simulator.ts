import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { startDeadline, type Deadline } from '@sluice/shared/runtime/abort/deadline.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { isAsQuoted, type TradedAmounts } from '../../quote/drift.ts';
import { contextOf, countOf, linesOf } from '../answer-forms.ts';
import type { SendNode } from '../nodes.ts';
import { classifyFailure, type FailureTerms, type TradeFailure } from './failure.ts';
import { simulatedAmounts, type ExpectedTrade } from './simulated-amounts.ts';

/** Time for one simulation, over all endpoints. */
const withinMs = 2_500;
/** Pause before a node is asked again that has not reached the slot. */
const behindPauseMs = 40;
/** An endpoint without the method is asked again after this long: its provider may have added it. */
const askAgainAfterMs = 10 * 60_000;
const methodNotFound = -32_601;

/** One transaction of a bundle. */
export interface BundledTransaction {
  /** With a signature of the right length that signs nothing, because a node could land a signed one. */
  readonly wire: Uint8Array;
  readonly terms: FailureTerms;
  readonly expected: ExpectedTrade;
}

export type BundleSimulation =
  | { readonly kind: 'passed'; readonly slot: number; readonly unitsConsumed: readonly (number | null)[] }
  /** The transaction at `index` fails after those before it. */
  | { readonly kind: 'failed'; readonly index: number; readonly failure: TradeFailure }
  /** It passes with clearly other amounts than quoted. */
  | { readonly kind: 'deviates'; readonly index: number; readonly amounts: TradedAmounts }
  /** No endpoint has the method `simulateBundle`. */
  | { readonly kind: 'not_offered' }
  /** No endpoint gave a usable answer. */
  | { readonly kind: 'unavailable'; readonly reason: string };

type Answer = BundleSimulation | { readonly kind: 'behind' };

export interface BundleSimulatorOptions {
  readonly nodes: readonly SendNode[];
  readonly newestSlot: () => number;
  readonly signal: AbortSignal;
}

/**
 * Simulates a bundle with `simulateBundle`, the method of nodes that run Jito's validator: each transaction on the state that those before it leave. A pass with
 * the quoted amounts is used at once. A failure is used only if no other endpoint that has the method contradicts it.
 */
export class BundleSimulator {
  readonly #options: BundleSimulatorOptions;
  /** By endpoint: until when it is not asked, because it lacks the method. */
  readonly #lacksUntilMs: number[];

  constructor(options: BundleSimulatorOptions) {
    this.#options = options;
    this.#lacksUntilMs = options.nodes.map(() => 0);
  }

  /** `minContextSlot`: oldest usable state, that of the quotes. Never rejects. */
  async simulate(bundle: readonly BundledTransaction[], minContextSlot: number): Promise<BundleSimulation> {
    const deadline = startDeadline(withinMs, this.#options.signal);
    try {
      let against: BundleSimulation | null = null;
      let unavailable: BundleSimulation | null = null;
      for (const [index, node] of this.#options.nodes.entries()) {
        if (this.#lacksUntilMs[index]! > performance.now()) continue;
        const answer = await this.#ask(index, node, bundle, minContextSlot, deadline);
        if (answer.kind === 'passed') return answer;
        if (answer.kind === 'unavailable') unavailable ??= answer;
        else if (answer.kind !== 'not_offered') against ??= answer;
      }
      return against ?? unavailable ?? { kind: 'not_offered' };
    } finally {
      deadline.cut();
      deadline.end();
    }
  }

  async #ask(
    index: number,
    { rpc, textOf }: SendNode,
    bundle: readonly BundledTransaction[],
    minContextSlot: number,
    within: Deadline,
  ): Promise<BundleSimulation> {
    const none = bundle.map(() => null);
    const params = [
      { encodedTransactions: bundle.map(({ wire }) => base64Of(wire)) },
      { simulationBank: 'tip', skipSigVerify: true, preExecutionAccountsConfigs: none, postExecutionAccountsConfigs: none },
    ];
    for (;;) {
      const answer = await rpc.call('simulateBundle', params, within).then(
        (result) => read(result, bundle, minContextSlot, { newestSlot: this.#options.newestSlot(), textOf }),
        (error: unknown): Answer => this.#faultOf(error, index),
      );
      if (answer.kind !== 'behind') return answer;
      await pause(behindPauseMs, within, { ref: false });
      if (within.aborted) return { kind: 'unavailable', reason: 'no endpoint has reached the slot' };
    }
  }

  #faultOf(error: unknown, index: number): BundleSimulation {
    if (!(error instanceof RpcError)) throw error;
    if (error.kind !== 'answer') return { kind: 'unavailable', reason: error.kind };
    if (error.code !== methodNotFound) return { kind: 'unavailable', reason: `error ${error.code}` };
    this.#lacksUntilMs[index] = performance.now() + askAgainAfterMs;
    return { kind: 'not_offered' };
  }
}

function read(
  result: unknown,
  bundle: readonly BundledTransaction[],
  minContextSlot: number,
  { newestSlot, textOf }: Pick<SendNode, 'textOf'> & { readonly newestSlot: number },
): Answer {
  const malformed: Answer = { kind: 'unavailable', reason: 'the answer is not of the documented form' };
  const context = contextOf(result, newestSlot);
  if (context === null || !isRecord(context.value)) return malformed;
  const { summary, transactionResults: results } = context.value;
  if (!Array.isArray(results) || results.length > bundle.length) return malformed;
  if (context.slot < minContextSlot) return { kind: 'behind' };
  const unitsConsumed: (number | null)[] = [];
  for (const [index, one] of (results as readonly unknown[]).entries()) {
    if (!isRecord(one)) return malformed;
    const logs = one['logs'] == null ? [] : linesOf(one['logs']);
    if (logs === null) return malformed;
    const { wire, terms, expected } = bundle[index]!;
    const err = one['err'] ?? null;
    if (err !== null) return { kind: 'failed', index, failure: classifyFailure({ err, logs, textOf }, terms, 'simulation') };
    const amounts = simulatedAmounts({ logs }, wire, expected);
    if (amounts === 'contradicted') return malformed;
    if (amounts !== null && !isAsQuoted(amounts, expected)) return { kind: 'deviates', index, amounts };
    unitsConsumed.push(countOf(one['unitsConsumed']));
  }
  // A node may leave out the results from the first failure on.
  if (summary === 'succeeded') return results.length === bundle.length ? { kind: 'passed', slot: context.slot, unitsConsumed } : malformed;
  const index = Math.min(results.length, bundle.length - 1);
  return {
    kind: 'failed',
    index,
    failure: classifyFailure({ err: 'SanitizeFailure', logs: [], textOf }, bundle[index]!.terms, 'simulation'),
  };
}
