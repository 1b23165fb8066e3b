import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { triggerLimits, type TriggerWhen } from '@sluice/shared/wire/orders/triggers.ts';
import { buyLimits } from '@sluice/shared/wire/rest/trading/quote.ts';
import { triggerDefaults, type TriggerBody } from '@sluice/shared/wire/rest/trading/triggers.ts';
import type { TriggerCondition } from '@sluice/shared/market/trigger-condition.ts';
import type { TriggerOrder } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { readTradeRequest } from '../../prepare/request.ts';
import { partsPerMillion } from '../../quote/amounts.ts';
import { wrongFields, type QuoteRefusal } from '../../quote/best-quote.ts';
import type { RequestedTrigger } from './trigger-desk.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A browser's clock may be late by this much. */
const maxPastMs = 3_600_000;
const maxAheadMs = 366 * 86_400_000;
const ofTrade = / of trade$/;

interface Reading {
  readonly nowMs: number;
  readonly venues: readonly Venue[];
  /** By the path of a field (`then.0.when.value`): what is wrong. */
  readonly faults: Record<string, string>;
}

/** A body at the top, or in `then`. */
type Body = Omit<TriggerBody, 'publicKey' | 'then'> & { readonly publicKey?: string; readonly then?: readonly Body[] };

/** What a trigger in `then` has of its parent. */
interface Parent extends Pick<TriggerOrder, 'publicKey' | 'mint' | 'side'> {
  readonly expiresAtMs: number | null;
}

/** Reads a body that matches the schema. Reports all wrong fields at once. `nowMs`: Unix milliseconds. */
export function readTrigger(
  body: TriggerBody,
  { nowMs, venues }: { readonly nowMs: number; readonly venues: readonly Venue[] },
): RequestedTrigger | QuoteRefusal {
  const reading: Reading = { nowMs, venues, faults: {} };
  const trigger = readOne(reading, body, '', null);
  if (Object.keys(reading.faults).length > 0) return wrongFields(reading.faults);
  const { mint } = trigger.terms.order;
  return mint === null || isAddress(mint) ? trigger : { error: 'INVALID_MINT' };
}

function readOne(reading: Reading, body: Body, path: string, parent: Parent | null): RequestedTrigger {
  const { confirm = triggerDefaults.confirm, retries = triggerDefaults.retries, retryForMs = triggerDefaults.retryForMs } = body;
  const condition = readCondition(reading, body.when, `${path}when.`);
  const order = readOrder(reading, body, path, parent, condition);
  const expiresAtMs = readExpiry(reading, body, path, parent, condition);
  const isPriced = condition.kind === 'level' || condition.kind === 'profit' || condition.kind === 'trailing';
  const children = body.then ?? [];
  if (children.length > 0 && 'times' in condition && condition.times > 1)
    reading.faults[`${path}then`] = 'is not for a trigger that fires more than once';
  if (condition.kind === 'account' && condition.account === order.publicKey)
    reading.faults[`${path}when.account`] = 'must not be `publicKey` itself';
  return {
    terms: {
      order,
      when: condition,
      confirm,
      minDepthSol: isPriced ? (body.minDepthSol ?? triggerDefaults.minDepthSol) : 0,
      holdMs: isPriced ? (body.holdMs ?? triggerDefaults.holdMs) : 0,
      retries,
      retryForMs,
      ocoGroup: body.ocoGroup ?? null,
      expiresAtMs,
    },
    children: children.map((child, index) => readOne(reading, child, `${path}then.${index}.`, { ...order, expiresAtMs })),
  };
}

function readOrder(reading: Reading, body: Body, path: string, parent: Parent | null, { kind }: TriggerCondition): TriggerOrder {
  const { side, amount, maxAmount, slippage, priorityFee, pool, minOut, maxIn } = body;
  const { faults } = reading;
  const publicKey = body.publicKey ?? parent?.publicKey ?? '';
  const mint = body.mint ?? parent?.mint ?? null;
  if (parent !== null && publicKey !== parent.publicKey) faults[`${path}publicKey`] = 'must be that of its parent';
  if (parent !== null && mint !== parent.mint) faults[`${path}mint`] = 'must be that of its parent';
  if (parent === null && mint === null && kind !== 'account') faults[`${path}mint`] = 'required';
  const given = {
    ...(slippage !== undefined && { slippage }),
    ...(priorityFee !== undefined && { priorityFee }),
    ...(pool !== undefined && { pool }),
    ...(minOut !== undefined && { minOut }),
    ...(maxIn !== undefined && { maxIn }),
  };
  checkAmount(reading, body, path, parent, kind);
  // The mint is checked at the end, and a part of a trade has been checked already.
  const checked = { ...given, publicKey, mint: wrappedSolMint, amount: isPartOfTrade(amount) ? buyLimits.min : amount };
  const read = readTradeRequest(side, checked, reading.venues);
  const found = 'error' in read ? (read.details?.['fields'] as Readonly<Record<string, string>> | undefined) : undefined;
  for (const [field, what] of Object.entries(found ?? {})) faults[path + field] ??= what;
  return { side, publicKey, mint, amount, ...(maxAmount !== undefined && { maxAmount }), ...given };
}

