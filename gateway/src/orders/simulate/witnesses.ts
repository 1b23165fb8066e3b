import type { Logger } from '@sluice/shared/log/log.ts';
import type { NodeAnswer, SimulationOutcome, SimulationRequest } from './read-simulation.ts';
import { isAsQuoted } from '../../quote/drift.ts';

/** After an answer that is not enough the others are waited for no longer than this: as long as for one that votes on accounts. */
const othersWithinMs = 600;
/** Where none of the endpoints that are to be asked gives a sign of itself for so long, those that are to be avoided are asked as well. */
const signWithinMs = 700;
/** An endpoint that could not be reached, or that was contradicted, is asked behind the others for so long. */
const lastForMs = 5_000;
/** A contradiction of one endpoint is logged no more often. */
const logEveryMs = 60_000;

/** What endpoints said of one request so far. */
export interface Heard {
  readonly failures: Extract<SimulationOutcome, { kind: 'failed' }>[];
  readonly deviations: Extract<SimulationOutcome, { kind: 'deviates' }>[];
  /** By whom, beside the slot. */
  readonly against: { readonly index: number; readonly slot: number | null }[];
  /** It passes, and does not tell what it gives. */
  unverified: SimulationOutcome | null;
  /** Another endpoint may know better. */
  fallback: SimulationOutcome | null;
  reason: string;
  /** Nobody has said anything, and none of those that were asked could be reached. */
  isUnreached: boolean;
}

export const nothingHeard = (): Heard => ({
  failures: [],
  deviations: [],
  against: [],
  unverified: null,
  fallback: null,
  reason: 'no endpoint is set',
  isUnreached: true,
});

/** Which endpoints are asked for a simulation, in which order, and what their answers come to. */
export class Witnesses {
  readonly #nodes: number;
  readonly #counters: { contradicted: number };
  readonly #log: Logger;
  readonly #lastUntilMs: number[];
  readonly #loggedAtMs: number[];
  /** The one whose answer counted last. */
  #first = 0;

  constructor(nodes: number, counters: { contradicted: number }, log: Logger) {
    [this.#nodes, this.#counters, this.#log] = [nodes, counters, log];
    this.#lastUntilMs = Array.from({ length: nodes }, () => 0);
    this.#loggedAtMs = Array.from({ length: nodes }, () => Number.NEGATIVE_INFINITY);
  }

  /** In the order in which they are asked. */
  lineUp(avoid: number): { readonly line: number[]; readonly avoided: number[] } {
    const nowMs = performance.now();
    const all = Array.from({ length: this.#nodes }, (_, i) => (this.#first + i) % this.#nodes);
    const isLast = (index: number): boolean => this.#lastUntilMs[index]! > nowMs;
    const others = all.filter((index) => ((avoid >>> index) & 1) === 0);
    const line = [...others.filter((index) => !isLast(index)), ...others.filter(isLast)];
    return { line, avoided: all.filter((index) => !others.includes(index)) };
  }

  /** Endpoints that said something else of the same state than those that are believed. */
  #contradicted({ against }: Heard, slot: number): void {
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

  /** Takes what one endpoint answered; the outcome where that is enough. */
  hear(index: number, answer: NodeAnswer, { expected }: SimulationRequest, heard: Heard): SimulationOutcome | null {
    if (answer.kind === 'none') {
      heard.reason = answer.reason;
      if (answer.fault === 'unreachable') this.#lastUntilMs[index] = performance.now() + lastForMs;
      else heard.isUnreached = false;
    }
    if (answer.kind !== 'outcome') return null;
    heard.isUnreached = false;
    const { outcome } = answer;
    if (outcome.kind === 'failed') {
      if (!answer.final) heard.fallback ??= { ...outcome, isConfirmed: true };
      else {
        heard.against.push({ index, slot: outcome.slot });
        if (heard.failures.push(outcome) > 1) return { ...heard.failures[0]!, isConfirmed: true };
      }
      return null;
    }
    if (outcome.kind !== 'passed') return null;
    const { amounts, slot } = outcome;
    if (expected !== null && amounts === null) heard.unverified ??= outcome;
    else if (expected !== null && amounts !== null && !isAsQuoted(amounts, expected)) {
      heard.against.push({ index, slot });
      heard.deviations.push({ kind: 'deviates', slot, amounts });
    } else {
      this.#first = index;
      this.#contradicted(heard, slot);
      return outcome;
    }
    return null;
  }
}

/** How long it is waited for an answer when all have been asked; null: as long as there is time. */
export function patienceOf({ isUnreached }: Heard, mayAskMore: boolean): number | null {
  if (!isUnreached) return othersWithinMs;
  return mayAskMore ? signWithinMs : null;
}

/** Where no answer was enough by itself. */
export function conclude({ failures, deviations, unverified, fallback, reason }: Heard, nodes: number): SimulationOutcome {
  const [failure] = failures;
  const [deviation] = deviations;
  if (deviation !== undefined) return deviation;
  if (failure !== undefined && unverified === null) return { ...failure, isConfirmed: nodes === 1 };
  return unverified ?? fallback ?? { kind: 'unavailable', reason };
}
