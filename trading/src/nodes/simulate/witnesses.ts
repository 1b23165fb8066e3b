import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { NodeAnswer, SimulationOutcome, SimulationRequest } from './read-simulation.ts';
import { isAsQuoted } from '../../quote/drift.ts';

/** After an answer that is not enough, how long to wait for the others; equals the wait for votes on accounts. */
const othersWithinMs = 600;
/** If endpoints whose last calls failed are silent for this long, those to avoid are asked as well. */
const signWithinMs = 700;
/** How long an endpoint is asked last after it was unreachable or contradicted. */
const lastForMs = 5_000;
/** Shortest time between two log lines about one endpoint. */
const logEveryMs = 60_000;

/** The answers of endpoints to one request so far. */
export class Answers {
  readonly failures: Extract<SimulationOutcome, { kind: 'failed' }>[] = [];
  readonly deviations: Extract<SimulationOutcome, { kind: 'deviates' }>[] = [];
  /** Endpoints that reported a failure or other amounts, with the slot. */
  readonly against: { readonly index: number; readonly slot: number | null }[] = [];
  /** A success without amounts. */
  unverified: SimulationOutcome | null = null;
  /** A failure that is used only if no endpoint contradicts it. */
  fallback: SimulationOutcome | null = null;
  reason = 'no endpoint is configured';
  /** No endpoint has answered, and none of those asked could be reached. */
  isUnreached = true;
}

/** Decides which endpoints are asked for a simulation, in which order, and what their answers amount to. */
export class Witnesses {
  readonly #nodes: number;
  readonly #counters: { contradicted: number };
  readonly #log: Logger;
  readonly #lastUntilMs: number[];
  readonly #loggedAtMs: number[];
  /** The endpoint whose answer counted last. */
  #first = 0;

  constructor(nodes: number, counters: { contradicted: number }, log: Logger) {
    [this.#nodes, this.#counters, this.#log] = [nodes, counters, log];
    this.#lastUntilMs = Array.from({ length: nodes }, () => 0);
    this.#loggedAtMs = Array.from({ length: nodes }, () => Number.NEGATIVE_INFINITY);
  }

  /** The endpoints to ask, in this order, and those to avoid. */
  lineUp(avoid: number): { readonly line: number[]; readonly avoided: number[] } {
    const nowMs = performance.now();
    const all = Array.from({ length: this.#nodes }, (_, i) => (this.#first + i) % this.#nodes);
    const isLast = (index: number): boolean => this.#lastUntilMs[index]! > nowMs;
    const others = all.filter((index) => ((avoid >>> index) & 1) === 0);
    const line = [...others.filter((index) => !isLast(index)), ...others.filter(isLast)];
    return { line, avoided: all.filter((index) => !others.includes(index)) };
  }

  /** Asks endpoints last whose answers about the same state differ from the answer that counted. */
  #contradicted({ against }: Answers, slot: number): void {
    const nowMs = performance.now();
    for (const { index, slot: at } of against) {
      this.#lastUntilMs[index] = nowMs + lastForMs;
      if (at !== null && at !== slot) continue;
      this.#counters.contradicted++;
      if (nowMs - this.#loggedAtMs[index]! < logEveryMs) continue;
      this.#loggedAtMs[index] = nowMs;
      this.#log.warn({ endpoint: index + 1, slot }, 'simulation_contradicted');
    }
  }

  /** Adds the answer of one endpoint; returns the outcome as soon as the answers are enough. */
  weigh(index: number, answer: NodeAnswer, { expected }: SimulationRequest, answers: Answers): SimulationOutcome | null {
    if (answer.kind === 'none') {
      answers.reason = answer.reason;
      if (answer.fault === 'unreachable') this.#lastUntilMs[index] = performance.now() + lastForMs;
      else answers.isUnreached = false;
    }
    if (answer.kind !== 'outcome') return null;
    answers.isUnreached = false;
    const { outcome } = answer;
    if (outcome.kind === 'failed') {
      if (!answer.final) answers.fallback ??= { ...outcome, isConfirmed: true };
      else {
        answers.against.push({ index, slot: outcome.slot });
        if (answers.failures.push(outcome) > 1) return { ...answers.failures[0]!, isConfirmed: true };
      }
      return null;
    }
    if (outcome.kind !== 'passed') return null;
    const { amounts, slot } = outcome;
    if (expected !== null && amounts === null) answers.unverified ??= outcome;
    else if (expected !== null && amounts !== null && !isAsQuoted(amounts, expected)) {
      answers.against.push({ index, slot });
      answers.deviations.push({ kind: 'deviates', slot, amounts });
    } else {
      this.#first = index;
      this.#contradicted(answers, slot);
      return outcome;
    }
    return null;
  }
}

/** How long to wait for an answer when all have been asked; null: until the deadline. */
export function waitMsOf({ isUnreached }: Answers, mayAskMore: boolean): number | null {
  if (!isUnreached) return othersWithinMs;
  return mayAskMore ? signWithinMs : null;
}

/** The outcome if no answer was enough by itself. */
export function conclude({ failures, deviations, unverified, fallback, reason }: Answers, nodes: number): SimulationOutcome {
  const [failure] = failures;
  const [deviation] = deviations;
  if (deviation !== undefined) return deviation;
  if (failure !== undefined && unverified === null) return { ...failure, isConfirmed: nodes === 1 };
  return unverified ?? fallback ?? { kind: 'unavailable', reason };
}
