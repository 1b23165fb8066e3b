import { WebSocket, type RawData } from 'ws';
import type { Logger } from '../../log/log.ts';
import { isRecord, isSlot } from '../json-forms.ts';
import { newestPossibleSlot } from '../newest-slot.ts';
import type { Subscription } from './subscription.ts';

/** Longest frame taken. Logs end at 10,000 bytes and curve and pool accounts are smaller; the socket of a longer frame is given up. */
const maxFrameBytes = 4 * 1024 * 1024;
/** From opening the connection to the answers of all required subscriptions. */
const settleWithinMs = 10_000;
/** Longest time between two slots, at 200 to 400 ms a slot, before the endpoint counts as stalled. */
const slotSilenceMs = 3_000;
/** The same for an endpoint that does not tell slots: any notification counts. */
const anySilenceMs = 10_000;
const watchEveryMs = 250;
/** Slots by which a fork may lie behind another; what is told further back says that the newer slot was none. */
const maxForkSlots = 512;
/** Idle proxies close what is silent for a minute. */
const pingEveryMs = 20_000;
const firstBackoffMs = 200;
const maxBackoffMs = 10_000;
/** A connection that held this long begins the backoff anew. */
const stableAfterMs = 10_000;
/** Refused subscriptions of one connection that are logged; all are counted. */
const maxLoggedRefusals = 5;

export type EndpointState = 'down' | 'up' | 'lagging';

export interface SlotTold {
  readonly slot: number;
  /** Null where it was not told in the documented form. */
  readonly parent: number | null;
}

export interface SocketHandlers {
  /** True where the frame was understood without parsing it and is done with. */
  takeFrame?(frame: Buffer, receivedUs: number): boolean;
  /** A notification of one of the subscriptions; `subscription` is null where the endpoint told an id it never gave. */
  onNotification(method: string, params: unknown, receivedUs: number, subscription: Subscription | null): void;
  onSlot(told: SlotTold): void;
  /** From here on the endpoint tells what it changes. */
  onSubscribed?(subscription: Subscription): void;
  /** Nothing is told any more, until it is connected and subscribed anew. */
  onDown?(): void;
}

export interface SocketCounts {
  frames: number;
  malformedFrames: number;
  connects: number;
  /** Times that it was given up because it told no slot for too long. */
  silences: number;
  refusedSubscriptions: number;
}

export interface RpcSocketOptions {
  readonly url: string;
  /** Number of the endpoint in the settings; the URL may carry a key and is not logged. */
  readonly index: number;
  readonly subscriptions: readonly Subscription[];
  readonly handlers: SocketHandlers;
  /** Wall clock in microseconds, by which notifications are stamped. */
  readonly nowUs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * One endpoint of Solana's PubSub: connects, subscribes, and watches the slots go by. An endpoint that closes, refuses a
 * required subscription or falls silent is connected anew with growing, jittered pauses, and all subscriptions with it.
 */
export class RpcSocket {
  readonly index: number;
  readonly counts: SocketCounts = { frames: 0, malformedFrames: 0, connects: 0, silences: 0, refusedSubscriptions: 0 };
  /** The newest slot told; on a new connection, and where the old one was none, the first from then on. */
  slot = 0;
  #state: EndpointState = 'down';
  readonly #options: RpcSocketOptions;
  /** All that are wanted, by name; each connection begins with them. */
  readonly #wanted: Map<string, Subscription>;
  #socket: WebSocket | null = null;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #openedAtMs = 0;
  /** 0 before the first slot of the connection. */
  #lastSlotAtMs = 0;
  /** When the endpoint agreed to tell slots on this connection; 0 where it did not. */
  #slotsSinceMs = 0;
  #lastNotificationAtMs = 0;
  #lastPingAtMs = 0;
  #settled = false;
  #lastRequestId = 0;
  #loggedRefusals = 0;
  /** Request id -> subscription not yet answered. */
  readonly #pending = new Map<number, Subscription>();
  /** Id that the endpoint gave -> subscription. */
  readonly #active = new Map<number, Subscription>();
  /** Request ids of subscriptions that are being ended. */
  readonly #ending = new Set<number>();

  constructor(options: RpcSocketOptions) {
    this.#options = options;
    this.index = options.index;
    this.#wanted = new Map(options.subscriptions.map((subscription) => [subscription.name, subscription]));
    options.signal.addEventListener('abort', () => this.close(), { once: true });
  }

