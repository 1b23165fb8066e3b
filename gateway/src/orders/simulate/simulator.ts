import { base64Of } from '@sluice/shared/solana/bytes.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { startDeadline, type Deadline } from '@sluice/shared/abort/deadline.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { SendNode } from '../nodes/nodes.ts';
import { readSimulation, readSimulationFault, type NodeAnswer, type SimulationOutcome, type SimulationRequest } from './read-simulation.ts';
import { conclude, nothingHeard, patienceOf, Witnesses } from './witnesses.ts';

/** Time for one simulation over all endpoints. */
const withinMs = 2_000;
/** The next endpoint is asked as well where the one before has said nothing for so long. */
const hedgeAfterMs = 60;
/** Nodes that have not reached the slot yet are asked again after so long. */
const behindPauseMs = 40;
/** Simulations under way; beyond it they are refused, and count as unavailable. */
const maxRunning = 1_024;

export interface Simulator {
  /** Never rejects for anything that a node does. */
  simulate(request: SimulationRequest): Promise<SimulationOutcome>;
  readonly counters: Readonly<Record<SimulatorCounter, number>>;
}
type SimulatorCounter =
  | SimulationOutcome['kind']
  | 'contradicted'
  | 'asked'
  | 'hedged'
  | 'behind'
  | 'malformed'
  | 'unreachable'
  | 'refused';

export interface SimulatorOptions {
  readonly nodes: readonly SendNode[];
  /** Newest slot that the chain can have reached; an answer from beyond it is a lie. */
  readonly newestSlot: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** One attempt: the same request to all endpoints. */
interface Attempt {
  readonly request: SimulationRequest;
  readonly params: readonly unknown[];
  readonly within: Deadline;
  /** Endpoints that have not answered yet. */
  open: number;
  /** One is there, and has not reached the slot. */
  isBehind: boolean;
}

const noneAsked = (): Record<SimulatorCounter, number> => ({
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
 * Simulates transactions on the newest state; what stands for their signatures is not looked at. The endpoint that answered last is asked
 * first, the next one beside it after `hedgeAfterMs`. What passes and gives what is expected counts at once. A failure, or another amount,
 * counts where a second endpoint does not contradict it: one that lies costs no order, and makes none. Endpoints of `avoid` are asked only
 * where no other one can be reached.
 */
export function createSimulator({ nodes, newestSlot, log, signal }: SimulatorOptions): Simulator {
  const counters = noneAsked();
  const witnesses = new Witnesses(nodes.length, counters, log);
  let running = 0;

  /** What one endpoint answers once it has reached the slot. */
  async function ask(index: number, attempt: Attempt): Promise<NodeAnswer> {
    counters.asked++;
    attempt.open++;
    return await askUntilThere(index, attempt).finally(() => attempt.open--);
  }

  async function askUntilThere(index: number, attempt: Attempt): Promise<NodeAnswer> {
    const { request, params, within } = attempt;
    for (;;) {
      const answer = await nodes[index]!.rpc.call('simulateTransaction', params, within).then(
        (result) => readSimulation(result, request, newestSlot()),
        (error: unknown) => readSimulationFault(error, request),
      );
      if (within.aborted) return { kind: 'none', fault: 'unreachable', reason: 'no answer in time' };
      if (answer.kind === 'none') counters[answer.fault]++;
      if (answer.kind !== 'behind') return answer;
      counters.behind++;
      attempt.isBehind = true;
      await pause(behindPauseMs, undefined, { ref: false });
      if (within.aborted) return { kind: 'none', fault: 'unreachable', reason: 'no endpoint has reached the slot' };
    }
  }

  async function askAll(attempt: Attempt): Promise<SimulationOutcome> {
    const asking = new Map<number, Promise<{ readonly index: number; readonly answer: NodeAnswer }>>();
    const { line, avoided } = witnesses.lineUp(attempt.request.avoid);
    const heard = nothingHeard();
    for (let asked = 0; asked < line.length || asking.size > 0;) {
      const index = line[asked];
      if (index !== undefined) {
        asked++;
        asking.set(
          index,
          ask(index, attempt).then((answer) => ({ index, answer })),
        );
      }
      const told = await firstOf(asking.values(), asked < line.length ? hedgeAfterMs : patienceOf(heard, avoided.length > 0));
      if (told !== null) {
        asking.delete(told.index);
        const outcome = witnesses.hear(told.index, told.answer, attempt.request, heard);
        if (outcome !== null) return outcome;
      } else if (asked < line.length) counters.hedged++;
      else if (!heard.isUnreached) break;
      const isSilent = told === null || asking.size === 0;
      if (asked === line.length && isSilent && heard.isUnreached && !attempt.isBehind) line.push(...avoided.splice(0));
    }
    return conclude(heard, nodes.length);
  }

  return {
    counters,
    async simulate(request) {
      if (running >= maxRunning) {
        counters.refused++;
        return { kind: 'unavailable', reason: 'too many simulations are under way' };
      }
      const { wire, minContextSlot } = request;
      const options = {
        encoding: 'base64',
        sigVerify: false,
        commitment: 'processed',
        ...(minContextSlot === null ? {} : { minContextSlot }),
      };
      const deadline = startDeadline(withinMs, signal);
      const params = [base64Of(wire), options];
      const attempt: Attempt = { request, params, within: deadline, open: 0, isBehind: false };
      running++;
      try {
        const outcome = await askAll(attempt);
        counters[outcome.kind]++;
        return outcome;
      } finally {
        running--;
        if (attempt.open > 0) deadline.cut();
        deadline.end();
      }
    },
  };
}

/** The first of several to resolve; null where `afterMs` passes before (null: as long as it takes). */
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
