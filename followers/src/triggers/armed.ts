import type { LevelLane } from './lane.ts';
import type { PriceMetric } from '@sluice/shared/market/trigger-condition.ts';

/**
 * A watch whose condition depends on a value. It holds while `sign` × value is at most `sign` × threshold: `sign` is 1 if the value must
 * fall, and -1 if it must rise. So all lists compare in one direction.
 */
export interface ArmedLevel {
  readonly kind: 'level';
  readonly id: string;
  readonly lane: LevelLane;
  /** The threshold times `sign`. Of `trailing`: it follows from the watermark when the watch leaves its list. */
  key: number;
  /** Of `trailing`: the threshold divided by the watermark. */
  readonly factor: number;
  /** Of `trailing`, times `sign`. Null before the first one. Current only while the watch is in no list. */
  watermark: number | null;
  /** Of `trailing`: its watermark is not stored, while it is in no list. */
  isChanged: boolean;
  readonly armedAtMs: number;
  /** On the steady clock: its condition held from its arming until then at the earliest. */
  readonly holdsFromMs: number;
  /** It is not watched any more. Lists drop it when they come across it. */
  isGone: boolean;
  /** It is in no list, because its value is reached. */
  isOut: boolean;
  /** It waits to be taken. */
  isMet: boolean;
  /** As reported last. */
  reason: string | null;
}

/** How watches of one lane are evaluated. */
export interface LaneTerms {
  readonly metric: PriceMetric;
  /** 1: its conditions hold while the value is at most the threshold. -1: while it is at least the threshold. */
  readonly sign: 1 | -1;
  readonly isTrailing: boolean;
  readonly holdMs: number;
  readonly minDepthSol: number;
}

/** The watches of a lane that do not hold, by their thresholds. */
export interface ThresholdList {
  /** At least the highest key; -Infinity if there is none. */
  readonly best: number;
  add(armed: ArmedLevel): void;
  /** Removes and returns the watches whose key is at least this. */
  takeFrom(key: number): ArmedLevel[];
  /** One of its watches is gone. */
  noteGone(): void;
  /** With those that are gone, in no order. */
  all(): Iterable<ArmedLevel>;
}

/** Gone watches that a list may contain besides as many others. */
export const mostGone = 32;

/** Where a value belongs in a sorted list: after all that are not above it. */
export function placeIn(length: number, isAbove: (at: number) => boolean): number {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isAbove(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
