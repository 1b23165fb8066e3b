import { afterEach, expect, it } from 'vitest';
import { RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import type { OrderAnswer, OrderCall } from '@sluice/trading/api/order-call.ts';
import type { Mailboxes, PutOutcome } from '../../../trading/src/api/role/mailboxes.ts';
import { HandOver } from '../../../trading/src/api/role/hand-over.ts';
import { openRecord, sealRecord } from '../../../trading/src/api/role/handed-record.ts';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { tradeBuyEndpoint, transactionBuyEndpoint } from '@sluice/shared/wire/rest/trading/trade.ts';
import { tradeBatchEndpoint } from '@sluice/shared/wire/rest/trading/batch.ts';
import { testSealKey, until } from '../../support/gateway.ts';

const log = createLog({ level: 'silent', name: 'test' });
const call: OrderCall = {
  owner: { keyId: 'key', accountId: null },
  idempotencyKey: null,
  params: {},
  query: {},
  maxTriggers: 0,
  body: { mint: 'the-secret-mint' },
};
const refusal: OrderAnswer = { error: 'INSUFFICIENT_BALANCE' };
const placed: OrderAnswer = { json: { orderId: 'order' } };

/** Redis of the tests: the lease, and the queues. */
class Exchange {
  fence = 0;
  readonly records = new Map<string, Buffer[]>();
  readonly everPut: Buffer[] = [];
  putFails = false;

  mailboxes(): Mailboxes {
    let closed = false;
    const put = (mailbox: string, record: Buffer): void => {
      this.everPut.push(record);
      this.records.set(mailbox, [...(this.records.get(mailbox) ?? []), record]);
    };
    return {
      callsOf: (fence) => `calls ${fence}`,
      answersOf: (name) => `answers ${name}`,
      putCall: async (fence, record): Promise<PutOutcome> => {
        if (fence !== this.fence) return { kind: 'moved', fence: this.fence };
        put(`calls ${fence}`, record);
        if (this.putFails) throw new Error('the connection is lost');
        return { kind: 'put' };
      },
      putAnswer: async (mailbox, record) => put(mailbox, record),
      take: async (mailboxes) => {
        const mailbox = mailboxes.find((name) => (this.records.get(name) ?? []).length > 0);
        if (mailbox !== undefined) return { mailbox, record: this.records.get(mailbox)!.shift()! };
        await new Promise((resolve) => setTimeout(resolve, closed ? 0 : 2));
        return null;
      },
      close: () => void (closed = true),
    };
  }
}

interface TestGateway {
  readonly handOver: HandOver;
  readonly lease: { name: string; held: boolean; fence: number };
  readonly runs: OrderCall[];
  /** Answers the calls that run. */
  answer: ((answer: OrderAnswer) => void) | null;
}

let exchange = new Exchange();
let gateways: TestGateway[] = [];

function gateway(): TestGateway {
  const lease = { name: 'trading', held: false, fence: 0 };
  const runs: OrderCall[] = [];
  const one: { -readonly [Name in keyof TestGateway]: TestGateway[Name] } = { handOver: null as never, lease, runs, answer: null };
  const run = async (_: string, given: OrderCall): Promise<OrderAnswer> => {
    runs.push(given);
    return await new Promise((resolve) => (one.answer = resolve));
  };
  one.handOver = new HandOver({ mailboxes: exchange.mailboxes(), seal: new RecordSeal(testSealKey, systemClock), lease, run, log });
  gateways.push(one);
  return one;
}

/** Gives the role to a gateway. The former holder learns of it unless it is paused. */
function giveRole(to: TestGateway, from?: TestGateway): void {
  if (from !== undefined) from.lease.held = false;
  Object.assign(to.lease, { held: true, fence: ++exchange.fence });
  to.handOver.roleChanged();
}

async function untilRun({ runs: begun }: TestGateway): Promise<void> {
  await until('the call to run', () => begun.length === 1);
}

afterEach(async () => {
  for (const one of gateways) one.answer?.(refusal);
  for (const one of gateways) await one.handOver.close();
  exchange = new Exchange();
  gateways = [];
});

it('runs a call at the holder once, under an Idempotency-Key, however often it is sent', async () => {
  const [holder, caller] = [gateway(), gateway()];
  giveRole(holder);
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(holder);
  await until('the call to be sent again', () => exchange.everPut.length > 3);
  holder.answer!(placed);
  expect(await answered).toEqual(placed);
  expect(holder.runs).toHaveLength(1);
  expect(holder.runs[0]!.idempotencyKey).toMatch(/^handed-over-/);
});

it('returns the refusal of the only holder that had the call', async () => {
  const [holder, caller] = [gateway(), gateway()];
  giveRole(holder);
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(holder);
  holder.answer!(refusal);
  expect(await answered).toEqual(refusal);
  expect(caller.handOver.counters.unanswered).toBe(0);
});

it('hands a call that no holder had to the first one', async () => {
  const [holder, caller] = [gateway(), gateway()];
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  giveRole(holder);
  await untilRun(holder);
  holder.answer!(refusal);
  expect(await answered).toEqual(refusal);
});

it('sends a call to the next holder with the same key, and returns its success', async () => {
  const [first, next, caller] = [gateway(), gateway(), gateway()];
  giveRole(first);
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(first);
  giveRole(next, first);
  await untilRun(next);
  next.answer!(placed);
  expect(await answered).toEqual(placed);
  expect(next.runs[0]!.idempotencyKey).toBe(first.runs[0]!.idempotencyKey);
});

it('reports a refusal as uncertain while an earlier holder may have placed the order', async () => {
  const [first, next, caller] = [gateway(), gateway(), gateway()];
  giveRole(first);
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(first);
  giveRole(next, first);
  await untilRun(next);
  next.answer!(refusal);
  const { idempotencyKey } = first.runs[0]!;
  expect(await answered).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE', details: { idempotencyKey } });
  expect(caller.handOver.counters.unanswered).toBe(1);
});

it('waits for the next holder after the late refusal of an earlier one', async () => {
  const [first, next, caller] = [gateway(), gateway(), gateway()];
  giveRole(first);
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(first);
  giveRole(next, first);
  await untilRun(next);
  first.answer!(refusal);
  await until('the refusal to be read', () => [...exchange.records.values()].every((waiting) => waiting.length === 0));
  next.answer!(placed);
  expect(await answered).toEqual(placed);
});

it('never runs at a later holder a call that its caller has an answer to', async () => {
  const [first, next, caller] = [gateway(), gateway(), gateway()];
  giveRole(first);
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(first);
  // A copy stays in the mailbox.
  exchange.records.set('calls 2', [exchange.everPut.find((record) => record.length > 0)!]);
  first.answer!(refusal);
  expect(await answered).toEqual(refusal);
  giveRole(next, first);
  await until('the copy to be taken', () => exchange.records.get('calls 2')!.length === 0);
  expect(next.runs).toEqual([]);
});

it('passes a call on that a former holder took from its mailbox', async () => {
  const [first, next, caller] = [gateway(), gateway(), gateway()];
  giveRole(first);
  // The lease has expired, and no gateway has noticed.
  first.lease.held = false;
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await until('the call to be taken', () => exchange.everPut.length >= 3);
  giveRole(next, first);
  await untilRun(next);
  expect(first.runs).toEqual([]);
  next.answer!(refusal);
  // The first one reported that it did not run the call.
  expect(await answered).toEqual(refusal);
});

it('runs a waiting call itself when it gets the role, with the same key', async () => {
  const [first, caller] = [gateway(), gateway()];
  giveRole(first);
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(first);
  giveRole(caller, first);
  await untilRun(caller);
  caller.answer!(refusal);
  expect(await answered).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE' });
  expect(caller.runs[0]!.idempotencyKey).toBe(first.runs[0]!.idempotencyKey);
});

it('does not know whether a call was put when the connection was lost', async () => {
  const [first, next, caller] = [gateway(), gateway(), gateway()];
  giveRole(first);
  exchange.putFails = true;
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(first);
  exchange.putFails = false;
  giveRole(next, first);
  await untilRun(next);
  next.answer!(refusal);
  expect(await answered).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE', details: { idempotencyKey: expect.any(String) as string } });
});

it('returns the refusal of any holder for a call that cannot spend', async () => {
  const [first, next, caller] = [gateway(), gateway(), gateway()];
  giveRole(first);
  const answered = caller.handOver.hand(transactionBuyEndpoint, call);
  await untilRun(first);
  giveRole(next, first);
  await untilRun(next);
  next.answer!(refusal);
  expect(await answered).toEqual(refusal);
  expect(next.runs[0]!.idempotencyKey).toBeNull();
});

it('leaves the missing orders of a batch to the next holder: an answer that lacks some is not the last word if that one may run it', async () => {
  const [first, second, caller] = [gateway(), gateway(), gateway()];
  giveRole(first);
  const batch = { ...call, idempotencyKey: 'batch' };
  const refused = { error: { code: 'UPSTREAM_UNAVAILABLE' } };
  const answered = caller.handOver.hand(tradeBatchEndpoint, batch);
  await untilRun(first);
  giveRole(second, first);
  await untilRun(second);
  first.answer!({ json: { results: [{ orderId: 'ord_1' }, refused] } });
  const whole = { json: { results: [{ orderId: 'ord_1' }, { orderId: 'ord_2' }] } };
  second.answer!(whole);
  expect(await answered).toEqual(whole);
});

it('shows a reader of Redis nothing of a call', async () => {
  const [holder, caller] = [gateway(), gateway()];
  giveRole(holder);
  const answered = caller.handOver.hand(tradeBuyEndpoint, call);
  await untilRun(holder);
  holder.answer!({ error: 'INSUFFICIENT_BALANCE', message: 'the-secret-balance' });
  await answered;
  const stored = Buffer.concat(exchange.everPut).toString('latin1');
  for (const text of ['secret', 'tradeBuy', 'keyId', 'error']) expect(stored).not.toContain(text);
});

it('refuses a record that was changed, is for another mailbox, has expired, or has another seal', () => {
  let nowMs = 0;
  const clock = { wallMs: () => nowMs };
  const seal = new RecordSeal(testSealKey, clock);
  const content = { id: 'id', fence: 1, answer: placed };
  const record = sealRecord(seal, 'handed answer', 'mailbox', 10_000, content);
  expect(openRecord(seal, 'handed answer', 'mailbox', record)).toEqual(content);
  const changed = Buffer.from(record);
  changed[changed.length - 1]! ^= 1;
  expect(openRecord(seal, 'handed answer', 'mailbox', changed)).toBeNull();
  expect(openRecord(seal, 'handed answer', 'other mailbox', record)).toBeNull();
  expect(openRecord(seal, 'handed call', 'mailbox', record)).toBeNull();
  expect(openRecord(new RecordSeal(new Uint8Array(32), clock), 'handed answer', 'mailbox', record)).toBeNull();
  for (const size of [0, 1, 38, 54]) expect(openRecord(seal, 'handed answer', 'mailbox', record.subarray(0, size))).toBeNull();
  nowMs = 20_000;
  expect(openRecord(seal, 'handed answer', 'mailbox', record)).toBeNull();
});
