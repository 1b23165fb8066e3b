import { randomUUID } from 'node:crypto';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Lease } from '@sluice/shared/bus/bus.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import type { RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import type { OrderAnswer, OrderCall } from '../order-call.ts';
import type { Mailboxes } from './mailboxes.ts';
import { openRecord, sealRecord, type HandedAnswer, type HandedCall } from './handed-record.ts';
import { PendingCall, tooManyWait } from './pending-call.ts';

/** Calls that are remembered. The oldest is forgotten first. */
const maxCalls = 20_000;

/** Calls that this gateway ran, by id, so that a call that arrives again is not run again. */
class AnsweredCalls {
  readonly #calls = new Map<string, { readonly endsAtMs: number; answer: OrderAnswer | null }>();

  has(id: string): boolean {
    return this.#calls.has(id);
  }

  /** The answer of a call; null as long as it runs, and for an unknown call. */
  answerTo(id: string): OrderAnswer | null {
    return this.#calls.get(id)?.answer ?? null;
  }

  /** Remembers a call that begins, until the time given. */
  begin(id: string, endsAtMs: number, nowMs: number): void {
    for (const [oldest, { endsAtMs: endMs }] of this.#calls) {
      if (endMs > nowMs && this.#calls.size < maxCalls) break;
      this.#calls.delete(oldest);
    }
    this.#calls.set(id, { endsAtMs, answer: null });
  }

  end(id: string, answer: OrderAnswer): void {
    const call = this.#calls.get(id);
    if (call !== undefined) call.answer = answer;
  }
}

/** How long a caller waits for an answer, takeovers included. */
const answerWithinMs = 10_000;
/** A call without an answer is sent again this often. The receiver runs it once. */
const sendEveryMs = 250;
/** A call that found no holder looks for one again after this time. */
const findEveryMs = 100;
/** Answers, and ids of calls, are valid and remembered this long: longer than any copy of a call is accepted. */
const rememberMs = 30_000;
/** Calls of other gateways that run here at one time. Further ones wait in Redis. */
const maxRunning = 512;
/** Calls of this gateway that wait for another gateway. One more is refused. */
const maxPending = 1_000;
const takeWithinS = 1;
const afterFaultMs = 200;
/** Wakes the loop that waits for records. Not sealed, because it says nothing. */
const wakeRecord = Buffer.alloc(0);

export interface HandOverOptions {
  readonly mailboxes: Mailboxes;
  readonly seal: RecordSeal;
  readonly lease: Pick<Lease, 'name' | 'held' | 'fence'>;
  /** Runs a call on this gateway, which holds the role. */
  readonly run: (endpoint: string, call: OrderCall) => Promise<OrderAnswer>;
  readonly log: Logger;
}

/**
 * Hands calls to the gateway that holds the trading role, and runs those of other gateways while this one holds it. A call that may spend
 * always has an `Idempotency-Key` here, the client's or one made for the call. So a call can be sent again, also to the next holder of the
 * role: the store admits one order for a key.
 */
export class HandOver {
  /** Calls handed to another gateway, calls of others that ran here, and calls handed over that got no certain answer in time. */
  readonly counters = { out: 0, in: 0, unanswered: 0 };
  readonly #options: HandOverOptions;
  /** The mailbox of the answers to this gateway. */
  readonly #answers: string;
  readonly #pending = new Map<string, PendingCall>();
  readonly #answered = new AnsweredCalls();
  readonly #closing = new AbortController();
  readonly #loop: Promise<void>;
  /** Fence of the role's current term; 0 if none is known. */
  #leaseTerm = 0;
  #running = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: HandOverOptions) {
    this.#options = options;
    this.#answers = options.mailboxes.answersOf(randomUUID());
    this.#loop = this.#takeRecords();
  }

