import type { Condition } from './trigger.ts';
import { equalParts, partText, readPart, restOf } from './ladder.ts';

/** Most steps of a ladder. */
export const maxSteps = 5;
const maxPercent = 1_000_000;
const maxLossPercent = 100;
const maxTrailingPercent = 95;
/** Most children of a trigger. */
const maxExits = 10;

/** One step of a ladder, as typed. */
export interface StepFields {
  /** Percent of what was bought. */
  readonly part: string;
  /** Percent of profit. */
  readonly profit: string;
}

/** The exits of a buy, as typed. An empty field asks for nothing. */
export interface ExitFields {
  readonly steps: readonly StepFields[];
  readonly stopLoss: string;
  readonly trailing: string;
}

export const noExits: ExitFields = { steps: [{ part: '100', profit: '' }], stopLoss: '', trailing: '' };

/** A sale that waits for a condition. */
export interface Exit {
  /** Of what was bought: `50%`. */
  readonly amount: string;
  readonly when: Condition;
  readonly ocoGroup: string;
}

/** The fields with this many steps of equal size. */
export function withSteps({ steps, ...others }: ExitFields, count: number): ExitFields {
  const profits = steps.map(({ profit }) => profit);
  return { ...others, steps: equalParts(count).map((part, at) => ({ part: partText(part).slice(0, -1), profit: profits[at] ?? '' })) };
}

export const hasExits = ({ steps, stopLoss, trailing }: ExitFields): boolean =>
  [stopLoss, trailing, ...steps.map(({ profit }) => profit)].some((text) => text.trim() !== '');

/**
 * The sales that the fields ask for, or what is wrong with a field. Each step of the ladder is one part of what was bought, which leaves by its own
 * profit, or by the stop or trailing stop: a group of which one fires. What no step sells leaves by a stop only.
 * `group`: the names of all groups begin with it.
 */
export function exitsOf({ steps, stopLoss, trailing }: ExitFields, group: string): readonly Exit[] | string {
  const stop = readPercent(stopLoss, maxLossPercent);
  const trail = readPercent(trailing, maxTrailingPercent);
  if (stop === undefined) return 'Stop loss: a percentage of the cost up to 100, for example 45.';
  if (trail === undefined) return 'Trailing stop: a percentage up to 95, for example 20.';
  const stops: readonly Condition[] = [
    ...(stop === null ? [] : [{ position: 'profitPct', op: '<=', value: -stop } as const]),
    ...(trail === null ? [] : [{ trailing: { metric: 'priceSol', percent: trail } } as const]),
  ];
  const read = steps.map(readStep);
  const parts: { readonly part: number; readonly profits: readonly Condition[] }[] = [];
  for (const [at, step] of read.entries()) {
    if (typeof step === 'string') return steps.length === 1 ? step : `Step ${at + 1}. ${step}`;
    if (step !== null) parts.push({ part: step.part, profits: [{ position: 'profitPct', op: '>=', value: step.profit }] });
  }
  const rest = restOf(parts.map(({ part }) => part));
  if (rest < 0) return 'The steps sell more than 100 %.';
  if (rest > 0 && stops.length > 0) parts.push({ part: rest, profits: [] });
  const exits = parts.flatMap(({ part, profits }, at) =>
    [...profits, ...stops].map((when) => ({ amount: partText(part), when, ocoGroup: `${group}-${at + 1}` })),
  );
  return exits.length > maxExits ? `These are ${exits.length} exits, at most ${maxExits}: fewer steps, or only one kind of stop.` : exits;
}

/** Null: nothing is asked for. */
function readStep({ part, profit }: StepFields): { readonly part: number; readonly profit: number } | string | null {
  const percent = readPercent(profit, maxPercent);
  if (percent === undefined) return 'Take profit: a percentage of the cost, for example 50.';
  if (percent === null) return null;
  const size = readPart(part);
  return size === null ? 'Part: a percentage of what was bought, up to 100.' : { part: size, profit: percent };
}

/** Null: empty. Undefined: no such percentage. */
function readPercent(text: string, most: number): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const percent = /^\d+(\.\d{1,2})?$/.test(trimmed) ? Number(trimmed) : 0;
  return percent > 0 && percent <= most ? percent : undefined;
}
