import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { fingerprintOf } from '@sluice/trading/api/endpoints/idempotency.ts';
import { endStates, type OrderState, type StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokensOf } from '../support/chain/quoted-trades.ts';
import { until } from '../support/gateway.ts';
import type { FinalAnswer } from './client.ts';
import { laneCount, type CrashWorld } from './crash-world.ts';
import type { Way, Wish } from './wishes.ts';

/** One client's order: its request and its last answer. */
export interface Case {
  readonly wish: Wish;
  readonly wallet: string;
  readonly mint: string;
  /** What the wallet had before. */
  readonly before: { readonly lamports: bigint; readonly tokens: bigint };
  readonly answer: FinalAnswer;
}

export interface Judgement {
  readonly faults: readonly string[];
  readonly orders: Readonly<Partial<Record<Outcome, number>>>;
  /** Orders that their clients received, by the way of the request. */
  readonly ways: Readonly<Partial<Record<Way, number>>>;
}

type Outcome = OrderState | 'refused' | 'too_old';

const settleWithinMs = 600_000;

export async function allOrders({ store, keyId }: CrashWorld): Promise<readonly StoredOrder[]> {
  const all: StoredOrder[] = [];
  for (let before: string | null = null; ;) {
    const page = await store.orders.page({ owner: `key:${keyId}`, before, state: null, limit: 500 });
    all.push(...page);
    before = page.at(-1)?.id ?? null;
    if (page.length < 500) return all;
  }
}

/** Waits until no order is open, with gateways that nobody kills. */
export async function settled(world: CrashWorld): Promise<void> {
  for (let lane = 0; lane < laneCount; lane++) await world.gateway(lane);
  await until(
    'every order to end',
    async () => Number((await world.db.get('SELECT count(*) AS open FROM orders WHERE ended = 0'))?.['open']) === 0,
    settleWithinMs,
  );
}

/** Compares what is stored, what was sent and what the clients received with the chain. No faults: all of it is true. */
export async function judgeAll(world: CrashWorld, cases: readonly Case[]): Promise<Judgement> {
  const orders = await allOrders(world);
  const faults: string[] = [...(await faultsOfOrders(world, orders)), ...(await faultsOfAnswers(world, orders, cases))];
  for (const one of cases) faults.push(...(await faultsOfWallet(world, one, orders)));
  const counts: Partial<Record<Outcome, number>> = {};
  const count = (state: Outcome): void => void (counts[state] = (counts[state] ?? 0) + 1);
  const ways: Partial<Record<Way, number>> = {};
  for (const { state } of orders) count(state);
  for (const { answer, wish } of cases) {
    if (answer.kind === 'order') ways[wish.way] = (ways[wish.way] ?? 0) + 1;
    else count(answer.kind);
    // No request here may be refused permanently.
    if (answer.kind === 'refused') faults.push(`a client was refused: ${answer.status} ${answer.code} ${answer.message}`);
    if (answer.kind === 'too_old') faults.push(...faultsOfTooOld(world, wish, orders));
  }
  return { faults, orders: counts, ways };
}

/** Compares stored orders with the messages that nodes received, with the audit log and with the chain. */
export async function faultsOfOrders(world: CrashWorld, orders: readonly StoredOrder[]): Promise<string[]> {
  const faults = [...faultsOfMessages(world, orders), ...(await faultsOfAudit(world, orders))];
  for (const order of orders) faults.push(...(await faultsOfOrder(world, order)));
  return faults;
}

/** Every message that a node received and every one that landed is the one message of an order. */
function faultsOfMessages({ gate, chain }: CrashWorld, orders: readonly StoredOrder[]): string[] {
  const known = new Set(orders.map(({ signature }) => signature));
  const foreign = [...new Set(gate.sent.map(({ signature }) => signature))].filter((signature) => !known.has(signature));
  const faults = foreign.map(
    (signature) => `${signature} was sent, and no order has it${chain.transaction(signature) === null ? '' : ': it landed'}`,
  );
  const { size } = new Set(orders.map(({ signature }) => signature));
  return size === orders.length ? faults : [...faults, 'two orders have one message'];
}

/** A transaction that was reported as too old to its caller had no effect. */
function faultsOfTooOld({ gate, chain }: CrashWorld, { signature }: Wish, orders: readonly StoredOrder[]): string[] {
  const faults: string[] = [];
  if (orders.some((order) => order.signature === signature))
    faults.push(`${signature} is an order, and its client was notified that it is too old`);
  if (chain.transaction(signature ?? '') !== null) faults.push(`${signature} landed, and its client was notified that it is too old`);
  if (gate.sent.some((one) => one.signature === signature))
    faults.push(`${signature} was sent, and its client was notified that it is too old`);
  return faults;
}

/** Every message of a custodial order was signed once, with a line in an audit log. A message that its caller signed has no line. */
async function faultsOfAudit(world: CrashWorld, orders: readonly StoredOrder[]): Promise<string[]> {
  await world.checkAudit();
  const signed = new Map<string, number>();
  for (const file of world.auditFiles()) {
    for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
      const entry = JSON.parse(line.slice(line.indexOf(' ') + 1)) as { readonly verdict?: string; readonly message?: string };
      if (entry.verdict === 'signed' && entry.message !== undefined) signed.set(entry.message, (signed.get(entry.message) ?? 0) + 1);
    }
  }
  return orders.flatMap(({ id, kind, signedBytes }) => {
    const decoded = decodeTransaction(signedBytes ?? new Uint8Array());
    if (decoded.kind === 'malformed') return [`${id} has no message`];
    const times = signed.get(createHash('sha256').update(decoded.messageBytes).digest('hex')) ?? 0;
    return times === (kind === 'sent' ? 0 : 1) ? [] : [`the message of ${id} was signed ${times} times by the audit log`];
  });
}

