import { known, metricNow, type PricesNow } from '../trading/triggers/prices.ts';
import { canArmAgain, type Condition, type Metric, type Op, type Trigger } from '../trading/triggers/trigger.ts';
import { signed } from '../format/price.ts';
import { amountText } from '../trading/triggers/words.ts';
import type { Unit } from './chart-units.ts';

/** SOL paid for one token, by wallet; wallets without a known cost are absent. */
export type AverageCosts = ReadonlyMap<string, number>;

/** Triggers of one wallet that fire at the same price. */
export interface Line {
  /** Stays the same while the line moves. */
  readonly key: string;
  readonly triggers: readonly Trigger[];
  readonly side: 'buy' | 'sell';
  /** In the unit of the chart. */
  readonly price: number;
  /** Fires when the price is at least, or at most, that of the line. */
  readonly op: Op;
  readonly kind: 'level' | 'profit' | 'trailing';
}

/** Digits of a level that was chosen on the chart: more than a pixel shows. */
const levelDigits = 5;
const percentDecimals = 2;

/** The lines of a token's triggers. Progress of a curve, times and events of others have none; nor has what depends on an unknown price. */
export function linesOf(triggers: readonly Trigger[], unit: Unit, now: PricesNow, costs: AverageCosts): readonly Line[] {
  const lines = new Map<string, Line>();
  for (const trigger of triggers) {
    if (trigger.status !== 'armed' && trigger.status !== 'firing') continue;
    const found = placeOf(trigger, unit, now, costs);
    if (found === null) continue;
    const { when, side, publicKey } = trigger;
    const key = [publicKey, side, JSON.stringify(when), found.kind === 'trailing' ? trigger.triggerId : ''].join(' ');
    const same = lines.get(key);
    lines.set(key, same === undefined ? { key, triggers: [trigger], side, ...found } : { ...same, triggers: [...same.triggers, trigger] });
  }
  return [...lines.values()].toSorted((a, b) => b.price - a.price);
}

function placeOf({ when, side, publicKey, watermark }: Trigger, unit: Unit, now: PricesNow, costs: AverageCosts) {
  if ('metric' in when) {
    const price = inChart(when.metric, when.value, unit, now);
    return price === null ? null : ({ kind: 'level', op: when.op, price } as const);
  }
  if ('position' in when) {
    const cost = costs.get(publicKey);
    const price = cost === undefined ? null : inChart('priceSol', cost * (1 + when.value / 100), unit, now);
    return price === null ? null : ({ kind: 'profit', op: when.op, price } as const);
  }
  if ('trailing' in when && watermark !== null) {
    const { metric, percent } = when.trailing;
    const falls = side === 'sell';
    const price = inChart(metric, watermark * (1 + (falls ? -percent : percent) / 100), unit, now);
    return price === null ? null : ({ kind: 'trailing', op: falls ? '<=' : '>=', price } as const);
  }
  return null;
}

/** The condition of a trigger whose line was moved to a price; null if that price is unknown in its metric, or its line does not move. */
export function conditionAt(
  { when, publicKey }: Trigger,
  price: number,
  unit: Unit,
  now: PricesNow,
  costs: AverageCosts,
): Condition | null {
  if ('metric' in when) {
    const value = fromChart(when.metric, price, unit, now);
    return value === null ? null : { ...when, value: Number(value.toPrecision(levelDigits)) };
  }
  if (!('position' in when)) return null;
  const cost = costs.get(publicKey);
  const value = fromChart('priceSol', price, unit, now);
  if (value === null || cost === undefined || cost === 0) return null;
  return { ...when, value: Number(((value / cost - 1) * 100).toFixed(percentDecimals)) };
}

/** A trailing trigger that is armed again forgets its mark, which would move it against its owner. */
export const isMovable = ({ kind, triggers }: Line): boolean => kind !== 'trailing' && triggers.every(canArmAgain);

/** Whether a trigger with its line at `price` would fire at once. */
export function firesAtOnce(op: Op, price: number, nowPrice: number | null): boolean {
  return nowPrice !== null && (op === '>=' ? nowPrice >= price : nowPrice <= price);
}

/** All metrics follow the price, so that a level in one of them has the same distance from now in every unit. */
function inChart(metric: Metric, value: number, unit: Unit, now: PricesNow): number | null {
  const [from, to] = [metricNow(metric, now), unitNow(unit, now)];
  return from === null || to === null ? null : (value / from) * to;
}

function fromChart(metric: Metric, price: number, unit: Unit, now: PricesNow): number | null {
  const [from, to] = [unitNow(unit, now), metricNow(metric, now)];
  return from === null || to === null ? null : (price / from) * to;
}

/** The newest price, as the chart shows it; null if it is unknown. */
export function unitNow(unit: Unit, { priceUsd, priceQuote, supplyUi }: PricesNow): number | null {
  return known(unit === 'quote' ? priceQuote : unit === 'cap' && priceUsd !== null ? priceUsd * supplyUi : priceUsd);
}

/** What the line of a trigger says: `Sell 50 % at +50 %`. A level says no more, because its price is next to it. `decimals`: of the token. */
export function lineText({ triggers }: Line, decimals: number): string {
  const [first, ...more] = triggers as [Trigger, ...Trigger[]];
  const { when, side } = first;
  const verb = side === 'buy' ? 'Buy' : 'Sell';
  const what = more.length > 0 ? `${verb} ${triggers.length} parts` : `${verb} ${amountText(first, decimals)}`;
  if ('position' in when) return `${what} at ${signed(when.value)}`;
  return 'trailing' in when ? `${what}, trailing ${when.trailing.percent} %` : what;
}