  get state(): EndpointState {
    return this.#state;
  }

  start(): void {
    if (!this.#options.signal.aborted) this.#connect();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#detach();
  }

  /** Subscribes now, and on every connection from now on. Its name must stand for the same method and params every time. */
  subscribe(subscription: Subscription): void {
    const { name } = subscription;
    this.#wanted.set(name, subscription);
    // Nodes give equal subscriptions one id: asked for twice and ended once, both would be gone.
    const isAsked = [...this.#pending.values(), ...this.#active.values()].some((asked) => asked.name === name);
    if (!isAsked && this.#socket?.readyState === WebSocket.OPEN) this.#ask(this.#socket, subscription);
  }

  unsubscribe({ name }: Subscription): void {
    this.#wanted.delete(name);
    for (const [id, subscription] of this.#active) if (subscription.name === name) this.#end(id, subscription);
  }

  /** Logged once a change. */
  setState(state: EndpointState, reason: string): void {
    if (state === this.#state) return;
    this.#state = state;
    const level = state === 'up' ? 'info' : 'warn';
    this.#options.log[level]({ endpoint: this.index, state, reason }, 'endpoint_state');
  }

  #connect(): void {
    this.counts.connects++;
    this.#settled = false;
    this.#pending.clear();
    this.#active.clear();
    this.#ending.clear();
    this.#loggedRefusals = 0;
    this.#lastSlotAtMs = this.#slotsSinceMs = 0;
    this.#openedAtMs = this.#lastNotificationAtMs = this.#lastPingAtMs = performance.now();
    let socket: WebSocket;
    try {
      socket = new WebSocket(this.#options.url, {
        maxPayload: maxFrameBytes,
        perMessageDeflate: false,
        handshakeTimeout: settleWithinMs,
        followRedirects: false,
      });
    } catch (error) {
      this.#options.log.warn({ endpoint: this.index, err: error }, 'endpoint_address_refused');
      this.#retry('address');
      return;
    }
    this.#socket = socket;
    socket.on('open', () => this.#subscribe(socket));
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary));
    socket.on('error', (error) => this.#onFault(socket, error.message));
    socket.on('close', (code) => this.#onFault(socket, `closed with ${code}`));
    this.#timer = setTimeout(() => this.#watch(), watchEveryMs);
  }

  #subscribe(socket: WebSocket): void {
    for (const subscription of this.#wanted.values()) this.#ask(socket, subscription);
  }

  #ask(socket: WebSocket, subscription: Subscription): void {
    const id = ++this.#lastRequestId;
    this.#pending.set(id, subscription);
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: subscription.method, params: subscription.params }));
  }

  /** Ends a subscription under the id that the endpoint gave it; the answer is of no interest. */
  #end(subscriptionId: number, { method }: Subscription): void {
    this.#active.delete(subscriptionId);
    const id = ++this.#lastRequestId;
    this.#ending.add(id);
    const ending = method.replace(/Subscribe$/, 'Unsubscribe');
    this.#socket?.send(JSON.stringify({ jsonrpc: '2.0', id, method: ending, params: [subscriptionId] }));
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    const receivedUs = this.#options.nowUs();
    this.counts.frames++;
    const frame = data as Buffer; // the client's default binaryType is nodebuffer
    if (!isBinary && this.#options.handlers.takeFrame?.(frame, receivedUs) === true) {
      this.#lastNotificationAtMs = performance.now();
      return;
    }
    let message: unknown;
    try {
      message = isBinary ? null : JSON.parse(frame.toString());
    } catch {
      message = null; // counted with all else that is no JSON-RPC message
    }
    if (!isRecord(message)) {
      this.counts.malformedFrames++;
      return;
    }
    if (typeof message['method'] === 'string') this.#onNotification(message['method'], message['params'], receivedUs);
    else if (typeof message['id'] === 'number') this.#onReply(message['id'], message);
    else this.counts.malformedFrames++;
  }

