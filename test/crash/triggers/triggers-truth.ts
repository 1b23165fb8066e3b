import type { StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { TriggerView } from '../../support/clients/trigger-client.ts';
import { tokensOf } from '../../support/chain/quoted-trades.ts';
import type { CrashWorld } from '../crash-world.ts';
import { allOrders, faultsOfOrders } from '../truth.ts';
import { ordersOfTriggers, type PlacedOrder } from './placed-orders.ts';
import { ladder, type Armed, type Scene } from './scene.ts';

export interface TriggerJudgement {
  readonly faults: readonly string[];
  /** Triggers by their last state, children included. */
  readonly ended: Readonly<Record<string, number>>;
  /** Orders of triggers, and those that a firing had to repeat because the first one can never land. */
  readonly orders: number;
  readonly repeated: number;
}

const neverLands: ReadonlySet<string> = new Set(['failed', 'expired']);

/** Compares triggers, orders and the messages that nodes received with the chain. No faults: each firing has one order that landed. */
export async function judgeScenes(world: CrashWorld, scenes: readonly Scene[]): Promise<TriggerJudgement> {
  const orders = await allOrders(world);
  const placed = await ordersOfTriggers(world, orders);
  const faults = await faultsOfOrders(world, orders);
  const ended: Record<string, number> = {};
  const seen = new Set<string>();
  for (const scene of scenes) {
    const views = await scene.views();
    for (const { status, triggerId } of views) {
      ended[status] = (ended[status] ?? 0) + 1;
      seen.add(triggerId);
    }
    const { faults: own, expected } = faultsOfScene(scene, views, placed);
    faults.push(...own, ...faultsOfWallets(world, scene, orders));
    if (views.length !== expected) faults.push(`${views.length} triggers of ${scene.coin.mint} exist, and ${expected} were armed`);
  }
  for (const trigger of placed.keys())
    if (!seen.has(trigger)) faults.push(`an order has the key of the trigger ${trigger}, which does not exist`);
  const count = [...placed.values()].reduce((sum, all) => sum + all.length, 0);
  if (count !== orders.length) faults.push(`${orders.length} orders exist, and triggers placed ${count}`);
  const repeated = [...placed.values()].flat().filter(({ order }) => neverLands.has(order.state)).length;
  return { faults, ended, orders: orders.length, repeated };
}

function faultsOfScene(
  { armed }: Scene,
  views: readonly TriggerView[],
  placed: ReadonlyMap<string, readonly PlacedOrder[]>,
): { readonly faults: readonly string[]; readonly expected: number } {
  const faults: string[] = [];
  let expected = 0;
  for (const one of armed) {
    expected++;
    const view = views.find(({ triggerId }) => triggerId === one.triggerId);
    if (view === undefined) {
      faults.push(`${one.what}: ${one.triggerId} was armed, and does not exist`);
      continue;
    }
    const own = placed.get(view.triggerId) ?? [];
    faults.push(...faultsOfTrigger(one, view, own));
    const then = (one.body['then'] ?? []) as readonly object[];
    if (then.length === 0) continue;
    expected += then.length;
    const children = views.filter(({ parentId }) => parentId === view.triggerId);
    faults.push(...faultsOfLadder(one, own, children, placed));
  }
  return { faults, expected };
}

/** Its state, and for each firing one order that landed after those that never can. */
function faultsOfTrigger(
  { what, ending, orders }: Pick<Armed, 'what' | 'ending' | 'orders'>,
  view: TriggerView,
  own: readonly PlacedOrder[],
): string[] {
  const faults: string[] = [];
  const name = `${what} ${view.triggerId}`;
  if (view.status !== ending) faults.push(`${name} is ${view.status} and should be ${ending}: ${JSON.stringify(view)}`);
  const firings = new Map<number, PlacedOrder[]>();
  for (const one of own) firings.set(one.firing, [...(firings.get(one.firing) ?? []), one]);
  if (firings.size !== orders) faults.push(`${name} has fired ${firings.size} times, and should ${orders} times`);
  for (const [firing, attempts] of firings) {
    const landed = attempts.filter(({ order }) => !neverLands.has(order.state));
    if (landed.length !== 1) faults.push(`${name} has ${landed.length} orders of firing ${firing} that landed`);
    for (const { attempt, order } of attempts.slice(0, -1))
      if (!neverLands.has(order.state)) faults.push(`${name} repeated attempt ${attempt} of firing ${firing}, which is ${order.state}`);
  }
  const last = own.at(-1)?.order.id ?? null;
  if (view.orderId !== last) faults.push(`${name} names the order ${view.orderId}, and its last one is ${last}`);
  return faults;
}

/** Each step sells its part of what the parent's order bought, and together they leave nothing. */
function faultsOfLadder(
  { what }: Armed,
  own: readonly PlacedOrder[],
  children: readonly TriggerView[],
  placed: ReadonlyMap<string, readonly PlacedOrder[]>,
): string[] {
  if (children.length !== ladder.length) return [`${what} has ${children.length} children, and should have ${ladder.length}`];
  const bought = own.at(-1)?.order.fill?.baseAmount ?? 0n;
  const faults: string[] = [];
  const sold = children.map((child) => {
    faults.push(...faultsOfTrigger({ what: `child of ${what}`, ending: 'fired', orders: 1 }, child, placed.get(child.triggerId) ?? []));
    return placed.get(child.triggerId)?.at(-1)?.order.fill?.baseAmount ?? 0n;
  });
  const parts = ladder.map((part) => (bought * BigInt(Number.parseInt(part, 10))) / 100n);
  const difference = (a: readonly bigint[], b: readonly bigint[]): boolean =>
    [...a].toSorted((x, y) => Number(x - y)).some((amount, at) => amount - b[at]! > 1n || b[at]! - amount > 1n);
  if (difference(sold, parts)) faults.push(`${what}: the ladder sold ${sold.join(' and ')} of ${bought}`);
  const left = bought - sold.reduce((sum, amount) => sum + amount, 0n);
  if (left !== 0n) faults.push(`${what}: the ladder left ${left} of ${bought}`);
  return faults;
}

/** A wallet has what its orders left it. */
function faultsOfWallets({ chain }: CrashWorld, { armed, coin, before }: Scene, orders: readonly StoredOrder[]): string[] {
  return [...new Set(armed.map(({ wallet }) => wallet))].flatMap((wallet) => {
    let { lamports, tokens } = before.get(wallet)!;
    for (const { fill, terms, signature } of orders.filter(({ terms: of }) => of?.publicKey === wallet)) {
      const record = chain.transaction(signature ?? '');
      if (record !== null && record.err !== null) lamports -= record.fee;
      if (fill === null || terms === null) continue;
      const isBuy = terms.side === 'buy';
      lamports += (isBuy ? -fill.traderQuote : fill.traderQuote) - fill.networkFee - fill.otherLamports;
      tokens += isBuy ? fill.baseAmount : -fill.baseAmount;
    }
    const has = { lamports: chain.account(wallet)?.lamports ?? 0n, tokens: tokensOf(chain, coin, wallet) };
    const isRight = has.lamports === lamports && has.tokens === tokens;
    return isRight ? [] : [`${wallet} has ${has.lamports} lamports and ${has.tokens} tokens, by its orders ${lamports} and ${tokens}`];
  });
}
