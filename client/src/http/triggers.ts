import { is, isCount, isText, newKey } from './expected.ts';
import type { Request, RequestOptions } from './requests.ts';
import type { CancelledTriggers, CancelTriggersQuery, TriggerBody, TriggerObject, TriggerPage, TriggersQuery } from '../wire.ts';

/** Options of a request that the gateway runs once for each key. */
export interface OnceOptions extends RequestOptions {
  /** The same key and body arm the same trigger for 24 hours. By default each call creates a new key. */
  readonly idempotencyKey?: string;
}

interface Sender {
  readonly once: <T>(request: Request, options: OnceOptions) => Promise<T>;
  readonly any: <T>(request: Request, options: RequestOptions) => Promise<T>;
}

const path = '/api/trade/triggers';
const pathOf = (id: string): string => `${path}/${encodeURIComponent(id)}`;

/** Orders that wait for a condition on the server: `sluice.triggers`. The channel `orders` reports their changes. */
export class Triggers {
  readonly #send: Sender;

  constructor(send: Sender) {
    this.#send = send;
  }

  /** Arms a trigger, with those in its `then`. */
  arm(body: TriggerBody, options: OnceOptions = {}): Promise<TriggerObject> {
    const { publicKey, side } = body;
    const expected = { triggerId: isText, status: isText, side: is(side), publicKey: is(publicKey) };
    return this.#send.once({ method: 'POST', path, body, idempotencyKey: newKey(), expected }, options);
  }

  /** The state of a trigger. */
  get(id: string, options: RequestOptions = {}): Promise<TriggerObject> {
    return this.#send.any({ method: 'GET', path: pathOf(id), expected: { triggerId: is(id), status: isText } }, options);
  }

  /** The key's triggers, newest first. `before`: `next` of the page before. */
  list(query: TriggersQuery = {}, options: RequestOptions = {}): Promise<TriggerPage> {
    return this.#send.any({ method: 'GET', path, query: { ...query }, expected: { triggers: Array.isArray } }, options);
  }

  /** Cancels a trigger. The answer is the trigger after the call. A trigger that has fired stays `fired`. */
  cancel(id: string, options: RequestOptions = {}): Promise<TriggerObject> {
    return this.#send.any({ method: 'DELETE', path: pathOf(id), expected: { triggerId: is(id), status: isText } }, options);
  }

  /** Cancels all triggers that match every given filter; without one, all. */
  cancelAll(query: CancelTriggersQuery = {}, options: RequestOptions = {}): Promise<CancelledTriggers> {
    const expected = { cancelled: isCount, firing: isCount };
    return this.#send.any({ method: 'DELETE', path, query: { ...query }, expected }, options);
  }
}