  #onNotification(method: string, params: unknown, receivedUs: number): void {
    this.#lastNotificationAtMs = performance.now();
    if (method === 'slotNotification') {
      const told = isRecord(params) && isRecord(params['result']) ? params['result'] : {};
      const { slot, parent } = told;
      if (!isSlot(slot) || slot > newestPossibleSlot(Date.now())) {
        this.counts.malformedFrames++;
        return;
      }
      if (slot > this.slot || this.slot - slot > maxForkSlots || this.#lastSlotAtMs === 0) this.slot = slot;
      this.#lastSlotAtMs = this.#lastNotificationAtMs;
      this.#options.handlers.onSlot({ slot, parent: isSlot(parent) && parent < slot ? parent : null });
      return;
    }
    const id = isRecord(params) ? params['subscription'] : undefined;
    this.#options.handlers.onNotification(method, params, receivedUs, (typeof id === 'number' ? this.#active.get(id) : undefined) ?? null);
  }

  #onReply(id: number, message: Record<string, unknown>): void {
    const subscription = this.#pending.get(id);
    if (subscription === undefined) {
      if (this.#ending.delete(id)) return;
      this.counts.malformedFrames++;
      return;
    }
    this.#pending.delete(id);
    const subscriptionId = message['result'];
    if (typeof subscriptionId === 'number') this.#begin(subscriptionId, subscription);
    else {
      this.counts.refusedSubscriptions++;
      if (this.#loggedRefusals++ < maxLoggedRefusals) {
        const error = isRecord(message['error']) ? { code: message['error']['code'], message: message['error']['message'] } : null;
        this.#options.log.warn({ endpoint: this.index, subscription: subscription.name, error }, 'subscription_refused');
      }
      if (subscription.required) {
        this.#abandon('a required subscription was refused');
        return;
      }
    }
    if (this.#requiredPending() === 0 && !this.#settled) {
      this.#settled = true;
      this.setState('up', 'subscribed');
    }
  }

  #begin(subscriptionId: number, subscription: Subscription): void {
    this.#active.set(subscriptionId, subscription);
    if (subscription.method === 'slotSubscribe') this.#slotsSinceMs = performance.now();
    // It may have been given up meanwhile.
    if (this.#wanted.has(subscription.name)) this.#options.handlers.onSubscribed?.(subscription);
    else this.#end(subscriptionId, subscription);
  }

  #requiredPending(): number {
    let count = 0;
    for (const subscription of this.#pending.values()) if (subscription.required) count++;
    return count;
  }

  #watch(): void {
    const nowMs = performance.now();
    const sinceMs = Math.max(this.#lastSlotAtMs, this.#slotsSinceMs);
    const silentMs = sinceMs === 0 ? nowMs - this.#lastNotificationAtMs - (anySilenceMs - slotSilenceMs) : nowMs - sinceMs;
    if (!this.#settled && nowMs - this.#openedAtMs > settleWithinMs) this.#abandon('no answer to the subscriptions');
    else if (this.#settled && silentMs > slotSilenceMs) {
      this.counts.silences++;
      this.#abandon('no slot');
    } else {
      if (this.#settled && nowMs - this.#openedAtMs > stableAfterMs) this.#failures = 0;
      if (nowMs - this.#lastPingAtMs > pingEveryMs && this.#socket?.readyState === WebSocket.OPEN) {
        this.#lastPingAtMs = nowMs;
        this.#socket.ping();
      }
      this.#timer = setTimeout(() => this.#watch(), watchEveryMs);
    }
  }

  #onFault(socket: WebSocket, reason: string): void {
    if (socket === this.#socket) this.#abandon(reason);
  }

  #abandon(reason: string): void {
    this.setState('down', reason);
    this.#options.handlers.onDown?.();
    this.#detach();
    this.#retry(reason);
  }

  /** Drops the connection without waiting for its peer; nothing of it is heard any more. */
  #detach(): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.removeAllListeners();
    // A socket torn down while connecting still reports that once.
    socket.on('error', () => this.#pending.clear());
    socket.terminate();
  }

  #retry(reason: string): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#options.signal.aborted) return;
    const ceilingMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(this.#failures, 16));
    this.#failures++;
    const pauseMs = ceilingMs / 2 + Math.random() * (ceilingMs / 2);
    this.#options.log.debug({ endpoint: this.index, reason, pauseMs: Math.round(pauseMs) }, 'endpoint_retry');
    this.#timer = setTimeout(() => this.#connect(), pauseMs);
  }
}