/** A key has at most one order, the one that its client received, also a day later. */
async function faultsOfAnswers(world: CrashWorld, orders: readonly StoredOrder[], cases: readonly Case[]): Promise<string[]> {
  const faults: string[] = [];
  const returned = new Set<string>();
  for (const { wish, answer: last } of cases) {
    if (last.kind !== 'order') continue;
    if (returned.has(last.orderId)) faults.push(`${last.orderId} was returned for two keys`);
    returned.add(last.orderId);
    const row = orders.find(({ id }) => id === last.orderId);
    if (row === undefined) {
      faults.push(`${last.orderId} was returned, and is not stored`);
      continue;
    }
    if (row.signature !== last.signature) faults.push(`${last.orderId} was returned with another message`);
    const later = await orderOfKey(wish, world);
    if (later !== last.orderId) faults.push(`the key of ${last.orderId} belongs to ${later}`);
  }
  for (const { id } of orders) if (!returned.has(id)) faults.push(`${id} is stored, and its client was never notified`);
  return faults;
}

/** The order of a wish's key; null if it has none. */
async function orderOfKey({ endpoint, body, idempotencyKey: key }: Wish, { store, keyId }: CrashWorld): Promise<string | null> {
  const use = { endpoint, key, fingerprint: fingerprintOf(body) };
  const found = await store.orders.lookUp(`key:${keyId}`, use);
  return 'order' in found ? found.order.id : null;
}

async function faultsOfOrder({ chain, gate, store }: CrashWorld, order: StoredOrder): Promise<string[]> {
  const { id, state, signature, fill, error, version, lastValidBlockHeight } = order;
  const faults: string[] = [];
  if (!endStates.has(state)) faults.push(`${id} is open: ${state}`);
  const record = chain.transaction(signature ?? '');
  const wasSent = gate.sent.some((one) => one.signature === signature && one.forwarded);
  if (record === null) {
    if (state !== 'expired' && state !== 'failed') faults.push(`${id} is ${state}, and nothing landed`);
    if (wasSent && chain.blockHeight <= (lastValidBlockHeight ?? Infinity)) faults.push(`${id} is ${state}, and may still land`);
    if (state === 'failed' && gate.sent.some((one) => one.signature === signature)) faults.push(`${id} failed unsent, and was sent`);
  } else if (record.err !== null) {
    if (state !== 'failed' || error === null) faults.push(`${id} is ${state}, and failed on the chain: ${JSON.stringify(record.err)}`);
  } else if (state !== 'finalized' || fill?.slot !== record.slot)
    faults.push(`${id} is ${state} in ${fill?.slot}, and landed in ${record.slot}`);
  const versions = (await store.orders.events(id)).map((event) => event.version);
  if (versions.join() !== Array.from({ length: version }, (_, at) => at + 1).join()) faults.push(`${id} has the events ${versions.join()}`);
  return faults;
}

/** A wallet has what it had before plus its fills. Its spending of the day is what landed. */
async function faultsOfWallet(world: CrashWorld, one: Case, orders: readonly StoredOrder[]): Promise<string[]> {
  const { chain, coins, db } = world;
  const { wallet, mint, before, wish } = one;
  const faults: string[] = [];
  const own = orders.filter(({ terms, signature }) => terms?.publicKey === wallet || (signature !== null && signature === wish.signature));
  if (own.length > 1) faults.push(`${wallet} has ${own.length} orders for one key`);
  let { lamports, tokens } = before;
  for (const { fill, terms, signature } of own) {
    const record = chain.transaction(signature ?? '');
    if (record !== null && record.err !== null) lamports -= record.fee;
    if (fill === null || terms === null) continue;
    const isBuy = terms.side === 'buy';
    lamports += (isBuy ? -fill.traderQuote : fill.traderQuote) - fill.networkFee - fill.otherLamports;
    tokens += isBuy ? fill.baseAmount : -fill.baseAmount;
  }
  const coin = coins.find((candidate) => candidate.mint === mint);
  const has = { lamports: chain.account(wallet)?.lamports ?? 0n, tokens: coin === undefined ? 0n : tokensOf(chain, coin, wallet) };
  if (has.lamports !== lamports) faults.push(`${wallet} has ${has.lamports} lamports, by its orders ${lamports}`);
  if (has.tokens !== tokens) faults.push(`${wallet} has ${has.tokens} tokens, by its orders ${tokens}`);
  const day = await db.get('SELECT coalesce(sum(lamports), 0) AS spent FROM order_spend WHERE wallet = ?', wallet);
  const reserved = await db.get(
    `SELECT coalesce(sum(spend_lamports), 0) AS reserved FROM orders WHERE spend_wallet = ? AND state = 'finalized'`,
    wallet,
  );
  if (Number(day?.['spent']) !== Number(reserved?.['reserved']))
    faults.push(`${wallet} counts ${String(day?.['spent'])} of its day, of ${String(reserved?.['reserved'])}`);
  return faults;
}
