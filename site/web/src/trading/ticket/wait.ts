import { metricNow, type PricesNow } from '../triggers/prices.ts';
import type { Condition, Metric, Op } from '../triggers/trigger.ts';

/** What the ticket can wait for. */
export const waits = [
  ['priceUsd', 'Price in USD'],
  ['priceSol', 'Price in SOL'],
  ['marketCapUsd', 'Market cap in USD'],
  ['marketCapSol', 'Market cap in SOL'],
  ['profit', 'Profit in %'],
  ['trailing', 'Trailing, in %'],
  ['curveProgress', 'Bonding curve in %'],
  ['migration', 'Migration to a pool'],
] as const;
export type Wait = (typeof waits)[number][0];

export interface WaitFields {
  readonly wait: Wait;
  readonly value: string;
}

/** What a condition is compared with; null where it is unknown. */
export interface Known {
  readonly prices: PricesNow;
  readonly curvePercent: number | null;
  /** Of the position of the wallet, percent. */
  readonly profitPercent: number | null;
}

/** Percent, as the server accepts it. */
const trailing = { min: 0.1, max: 95 };

/**
 * The condition that the fields ask for, or what is wrong with them. A value above that of now waits until it is reached from below, and a smaller
 * one until it is reached from above.
 */
export function conditionOf({ wait, value }: WaitFields, known: Known): Condition | string {
  if (wait === 'migration') return { event: 'migration' };
  const number = readNumber(value);
  if (wait === 'profit') return profitCondition(number, known.profitPercent);
  if (number === null || number <= 0) return `${nameOf(wait)}: a number above 0, for example ${examples[wait]}.`;
  if (wait === 'trailing') {
    if (number < trailing.min || number > trailing.max) return `Trailing: from ${trailing.min} to ${trailing.max} %.`;
    return { trailing: { metric: 'priceSol', percent: number } };
  }
  if (wait === 'curveProgress' && number > 100) return 'Bonding curve: at most 100 %.';
  const now = nowOf(wait, known);
  if (now === null) return `${nameOf(wait)}: not known now, so that no trigger can be armed by it.`;
  return { metric: wait, op: opTo(number, now), value: number };
}

const opTo = (value: number, now: number): Op => (value > now ? '>=' : '<=');

function profitCondition(percent: number | null, now: number | null): Condition | string {
  if (percent === null) return 'Profit: a percentage of the cost, for example 50, or -45 for a loss.';
  if (percent <= -100) return 'Profit: a loss of less than 100 %.';
  // Without a position, a profit is above and a loss below.
  return { position: 'profitPct', op: opTo(percent, now ?? 0), value: percent };
}

export function nowOf(wait: Wait, { prices, curvePercent, profitPercent }: Known): number | null {
  if (wait === 'profit') return profitPercent;
  if (wait === 'migration' || wait === 'trailing') return null;
  return wait === 'curveProgress' ? curvePercent : metricNow(wait satisfies Metric, prices);
}

const examples: Readonly<Record<Exclude<Wait, 'migration' | 'profit'>, string>> = {
  priceUsd: '0.00002',
  priceSol: '0.0000001',
  marketCapUsd: '50000',
  marketCapSol: '300',
  trailing: '20',
  curveProgress: '90',
};

export const nameOf = (wait: Wait): string => waits.find(([name]) => name === wait)![1];

/** A minus may be the sign of a keyboard or of a text. Null: no number. */
function readNumber(text: string): number | null {
  const plain = text.trim().replace('−', '-');
  return /^-?\d+(\.\d+)?$/.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : null;
}
