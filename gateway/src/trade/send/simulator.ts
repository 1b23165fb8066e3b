import { base64Of } from '@sluice/shared/solana/bytes.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { startDeadline, type Deadline } from '@sluice/shared/abort/deadline.ts';
import type { SendNode } from './nodes.ts';
import { readSimulation, readSimulationFault, type NodeAnswer, type SimulationOutcome, type SimulationRequest } from './read-simulation.ts';

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
type SimulatorCounter = SimulationOutcome['kind'] | 'asked' | 'hedged' | 'behind' | 'malformed' | 'unreachable' | 'refused';

export interface SimulatorOptions {
  readonly nodes: readonly SendNode[];
  /** Newest slot that the chain can have reached; an answer from beyond it is a lie. */
  readonly newestSlot: () => number;
  readonly signal: AbortSignal;
}

/** One attempt: the same request to all endpoints. */
interface Attempt {
  readonly request: SimulationRequest;
  readonly params: readonly unknown[];
  readonly within: Deadline;
  /** Endpoints that have not answered yet. */
  open: number;
}

/**
 * Simulates transactions on the newest state; what stands for their signatures is not looked at. The endpoint that answered last is asked first, the
 * next one beside it after `hedgeAfterMs`; the first usable answer counts. One that says that it fails counts like one that says that it
 * passes: a node that lies about a failure keeps an order from being sent, which costs nothing.
 */
export function createSimulator({ nodes, newestSlot, signal }: SimulatorOptions): Simulator {
  const counters = { passed: 0, failed: 0, unavailable: 0, asked: 0, hedged: 0, behind: 0, malformed: 0, unreachable: 0, refused: 0 };
  let first = 0;
  let running = 0;

  /** What one endpoint answers once it has reached the slot. */
  async function ask(index: number, attempt: Attempt): Promise<NodeAnswer> {
    counters.asked++;
    attempt.open++;
    return await askUntilThere(index, attempt).finally(() => attempt.open--);
  }

  async function askUntilThere(index: number, { request, params, within }: Attempt): Promise<NodeAnswer> {
    for (;;) {
      const answer = await nodes[index]!.rpc.call('simulateTransaction', params, within).then(
        (result) => readSimulation(result, request, newestSlot()),
        (error: unknown) => readSimulationFault(error, request),
      );
      if (within.aborted) return { kind: 'none', fault: 'unreachable', reason: 'no answer in time' };
      if (answer.kind === 'none') counters[answer.fault]++;
      if (answer.kind !== 'behind') return answer;
      counters.behind++;
      await pause(behindPauseMs, undefined, { ref: false });
      if (within.aborted) return { kind: 'none', fault: 'unreachable', reason: 'no endpoint has reached the slot' };
    }
  }

  async function askAll(attempt: Attempt): Promise<SimulationOutcome> {
    const asking = new Map<number, Promise<{ readonly index: number; readonly answer: NodeAnswer }>>();
    let fallback: SimulationOutcome | null = null;
    let reason = 'no endpoint is set';
    for (let asked = 0; asked < nodes.length || asking.size > 0;) {
      if (asked < nodes.length) {
        const index = (first + asked++) % nodes.length;
        asking.set(
          index,
          ask(index, attempt).then((answer) => ({ index, answer })),
        );
      }
      const told = await firstOf(asking.values(), asked < nodes.length ? hedgeAfterMs : null);
      if (told === null) {
        counters.hedged++;
        continue;
      }
      const { index, answer } = told;
      asking.delete(index);
      if (answer.kind === 'outcome') {
        if (answer.final) {
          first = index;
          return answer.outcome;
        }
        fallback ??= answer.outcome;
      } else if (answer.kind === 'none') reason = answer.reason;
    }
    return fallback ?? { kind: 'unavailable', reason };
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
      const attempt: Attempt = { request, params, within: deadline, open: 0 };
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
