import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { encodeAnswer, parseJson, readCall, type RpcCall } from '../dispatch.ts';
import { Params } from '../params.ts';
import { answer, fault, invalidParams, rpcCodes, type RpcResult } from '../rpc-fault.ts';
import type { Delivery } from './delivery.ts';
import type { Hub, Outlet } from './hub.ts';
import { isUnsubscribe, readSubscription, type SubscriptionKind } from './subscription.ts';

/** Subscriptions of one connection; one more is refused with -32603. */
export const maxSubscriptions = 10_000;
/** Bytes that wait for a slow reader. With more, the connection is cut. */
const maxSendBufferBytes = 64 * 1024 * 1024;
/** Bytes of one message from a client; a longer one closes the connection with 1009. */
export const maxMessageBytes = 64 * 1024;

/** One PubSub connection: its subscriptions, and its socket. */
export class Connection implements Outlet {
  private readonly socket: WebSocket;
  private readonly stream: Duplex;
  private readonly hub: Hub;
  private readonly delivery: Delivery;
  private readonly onSlowReader: () => void;
  private readonly subscriptions = new Set<number>();

  constructor(socket: WebSocket, stream: Duplex, hub: Hub, delivery: Delivery, onSlowReader: () => void) {
    this.socket = socket;
    this.stream = stream;
    this.hub = hub;
    this.delivery = delivery;
    this.onSlowReader = onSlowReader;
    socket.on('message', (data) => this.received(data));
    socket.on('close', () => this.closed());
    // The socket closes after an error, and the close is handled.
    socket.on('error', () => socket.terminate());
  }

  get bufferedBytes(): number {
    return this.socket.bufferedAmount;
  }

  notify(frame: Buffer, kind: SubscriptionKind): void {
    this.delivery.deliver(this, frame, kind);
  }

  /** Writes a frame to the socket, or cuts a reader that is too slow. */
  write(frame: Buffer | string): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    if (this.socket.bufferedAmount > maxSendBufferBytes) {
      this.onSlowReader();
      this.socket.terminate();
      return;
    }
    this.socket.send(frame, { binary: false });
  }

  cork(): void {
    this.stream.cork();
  }

  uncork(): void {
    this.stream.uncork();
  }

  ended(id: number): void {
    this.subscriptions.delete(id);
  }

  cut(): void {
    this.socket.terminate();
  }

  private closed(): void {
    for (const id of this.subscriptions) this.hub.unsubscribe(id, this);
    this.subscriptions.clear();
    this.delivery.forget(this);
  }

  private received(data: RawData): void {
    const text = Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.concat(data as readonly Buffer[]).toString('utf8');
    const parsed = parseJson(text);
    if (!parsed.ok) {
      this.write(encodeAnswer(null, parsed));
      return;
    }
    if (!Array.isArray(parsed.value)) {
      const reply = this.answerOne(parsed.value);
      if (reply !== null) this.write(reply);
      return;
    }
    const replies = parsed.value.map((item: unknown) => this.answerOne(item)).filter((reply) => reply !== null);
    if (parsed.value.length === 0) this.write(encodeAnswer(null, fault(rpcCodes.invalidRequest, 'Invalid request')));
    else if (replies.length > 0) this.write(`[${replies.join(',')}]`);
  }

  private answerOne(value: unknown): string | null {
    const call = readCall(value);
    if ('fault' in call) return encodeAnswer(call.id, call.fault);
    const result = this.run(call);
    return call.id === undefined ? null : encodeAnswer(call.id, result);
  }

  private run(call: RpcCall): RpcResult {
    const params = new Params(call.params);
    if (isUnsubscribe(call.method)) return this.unsubscribe(params);
    const subscription = readSubscription(call.method, params);
    if (subscription === null) return fault(rpcCodes.methodNotFound, 'Method not found');
    if (params.fault !== null) return params.fault;
    if (this.subscriptions.size >= maxSubscriptions) return fault(rpcCodes.internal, `Too many subscriptions; max ${maxSubscriptions}`);
    const id = this.hub.subscribe(subscription, this);
    this.subscriptions.add(id);
    return answer(id);
  }

  private unsubscribe(params: Params): RpcResult {
    const id = params.uint(0);
    if (params.fault !== null) return params.fault;
    if (!this.subscriptions.delete(id)) return invalidParams('Invalid subscription id.');
    this.hub.unsubscribe(id, this);
    return answer(true);
  }
}