  /** Hands a call over, and returns its answer. Never rejects. */
  async hand(spec: EndpointSpec, call: OrderCall): Promise<OrderAnswer> {
    if (this.#pending.size >= maxPending) return tooManyWait;
    const id = randomUUID();
    const maySpend = spec.access === 'trade' && spec.method === 'POST';
    const ownKey = maySpend && call.idempotencyKey === null ? `handed-over-${id}` : null;
    const idempotencyKey = call.idempotencyKey ?? ownKey;
    const handed: HandedCall = { id, replyTo: this.#answers, endpoint: spec.id, call: { ...call, idempotencyKey } };
    this.counters.out++;
    const pending = new PendingCall(handed, maySpend);
    this.#pending.set(id, pending);
    void this.#send(pending);
    const { answer, isCertain } = await pending.answer;
    this.#pending.delete(id);
    if (!isCertain) this.counters.unanswered++;
    return ownKey === null ? answer : withoutReplay(answer);
  }

  /** To be called when the lease has changed. A new holder runs the calls of its own clients that wait for an answer. */
  roleChanged(): void {
    const { mailboxes, lease } = this.#options;
    void mailboxes.putAnswer(this.#answers, wakeRecord).catch(() => undefined);
    if (!lease.held) return;
    this.#leaseTerm = lease.fence;
    for (const pending of this.#pending.values()) {
      if (this.#answered.has(pending.handed.id)) continue;
      this.#begin(pending.handed);
      void this.#runHere(pending, lease.fence);
    }
  }

  /** Finishes the calls that run here. The lease is closed before, so that no further one arrives. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#running > 0) {
      const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
      const waited = new AbortController();
      await Promise.race([idle, pause(answerWithinMs, waited.signal, { ref: false })]);
      waited.abort();
    }
    this.#options.mailboxes.close();
    await this.#loop;
  }

  /** Runs a call of an own client. */
  async #runHere(pending: PendingCall, fence: number): Promise<void> {
    pending.sentTo(fence);
    pending.answered(fence, await this.#run(pending.handed));
    this.#end();
  }

  /** Sends a call to the current holder until it is answered, or until its time is over. */
  async #send(pending: PendingCall): Promise<void> {
    const endsAtMs = performance.now() + answerWithinMs;
    const expiryMs = this.#options.seal.expiryAfter(answerWithinMs);
    for (let isFirst = true; !pending.signal.aborted && performance.now() < endsAtMs; isFirst = false) {
      const isPut = await this.#putCall(pending, expiryMs);
      if (isPut === 'full' && isFirst) return pending.resolve(tooManyWait);
      await pause(isPut === 'nobody' ? findEveryMs : sendEveryMs, pending.signal, { ref: false });
    }
    pending.expire();
  }

  async #putCall(pending: PendingCall, expiryMs: number): Promise<'put' | 'full' | 'nobody'> {
    const { mailboxes, seal, log } = this.#options;
    try {
      // The first attempt returns the current fence, and the second one uses it. If the role has moved again, the next round finds it.
      for (let turn = 0; turn < 2; turn++) {
        const fence = this.#leaseTerm;
        const record = sealRecord(seal, 'handed call', mailboxes.callsOf(fence), expiryMs, pending.handed);
        const isNew = pending.sentTo(fence);
        const outcome = await mailboxes.putCall(fence, record);
        if (outcome.kind === 'put') return 'put';
        if (isNew) pending.notSentTo(fence);
        if (outcome.kind === 'full') return 'full';
        this.#leaseTerm = outcome.fence;
        if (outcome.fence === 0) break;
      }
    } catch (error) {
      // It is unknown whether the call was put, so this holder may still run it.
      log.warn({ err: error, endpoint: pending.handed.endpoint }, 'order_not_handed_over');
    }
    return 'nobody';
  }

  async #takeRecords(): Promise<void> {
    const { mailboxes, lease, log } = this.#options;
    const { signal } = this.#closing;
    let failing = false;
    while (!signal.aborted) {
      try {
        // A former holder still reads its mailbox, to answer that it does not run these calls.
        const mayTake = lease.fence > 0 && this.#running < maxRunning;
        const taken = await mailboxes.take(mayTake ? [this.#answers, mailboxes.callsOf(lease.fence)] : [this.#answers], takeWithinS);
        failing = false;
        if (taken === null || taken.record.length === 0) continue;
        if (taken.mailbox === this.#answers) this.#takeAnswer(taken.record);
        else void this.#takeCall(taken.mailbox, taken.record, lease.fence);
      } catch (error) {
        if (signal.aborted) return;
        if (!failing) log.warn({ err: error }, 'handed_orders_not_read');
        failing = true;
        await pause(afterFaultMs, signal, { ref: false });
      }
    }
  }

  #takeAnswer(record: Buffer): void {
    const opened = openRecord(this.#options.seal, 'handed answer', this.#answers, record);
    if (opened !== null) this.#pending.get(opened.id)?.answered(opened.fence, opened.answer);
  }

  async #takeCall(mailbox: string, record: Buffer, fence: number): Promise<void> {
    const { mailboxes, seal, lease } = this.#options;
    const handed = openRecord(seal, 'handed call', mailbox, record);
    if (handed === null) return;
    if (this.#answered.has(handed.id)) {
      const answer = this.#answered.answerTo(handed.id);
      if (answer !== null) await this.#reply(handed, fence, answer);
      return;
    }
    // Another gateway may hold the role: the caller sends its call to that one.
    if (!lease.held || mailboxes.callsOf(lease.fence) !== mailbox) {
      return this.#reply(handed, fence, null);
    }
    this.#begin(handed);
    this.counters.in++;
    const answer = await this.#run(handed);
    this.#answered.end(handed.id, answer);
    await this.#reply(handed, fence, answer);
    this.#end();
  }

  #begin({ id }: HandedCall): void {
    const nowMs = performance.now();
    this.#answered.begin(id, nowMs + rememberMs, nowMs);
    this.#running++;
  }

  #end(): void {
    this.#running--;
    if (this.#running === 0) this.#onIdle?.();
  }

  async #run({ endpoint, call }: HandedCall): Promise<OrderAnswer> {
    try {
      return await this.#options.run(endpoint, call);
    } catch (error) {
      this.#options.log.error({ err: error, endpoint }, 'handed_order_failed');
      return { error: 'INTERNAL' };
    }
  }

  /** A lost answer is asked for again: the caller sends its call once more. */
  async #reply({ id, replyTo, endpoint }: HandedCall, fence: number, answer: HandedAnswer['answer']): Promise<void> {
    const { mailboxes, seal, log } = this.#options;
    const record = sealRecord(seal, 'handed answer', replyTo, seal.expiryAfter(rememberMs), { id, fence, answer });
    await mailboxes.putAnswer(replyTo, record).catch((error: unknown) => log.warn({ err: error, endpoint }, 'handed_order_not_answered'));
  }
}

/** Removes the mark of a replay: for a client that sent no `Idempotency-Key`, the answer is the first one. */
function withoutReplay(answer: OrderAnswer): OrderAnswer {
  return 'json' in answer ? { json: answer.json } : answer;
}
