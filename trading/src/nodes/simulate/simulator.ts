import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { startDeadline, type Deadline } from '@sluice/shared/runtime/abort/deadline.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { SendNode } from '../nodes.ts';
import { readSimulation, readSimulationFault, type NodeAnswer, type SimulationOutcome, type SimulationRequest } from './read-simulation.ts';
import { Answers, conclude, waitMsOf, Witnesses } from './witnesses.ts';

/** Time for one simulation, over all endpoints. */
const withinMs = 2_000;
/** Without an answer for this long, the next endpoint is asked as well. */
const hedgeAfterMs = 60;
/** Pause before a node is asked again that has not reached the slot. */
const behindPauseMs = 40;
/** Most simulations at a time. Further ones are refused as unavailable. */
const maxRunning = 1_024;

export interface SimulatorOptions {
  readonly nodes: readonly SendNode[];
  /** Newest slot that the chain can have reached; an answer with a later slot is false. */
  readonly newestSlot: () => number;
  /** Whether the last call to the endpoint failed. Any other endpoint that is silent may only be late. */
  readonly isUnavailable: (endpoint: number) => boolean;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** One request to all endpoints. */
interface Attempt {
  readonly request: SimulationRequest;
  readonly params: readonly unknown[];
  readonly within: Deadline;
  /** Number of endpoints that have not answered yet. */
  open: number;
  /** An endpoint answered that it has not reached the slot. */
  isBehind: boolean;
}

export const noSimulations = () => ({
  passed: 0,
  failed: 0,
  deviates: 0,
  unavailable: 0,
  contradicted: 0,
  asked: 0,
  hedged: 0,
  behind: 0,
  malformed: 0,
  unreachable: 0,
  refused: 0,
});

/**
 * Simulates transactions on the newest state, without checking signatures. The endpoint whose answer was used last is asked first, and the next one
 * after `hedgeAfterMs`. A success with the expected amounts is used at once. A failure, or other amounts, are used only if no second endpoint
 * contradicts them, so one lying endpoint neither prevents nor causes an order. Endpoints of `avoid` are asked only if no other can be reached: each
 * failed now, or is silent and failed in its last call.
 */
export class Simulator {
  readonly #options: SimulatorOptions;
  readonly counters = noSimulations();
  readonly #witnesses: Witnesses;
  #running = 0;

  constructor(options: SimulatorOptions) {
    this.#options = options;
    this.#witnesses = new Witnesses(options.nodes.length, this.counters, options.log);
  }

  /** Never rejects. */
  async simulate(request: SimulationRequest): Promise<SimulationOutcome> {
    if (this.#running >= maxRunning) {
      this.counters.refused++;
      return { kind: 'unavailable', reason: 'too many simulations are in progress' };
    }
    const { wire, minContextSlot, expected } = request;
    const options = {
      encoding: 'base64',
      sigVerify: false,
      commitment: 'processed',
      ...(minContextSlot === null ? {} : { minContextSlot }),
      ...(expected?.isHidden === true ? { innerInstructions: true } : {}),
    };
    const deadline = startDeadline(withinMs, this.#options.signal);
    const attempt: Attempt = { request, params: [base64Of(wire), options], within: deadline, open: 0, isBehind: false };
    this.#running++;
    try {
      const outcome = await this.#askAll(attempt);
      this.counters[outcome.kind]++;
      return outcome;
    } finally {
      this.#running--;
      if (attempt.open > 0) deadline.cut();
      deadline.end();
    }
  }

  async #askAll(attempt: Attempt): Promise<SimulationOutcome> {
    const { nodes, isUnavailable } = this.#options;
    const asking = new Map<number, Promise<{ readonly index: number; readonly answer: NodeAnswer }>>();
    const { line, avoided } = this.#witnesses.lineUp(attempt.request.avoid);
    const answers = new Answers();
    const mayAskAvoided = (): boolean => avoided.length > 0 && (asking.size === 0 || line.every(isUnavailable));
    for (let asked = 0; asked < line.length || asking.size > 0;) {
      const index = line[asked];
      if (index !== undefined) {
        asked++;
        asking.set(
          index,
          this.#ask(index, attempt).then((answer) => ({ index, answer })),
        );
      }
      const first = await firstOf(asking.values(), asked < line.length ? hedgeAfterMs : waitMsOf(answers, mayAskAvoided()));
      if (first !== null) {
        asking.delete(first.index);
        const outcome = this.#witnesses.weigh(first.index, first.answer, attempt.request, answers);
        if (outcome !== null) return outcome;
      } else if (asked < line.length) this.counters.hedged++;
      else if (!answers.isUnreached) break;
      const isSilent = first === null || asking.size === 0;
      if (asked === line.length && isSilent && answers.isUnreached && !attempt.isBehind && mayAskAvoided()) line.push(...avoided.splice(0));
    }
    return conclude(answers, nodes.length);
  }

  async #ask(index: number, attempt: Attempt): Promise<NodeAnswer> {
    this.counters.asked++;
    attempt.open++;
    return await this.#askUntilThere(index, attempt).finally(() => attempt.open--);
  }

  /** The answer of one endpoint once it has reached the slot. */
  async #askUntilThere(index: number, attempt: Attempt): Promise<NodeAnswer> {
    const { nodes, newestSlot } = this.#options;
    const { request, params, within } = attempt;
    for (;;) {
      const { rpc, textOf } = nodes[index]!;
      const answer = await rpc.call('simulateTransaction', params, within).then(
        (result) => readSimulation(result, request, { newestSlot: newestSlot(), textOf }),
        (error: unknown) => readSimulationFault(error, request, textOf),
      );
      if (within.aborted) return { kind: 'none', fault: 'unreachable', reason: 'no answer in time' };
      if (answer.kind === 'none') this.counters[answer.fault]++;
      if (answer.kind !== 'behind') return answer;
      this.counters.behind++;
      attempt.isBehind = true;
      await pause(behindPauseMs, within, { ref: false });
      if (within.aborted) return { kind: 'none', fault: 'unreachable', reason: 'no endpoint has reached the slot' };
    }
  }
}

/** The first of several to resolve; null if `afterMs` passes before. With null there is no limit. */
async function firstOf<T>(all: Iterable<Promise<T>>, afterMs: number | null): Promise<T | null> {
  if (afterMs === null) return await Promise.race(all);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), afterMs)));
  try {
    return await Promise.race([...all, late]);
  } finally {
    clearTimeout(timer);
  }
}