function isPartOfTrade(amount: TriggerOrder['amount']): boolean {
  return typeof amount === 'string' && ofTrade.test(amount);
}

function checkAmount({ faults }: Reading, body: Body, path: string, parent: Parent | null, kind: TriggerCondition['kind']): void {
  const { side, amount, maxAmount } = body;
  const fault = (field: 'amount' | 'maxAmount', what: string): void => void (faults[path + field] ??= what);
  const range = `must be ${buyLimits.min} to ${buyLimits.max} for a buy`;
  const isOutside = (value: number): boolean => side === 'buy' && (value < buyLimits.min || value > buyLimits.max);
  if (isPartOfTrade(amount)) {
    if (kind !== 'account') fault('amount', 'can be a part of a trade only with `account`');
    if (partsPerMillion(String(amount).replace(ofTrade, '')) === null)
      fault('amount', 'must be a percentage above 0% and up to 100%, as "25% of trade"');
    if (maxAmount === undefined && side === 'buy') fault('maxAmount', 'required for a buy of a part of a trade');
  } else {
    if (maxAmount !== undefined) fault('maxAmount', 'is only for a part of a trade');
    if (typeof amount === 'string' && side === 'sell' && parent?.side === 'sell')
      fault('amount', 'must be a number, because its parent buys nothing');
  }
  if (typeof amount === 'number' && isOutside(amount)) fault('amount', range);
  if (maxAmount !== undefined && isOutside(maxAmount)) fault('maxAmount', range);
}

function readCondition({ nowMs, faults }: Reading, when: TriggerWhen, path: string): TriggerCondition {
  if ('metric' in when) {
    if (when.metric === 'curveProgress' && when.value > 100) faults[`${path}value`] = 'must be at most 100 percent';
    return { kind: 'level', metric: when.metric, op: when.op, value: when.value };
  }
  if ('position' in when) return { kind: 'profit', op: when.op, percent: when.value };
  if ('trailing' in when) return { kind: 'trailing', metric: when.trailing.metric, percent: when.trailing.percent };
  if ('at' in when) {
    if (when.at < nowMs - maxPastMs) faults[`${path}at`] = 'is more than an hour ago (Unix milliseconds)';
    if (when.at > nowMs + maxAheadMs) faults[`${path}at`] = 'is more than a year ahead (Unix milliseconds)';
    return { kind: 'at', atMs: when.at };
  }
  if ('every' in when) {
    const everyMs = Number(when.every.slice(0, -1)) * (unitMs[when.every.slice(-1)] ?? 0);
    const { min, max } = triggerLimits.everyMs;
    if (everyMs < min || everyMs > max) faults[`${path}every`] = 'must be from 2s to 30d';
    return { kind: 'every', everyMs, times: when.times };
  }
  if ('event' in when) return { kind: 'migration' };
  if ('filled' in when) return { kind: 'filled', orderId: when.filled };
  const { account, side, minSol = 0, times = 1 } = when;
  if (!isAddress(account)) faults[`${path}account`] = 'is not an address';
  return { kind: 'account', account, side, minSol, times };
}

/** By default 30 days, counted from when it can be armed or fire at the latest. */
function readExpiry(
  { nowMs, faults }: Reading,
  { expiresAt }: Pick<Body, 'expiresAt'>,
  path: string,
  parent: Parent | null,
  condition: TriggerCondition,
): number | null {
  const firesAtMs = condition.kind === 'at' ? condition.atMs : nowMs;
  if (expiresAt === undefined) {
    const fromMs = parent === null ? Math.max(nowMs, firesAtMs) : parent.expiresAtMs;
    const lastsMs = condition.kind === 'every' ? condition.everyMs * condition.times : 0;
    return fromMs === null ? null : Math.max(fromMs, firesAtMs) + lastsMs + triggerDefaults.expiresInMs;
  }
  if (expiresAt !== null && expiresAt <= nowMs) faults[`${path}expiresAt`] = 'is in the past (Unix milliseconds)';
  else if (expiresAt !== null && expiresAt <= firesAtMs) faults[`${path}expiresAt`] = 'is not after `when.at`';
  return expiresAt;
}
