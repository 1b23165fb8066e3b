import { WebSocket } from 'ws';
import { Arrivals } from '../../runtime/collections/arrivals.ts';
import { systemClock, type Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/log/log.ts';
import { isTooDeep } from '../rpc/answers/nesting.ts';
import { nodeTextOf, shownHost } from '../rpc/answers/node-text.ts';
import { isRecord, isSlot } from '../encoding/json-forms.ts';
import { newestPossibleSlot } from '../newest-slot.ts';
import { FrameFaults, type FrameAllowance, type FrameFault } from './frame-faults.ts';
import { maxFrameDepth, methodAtHead, parseFrame } from './frame-shape.ts';
import { SubscriptionIds } from './subscription-ids.ts';
import { longestFrameBytes, maxFrameBytes, shortFrameBytes, type Subscription } from './subscription.ts';

/** Time from opening the connection until all required subscriptions are confirmed. */
const firstAnswerWithinMs = 10_000;
/** Longest time between two slots, at about 200 ms a slot, before the endpoint is treated as stalled. */
const slotSilenceMs = 3_000;
/** The same for an endpoint that does not report slots: any notification counts. */
const anySilenceMs = 10_000;
const watchEveryMs = 250;
/** A check for silence that runs this late is skipped: the process was suspended or busy, and may not have read the frames that arrived. */
const maxLateMs = 1_000;
/** How many slots a fork may be behind another one. If an endpoint reports a slot further back, the newer slot was wrong. */
const maxForkSlots = 512;
/** Proxies close a connection that is idle for a minute. */
const pingEveryMs = 20_000;
const firstBackoffMs = 200;
const maxBackoffMs = 10_000;
/** A connection that lasted this long resets the backoff. */
const stableAfterMs = 10_000;
/** Refused subscriptions of one connection that are logged; all are counted. */
const maxLoggedRefusals = 5;
/** Unsent bytes of pongs and requests, for an endpoint that does not read. */
const maxUnreadBytes = 1024 * 1024;

export type EndpointState = 'down' | 'up' | 'lagging';

export interface ReportedSlot {
  readonly slot: number;
  /** Null if it was not reported in the documented form. */
  readonly parent: number | null;
}

/** A frame as it arrived. */
export interface ReceivedFrame {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
  readonly receivedUs: number;
}

export interface SocketHandlers {
  /** Frames wait for their turn, and this one may be read before all that wait. Without this method, frames are read when they arrive. */
  mayOvertake?(frame: ReceivedFrame, waiting: readonly ReceivedFrame[]): boolean;
  /** Returns true if it handled the frame without parsing it. */
  takeFrame?(frame: Buffer, receivedUs: number): boolean;
  /** A notification of a subscription. `subscription` is null if the endpoint used an id that it never returned. */
  onNotification(method: string, params: unknown, receivedUs: number, subscription: Subscription | null): void;
  onSlot(reported: ReportedSlot): void;
  /** From here on the endpoint reports changes of this subscription. */
  onSubscribed?(subscription: Subscription): void;
  /** The connection is lost. Nothing is reported until the socket has connected and subscribed again. */
  onDown?(): void;
}

export interface SocketCounts {
  frames: number;
  malformedFrames: number;
  connects: number;
  /** Times that the connection was closed because it reported no slot for too long. */
  silences: number;
  refusedSubscriptions: number;
  /** All faults, see `FrameFault`. */
  faults: number;
  /** Times that the endpoint was dropped for its faults, and not used for a while. */
  drops: number;
}

export interface RpcSocketOptions {
  readonly url: string;
  /** Number of the endpoint in the settings. The URL may contain a key and is not logged. */
  readonly index: number;
  readonly subscriptions: readonly Subscription[];
  /** Methods of subscriptions that are added later. */
  readonly laterMethods?: readonly string[];
  /** Null: unlimited. */
  readonly allowance?: FrameAllowance | null;
  readonly handlers: SocketHandlers;
  /** Wall clock in microseconds, for the time of receipt of notifications. */
  readonly nowUs: () => number;
  readonly clock?: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * The connection to one PubSub endpoint of Solana: connects, subscribes, and monitors the slots. If the endpoint closes, does not
 * accept a required subscription in time, falls silent or sends invalid frames, the socket connects and subscribes again, after growing
 * pauses with jitter.
 */
export class RpcSocket {
  readonly index: number;
  readonly counts: SocketCounts = { frames: 0, malformedFrames: 0, connects: 0, silences: 0, refusedSubscriptions: 0, faults: 0, drops: 0 };
  /** The newest reported slot. The first slot of a new connection replaces it, and so does one that is more than `maxForkSlots` lower. */
  slot = 0;
  #state: EndpointState = 'down';
  readonly #options: RpcSocketOptions;
  readonly #clock: Clock;
  readonly #textOf: (text: string) => string;
  readonly #faults: FrameFaults;
  readonly #maxFrameBytes: number;
  /** All requested subscriptions, by name. Each connection starts with them. */
  readonly #requested: Map<string, Subscription>;
  #socket: WebSocket | null = null;
  #cancelTimer: (() => void) | null = null;
  /** When the next check for silence is due. */
  #watchAtMs = 0;
  #failures = 0;
  #openedAtMs = 0;
  /** 0 before the first slot of the connection. */
  #lastSlotAtMs = 0;
  /** When the endpoint confirmed the slot subscription on this connection; 0 if it did not. */
  #slotsSinceMs = 0;
  #lastNotificationAtMs = 0;
  #lastPingAtMs = 0;
  #settled = false;
  #loggedRefusals = 0;
  readonly #ids = new SubscriptionIds();

  constructor(options: RpcSocketOptions) {
    this.#options = options;
    this.#textOf = nodeTextOf(options.url);
    this.#clock = options.clock ?? systemClock;
    this.index = options.index;
    this.#faults = new FrameFaults(options.allowance ?? null);
    this.#maxFrameBytes = longestFrameBytes([...options.subscriptions.map(({ method }) => method), ...(options.laterMethods ?? [])]);
    this.#requested = new Map(options.subscriptions.map((subscription) => [subscription.name, subscription]));
    options.signal.addEventListener('abort', () => this.close(), { once: true });
  }

  get state(): EndpointState {
    return this.#state;
  }

  /** The part of its host name that may be shown. */
  get host(): string | null {
    return shownHost(this.#options.url);
  }

  start(): void {
    if (!this.#options.signal.aborted) this.#connect();
  }

  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#detach();
  }

  /** Subscribes now, and on every later connection. A name must always have the same method and params. */
  subscribe(subscription: Subscription): void {
    const { name } = subscription;
    this.#requested.set(name, subscription);
    // Nodes give equal subscriptions one id. If it were requested twice and ended once, both would end.
    if (!this.#ids.isAsked(name) && this.#socket?.readyState === WebSocket.OPEN) this.#ask(this.#socket, subscription);
  }

  unsubscribe({ name }: Subscription): void {
    this.#requested.delete(name);
    for (const [id, subscription] of this.#ids.active) if (subscription.name === name) this.#end(id, subscription);
  }

  /** Logs each change once. */
  setState(state: EndpointState, reason: string): void {
    if (state === this.#state) return;
    this.#state = state;
    const level = state === 'up' ? 'info' : 'warn';
    this.#options.log[level]({ endpoint: this.index + 1, state, reason }, 'endpoint_state');
  }

  #connect(): void {
    this.counts.connects++;
    this.#settled = false;
    this.#ids.clear();
    this.#loggedRefusals = 0;
    this.#lastSlotAtMs = this.#slotsSinceMs = 0;
    this.#openedAtMs = this.#lastNotificationAtMs = this.#lastPingAtMs = this.#clock.steadyMs();
    let socket: WebSocket;
    try {
      socket = new WebSocket(this.#options.url, {
        maxPayload: this.#maxFrameBytes,
        // The size of a compressed frame is unknown before it is unpacked. So compression is not offered, and a compressed frame is a
        // fault.
        perMessageDeflate: false,
        handshakeTimeout: firstAnswerWithinMs,
        followRedirects: false,
      });
    } catch (error) {
      this.#options.log.warn({ endpoint: this.index + 1, reason: this.#textOf(String(error)) }, 'endpoint_address_refused');
      this.#retry('address');
      return;
    }
    this.#socket = socket;
    socket.on('open', () => this.#subscribe(socket));
    const read = (frame: ReceivedFrame): void => this.#onFrame(socket, frame);
    const mayOvertake = this.#options.handlers.mayOvertake?.bind(this.#options.handlers);
    const arrivals = mayOvertake === undefined ? null : new Arrivals({ read, mayOvertake });
    socket.on('message', (data, isBinary) => {
      // The client's default binaryType is nodebuffer.
      const frame = { bytes: data as Buffer, isBinary, receivedUs: this.#options.nowUs() };
      if (arrivals === null) read(frame);
      else arrivals.push(frame);
    });
    for (const kind of ['ping', 'pong'] as const) socket.on(kind, () => this.#onControl());
    socket.on('error', (error) => this.#onError(socket, error));
    socket.on('close', (code) => {
      arrivals?.readRest();
      this.#onFault(socket, `closed with ${code}`);
    });
    this.#watchLater(this.#openedAtMs);
  }

  #subscribe(socket: WebSocket): void {
    for (const subscription of this.#requested.values()) this.#ask(socket, subscription);
  }

  #ask(socket: WebSocket, subscription: Subscription): void {
    const id = this.#ids.ask(subscription, this.#clock.steadyMs());
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: subscription.method, params: subscription.params }));
  }

  /** Ends a subscription by the endpoint's id for it. The answer is ignored. */
  #end(subscriptionId: number, { method }: Subscription): void {
    const id = this.#ids.end(subscriptionId);
    const ending = method.replace(/Subscribe$/, 'Unsubscribe');
    this.#socket?.send(JSON.stringify({ jsonrpc: '2.0', id, method: ending, params: [subscriptionId] }));
  }

  #onControl(): void {
    if (this.#faults.isControlFlood(this.#clock.steadyMs())) this.fault('flood');
  }

  #onFrame(socket: WebSocket, { bytes: frame, isBinary, receivedUs }: ReceivedFrame): void {
    if (socket !== this.#socket) return;
    this.counts.frames++;
    if (this.#faults.isFlood(frame.length, this.#clock.steadyMs())) return this.fault('flood');
    if (frame.length > shortFrameBytes && frame.length > this.#longest(methodAtHead(frame))) return this.fault('oversized');
    if (!isBinary && this.#options.handlers.takeFrame?.(frame, receivedUs) === true) {
      this.#lastNotificationAtMs = this.#clock.steadyMs();
      return;
    }
    if (isTooDeep(frame, maxFrameDepth)) return this.fault('deep');
    const message = isBinary ? null : parseFrame(frame);
    if (!isRecord(message)) return this.fault('malformed');
    const method = typeof message['method'] === 'string' ? message['method'] : null;
    if (frame.length > maxFrameBytes(method)) this.fault('oversized');
    else if (method !== null) this.#onNotification(method, message['params'], receivedUs);
    else if (typeof message['id'] === 'number') this.#onReply(message['id'], message);
    else this.fault('malformed');
  }

  /** The longest allowed frame before it is parsed. If its head does not show the method, the limit is that of the longest kind. */
  #longest(method: string | null): number {
    return method === null ? this.#maxFrameBytes : maxFrameBytes(method);
  }

  /** Counts an invalid frame. After a few of them the endpoint is dropped, and not used for a while. */
  fault(fault: FrameFault): void {
    this.counts.faults++;
    if (fault === 'malformed') this.counts.malformedFrames++;
    const nowMs = this.#clock.steadyMs();
    if (this.#socket === null || !this.#faults.note(fault, nowMs)) return;
    this.counts.drops++;
    const droppedForMs = this.#faults.drop(nowMs);
    this.#options.log.warn({ endpoint: this.index + 1, fault, droppedForMs }, 'endpoint_dropped');
    this.#abandon(`dropped: ${fault}`, droppedForMs);
  }

  #onNotification(method: string, params: unknown, receivedUs: number): void {
    this.#lastNotificationAtMs = this.#clock.steadyMs();
    if (method === 'slotNotification') {
      const result = isRecord(params) && isRecord(params['result']) ? params['result'] : {};
      const { slot, parent } = result;
      if (!isSlot(slot) || slot > newestPossibleSlot) return this.fault('malformed');
      if (slot > this.slot || this.slot - slot > maxForkSlots || this.#lastSlotAtMs === 0) this.slot = slot;
      this.#lastSlotAtMs = this.#lastNotificationAtMs;
      this.#options.handlers.onSlot({ slot, parent: isSlot(parent) && parent < slot ? parent : null });
      return;
    }
    const id = isRecord(params) ? params['subscription'] : undefined;
    const subscription = (typeof id === 'number' ? this.#ids.active.get(id) : undefined) ?? null;
    if (subscription === null) this.checkAsked(id);
    this.#options.handlers.onNotification(method, params, receivedUs, subscription);
  }

  /** Counts a notification with an unknown id as a fault. */
  checkAsked(id: unknown): void {
    if (!this.#ids.mayBeNotified(id, this.#clock.steadyMs())) this.fault('unasked');
  }

  #onReply(id: number, message: Record<string, unknown>): void {
    const subscription = this.#ids.takeReply(id);
    if (subscription === null) this.fault('malformed');
    if (subscription === null || subscription === 'ended') return;
    const subscriptionId = message['result'];
    if (typeof subscriptionId === 'number') this.#begin(subscriptionId, subscription);
    else {
      this.counts.refusedSubscriptions++;
      if (this.#loggedRefusals++ < maxLoggedRefusals) {
        this.#options.log.warn(
          { endpoint: this.index + 1, subscription: subscription.name, error: this.#loggedError(message) },
          'subscription_refused',
        );
      }
      if (subscription.required) return this.#abandon('a required subscription was refused');
    }
    if (!this.#settled && !this.#ids.isRequiredPending) {
      this.#settled = true;
      this.setState('up', 'subscribed');
    }
  }

  #begin(subscriptionId: number, subscription: Subscription): void {
    this.#ids.active.set(subscriptionId, subscription);
    if (subscription.method === 'slotSubscribe') this.#slotsSinceMs = this.#clock.steadyMs();
    // It may have been ended meanwhile.
    if (this.#requested.has(subscription.name)) this.#options.handlers.onSubscribed?.(subscription);
    else this.#end(subscriptionId, subscription);
  }

  #watchLater(nowMs: number): void {
    this.#watchAtMs = nowMs + watchEveryMs;
    this.#cancelTimer = this.#clock.after(watchEveryMs, () => this.#watch());
  }

  #watch(): void {
    const nowMs = this.#clock.steadyMs();
    if (nowMs - this.#watchAtMs > maxLateMs) return this.#watchLater(nowMs);
    const sinceMs = Math.max(this.#lastSlotAtMs, this.#slotsSinceMs);
    const silentMs = sinceMs === 0 ? nowMs - this.#lastNotificationAtMs - (anySilenceMs - slotSilenceMs) : nowMs - sinceMs;
    if (!this.#settled && nowMs - this.#openedAtMs > firstAnswerWithinMs) this.#abandon('no answer to the subscriptions');
    else if ((this.#socket?.bufferedAmount ?? 0) > maxUnreadBytes) this.fault('deaf');
    else if (this.#settled && silentMs > slotSilenceMs) {
      this.counts.silences++;
      this.#abandon('no slot');
    } else {
      if (this.#settled && nowMs - this.#openedAtMs > stableAfterMs) this.#failures = 0;
      if (nowMs - this.#lastPingAtMs > pingEveryMs && this.#socket?.readyState === WebSocket.OPEN) {
        this.#lastPingAtMs = nowMs;
        this.#socket.ping();
      }
      this.#watchLater(nowMs);
    }
  }

  /** Errors of `ws`; those for invalid frames have their own codes. */
  #onError(socket: WebSocket, error: NodeJS.ErrnoException): void {
    const { code = '', message } = error;
    if (socket === this.#socket && code.startsWith('WS_ERR_')) {
      this.fault(code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' ? 'oversized' : 'protocol');
    }
    this.#onFault(socket, this.#textOf(message));
  }

  #onFault(socket: WebSocket, reason: string): void {
    if (socket === this.#socket) this.#abandon(reason);
  }

  #abandon(reason: string, droppedForMs = 0): void {
    this.setState('down', reason);
    this.#options.handlers.onDown?.();
    this.#detach();
    this.#retry(reason, droppedForMs);
  }

  /** Drops the connection without waiting for the other side, and ignores everything that it still sends. */
  #detach(): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.removeAllListeners();
    // A socket that is closed while it connects still reports that as an error. It concerns nobody any more.
    socket.on('error', () => undefined);
    socket.terminate();
  }

  #retry(reason: string, droppedForMs = 0): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#options.signal.aborted) return;
    const ceilingMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(this.#failures, 16));
    this.#failures++;
    const pauseMs = droppedForMs + ceilingMs / 2 + Math.random() * (ceilingMs / 2);
    this.#options.log.debug({ endpoint: this.index + 1, reason, pauseMs: Math.round(pauseMs) }, 'endpoint_retry');
    this.#cancelTimer = this.#clock.after(pauseMs, () => this.#connect());
  }

  /** The code and a short message of a node's refusal, if they have the right types. */
  #loggedError({ error }: Record<string, unknown>): { readonly code: number | null; readonly message: string } | null {
    if (!isRecord(error)) return null;
    const { code, message } = error;
    return { code: typeof code === 'number' ? code : null, message: typeof message === 'string' ? this.#textOf(message) : '' };
  }
}
