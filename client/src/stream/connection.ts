import { SluiceError, type SluiceErrorFields } from '../errors.ts';
import { cannotReach, causeOf, Outage, slowMs } from '../outage.ts';
import type { Channel, Gap, JoinPosition, Position, RejectedKey } from '../wire.ts';
import type { AnySubscription, Request, VenueName } from './subscription.ts';

/** What the client needs of a WebSocket: a part of the interface of browsers, which the package `ws` has too. */
export interface Socket {
  addEventListener(type: 'open', listener: () => void): void;
  addEventListener(type: 'error', listener: (event: object) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number; readonly reason: string }) => void): void;
  send(text: string): void;
  close(): void;
}

export type OpenSocket = (url: string) => Socket;

export interface ConnectionOptions {
  /** Addresses of the stream, one for each gateway; another one after each loss. */
  readonly urls: readonly string[];
  readonly openSocket: OpenSocket;
  /** Asked before each connection. Null: there is no key. */
  readonly apiKey: (() => Promise<string>) | null;
  /** A key that worked and has ended is asked for again. */
  readonly renewsKey: boolean;
  /** Returns a ticket for one connection; null if the key is used. */
  readonly ticket: (() => Promise<string>) | null;
  /** In [0, 1). */
  readonly random: () => number;
}

interface Message {
  readonly op?: string;
  readonly id?: number | null;
  /** Only in the earlier messages of a long reply. */
  readonly of?: number;
  readonly topic?: string;
  readonly seq?: number;
  readonly prev?: number;
  readonly data?: unknown;
  readonly channel?: Channel;
  readonly positions?: Readonly<Record<string, JoinPosition & Position>>;
  readonly snapshot?: readonly { readonly topic: string; readonly data: unknown }[];
  readonly rejected?: readonly RejectedKey[];
  readonly removed?: readonly string[];
  readonly reconnectWithinMs?: number;
  readonly ts?: number;
  readonly slotAgeMs?: number | null;
  readonly venues?: readonly VenueName[];
  readonly error?: Pick<SluiceErrorFields, 'details'> & { readonly code: never; readonly message: string; readonly retryable: boolean };
}

/** A gateway sends a heartbeat each second. A connection that is silent for this long is dead. */
const silentMs = 4_000;
const openWithinMs = 5_000;
const firstPauseMs = 100;
const maxPauseMs = 10_000;
/** Close codes of the stream up to here: the client reconnects. */
const lastTemporaryCode = 4_499;
const unauthenticatedCode = 4_501;
/** Keys of one command; the gateway accepts 5,000. */
const keysPerCommand = 1_000;
const authId = 0;
const missing = 'an event is missing';

/** Topics are followed once for each connection, so subscriptions that could share one need connections of their own. */
function overlap({ request: one }: AnySubscription, { request: other }: AnySubscription): boolean {
  if (one.channel !== other.channel || one.interval !== other.interval) return false;
  const keys = new Set(keysOf(one));
  const others = keysOf(other);
  return keys.size === 0 || others.length === 0 || others.some((key) => keys.has(key));
}

/** Throws a TypeError if it cannot be an event. */
function checkedEvent(data: unknown): unknown {
  if (typeof (data as { readonly type?: unknown } | null)?.type !== 'string') throw new TypeError('an event has no type');
  return data;
}

const keysOf = ({ mints, accounts }: Request): string[] => [...mints, ...accounts.map((account) => `@${account}`)];

const keyField = (channel: Channel): 'programs' | 'mints' => (channel === 'programs' ? 'programs' : 'mints');

/** One WebSocket to a gateway, replaced when it is lost, and the subscriptions on it. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #subscriptions = new Set<AnySubscription>();
  /** Topics that are followed, and by which subscription. */
  readonly #topics = new Map<string, AnySubscription>();
  /** Commands that wait for their replies. */
  readonly #asked = new Map<number, AnySubscription>();
  /** Earlier messages of the long reply that is arriving. Nothing else arrives between them. */
  #parts: Message[] = [];
  #socket: Socket | null = null;
  #url = '';
  /** The credentials of the next socket are on their way. */
  #isAsking = false;
  #isReady = false;
  /** As the notice `layout` of this connection names them; it comes before the first heartbeat. */
  #changedVenues: readonly VenueName[] = [];
  /** The current socket has opened. */
  #isOpen = false;
  /** Why the current socket did not open, if it said so. */
  #fault: string | null = null;
  readonly #outage = new Outage();
  #urlIndex = 0;
  #failures = 0;
  #nextId = 1;
  #reconnectWithinMs: number | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #watchdog: ReturnType<typeof setTimeout> | null = null;
  /** Its last subscription has ended. */
  isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Whether the subscription can share this connection. */
  hasRoomFor(subscription: AnySubscription): boolean {
    return ![...this.#subscriptions].some((one) => overlap(one, subscription));
  }

  add(subscription: AnySubscription): void {
    this.#subscriptions.add(subscription);
    if (this.#isReady) this.#subscribe(subscription);
    else if (this.#socket === null && this.#timer === null && !this.#isAsking) void this.#connect();
  }

  pause(subscription: AnySubscription): void {
    if (this.#isReady) this.#unsubscribe(subscription);
  }

  resume(subscription: AnySubscription): void {
    if (this.#isReady) this.#subscribe(subscription);
  }

  remove(subscription: AnySubscription): void {
    if (!this.#subscriptions.delete(subscription)) return;
    if (this.#subscriptions.size > 0) return this.pause(subscription);
    this.isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#drop();
  }

  /** Ends its subscriptions. */
  close(): void {
    for (const subscription of this.#subscriptions) subscription.close();
  }

  async #connect(): Promise<void> {
    this.#timer = null;
    this.#isOpen = false;
    this.#changedVenues = [];
    const { urls, openSocket } = this.#options;
    const url = urls[this.#urlIndex++ % urls.length]!;
    this.#isAsking = true;
    const credentials = await this.#credentials(url.includes('?') ? '&' : '?');
    this.#isAsking = false;
    if (credentials === null || this.isClosed) return;
    const { apiKey, query } = credentials;
    let socket: Socket;
    try {
      socket = openSocket(`${url}${query}`);
    } catch (error) {
      // For example a page's policy forbids the address.
      return this.#failAll(new SluiceError(`No WebSocket to ${url}: ${String(error)}`, { code: 'NETWORK', retryable: false }));
    }
    this.#socket = socket;
    this.#url = url;
    this.#fault = null;
    this.#watchOpening();
    socket.addEventListener('open', () => {
      if (this.#socket !== socket) return;
      this.#isOpen = true;
      this.#watch(silentMs);
      if (apiKey === null) this.#begin();
      else socket.send(JSON.stringify({ id: authId, op: 'auth', key: apiKey }));
    });
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket === socket) this.#onData(data);
    });
    // A close always follows an error. Browsers do not say what is wrong.
    socket.addEventListener('error', (event) => {
      if (this.#socket === socket && 'message' in event) this.#fault = causeOf(event);
    });
    socket.addEventListener('close', ({ code, reason }) => {
      if (this.#socket === socket) this.#onClose(code, reason);
    });
  }

  /** Null: there are none, which was reported. */
  async #credentials(separator: string): Promise<{ readonly apiKey: string | null; readonly query: string } | null> {
    const { apiKey, ticket } = this.#options;
    try {
      if (ticket !== null) return { apiKey: null, query: `${separator}ticket=${encodeURIComponent(await ticket())}` };
      return { apiKey: apiKey === null ? null : await apiKey(), query: '' };
    } catch (error) {
      if (error instanceof SluiceError && !error.retryable) this.#failAll(error);
      else this.#reconnect(error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  #begin(): void {
    this.#isReady = true;
    for (const subscription of this.#subscriptions) if (!subscription.isPaused) this.#subscribe(subscription);
  }

  #subscribe(subscription: AnySubscription): void {
    const { channel, interval, filter, commitment, snapshot, last } = subscription.request;
    const keys = keysOf(subscription.request);
    for (let at = 0; at === 0 || at < keys.length; at += keysPerCommand) {
      const some = keys.slice(at, at + keysPerCommand);
      const accounts = some.flatMap((key) => (key.startsWith('@') ? [key.slice(1)] : []));
      const mints = some.filter((key) => !key.startsWith('@'));
      const since = this.#sinceOf(subscription, some);
      const isResumed = Object.keys(since).length > 0;
      const id = this.#nextId++;
      this.#asked.set(id, subscription);
      this.#send({
        id,
        op: 'subscribe',
        channel,
        ...(mints.length > 0 && { [keyField(channel)]: mints }),
        ...(accounts.length > 0 && { accounts }),
        ...(interval !== undefined && { interval }),
        ...(filter !== undefined && { filter }),
        ...(commitment !== undefined && { commitment }),
        ...(snapshot && !isResumed && { snapshot }),
        ...(isResumed && { since }),
        // The gateway ignores it for topics in `since`.
        ...(last !== undefined && { last }),
      });
    }
  }

  #unsubscribe(subscription: AnySubscription): void {
    for (const [topic, owner] of this.#topics) if (owner === subscription) this.#topics.delete(topic);
    const { channel, mints, accounts, interval } = subscription.request;
    this.#send({
      id: this.#nextId++,
      op: 'unsubscribe',
      channel,
      ...(mints.length > 0 && { [keyField(channel)]: mints }),
      ...(accounts.length > 0 && { accounts }),
      ...(interval !== undefined && { interval }),
    });
  }

  #sinceOf({ request, received }: AnySubscription, keys: readonly string[]): Readonly<Record<string, Position>> {
    if (keys.length === 0) return received;
    const { channel, interval } = request;
    const suffix = interval === undefined ? '' : `:${interval}`;
    const topics = keys.map((key) => `${channel}:${key}${suffix}`);
    return Object.fromEntries(topics.flatMap((topic) => (received[topic] === undefined ? [] : [[topic, received[topic]]])));
  }

  #send(message: object): void {
    this.#socket?.send(JSON.stringify(message));
  }

  #onData(data: unknown): void {
    this.#watch(silentMs);
    try {
      this.#onMessage(JSON.parse(String(data)) as Message);
    } catch (error) {
      // No message of a gateway may end the program. What a callback throws does not arrive here.
      if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
      this.#reconnect('the gateway sent a message in a wrong form');
    }
  }

  #onMessage(message: Message): void {
    switch (message.op) {
      case undefined: {
        const { topic = '', seq, prev, data } = message;
        const owner = this.#topics.get(topic);
        if (owner !== undefined && !owner.onFrame(topic, seq!, prev, checkedEvent(data))) this.#reconnect(missing);
        return;
      }
      case 'authenticated':
        return this.#begin();
      case 'subscribed':
        return this.#onSubscribed(message);
      case 'gap':
        this.#topics.get(message.topic ?? '')?.onGap(message as unknown as Gap);
        return;
      case 'heartbeat':
        for (const [topic, position] of Object.entries(message.positions ?? {})) {
          if (this.#topics.get(topic)?.onPosition(topic, position) === false) return this.#reconnect(missing);
        }
        for (const subscription of this.#subscriptions) {
          subscription.onHeartbeat({ ts: message.ts ?? 0, slotAgeMs: message.slotAgeMs ?? null }, this.#changedVenues);
        }
        return;
      case 'layout':
        this.#changedVenues = message.venues!.map(String) as VenueName[];
        return;
      case 'draining':
        this.#reconnectWithinMs = message.reconnectWithinMs ?? null;
        return;
      case 'error':
        return this.#onError(message);
    }
  }

  #onSubscribed(message: Message): void {
    if (message.of !== undefined) {
      if (this.#asked.has(message.of)) this.#parts.push(message);
      return;
    }
    const parts = [...this.#parts, message];
    this.#parts = [];
    const id = message.id ?? -1;
    const subscription = this.#asked.get(id);
    if (subscription === undefined) return;
    this.#asked.delete(id);
    const positions = Object.fromEntries(parts.flatMap((part) => Object.entries<JoinPosition>(part.positions ?? {})));
    const snapshot = parts.flatMap((part) => part.snapshot ?? []);
    for (const { data } of snapshot) checkedEvent(data);
    const rejected: readonly RejectedKey[] = parts.flatMap((part) => part.rejected ?? []);
    // It was paused or removed while the reply was on its way; the unsubscribe command has ended these topics.
    if (!this.#subscriptions.has(subscription) || subscription.isPaused) return;
    for (const topic of Object.keys(positions)) this.#topics.set(topic, subscription);
    subscription.accept(positions, snapshot, rejected);
    if (Object.keys(positions).length === 0 && rejected.length > 0) {
      const [{ key, code }] = rejected as readonly [RejectedKey];
      subscription.fail(
        new SluiceError(`Nothing is followed: "${key}" was rejected (${code}).`, { code, retryable: false, details: { rejected } }),
      );
      return;
    }
    this.#failures = 0;
    this.#outage.end();
    // A subscription of many keys takes several commands.
    if (![...this.#asked.values()].includes(subscription)) subscription.onStatus({ state: 'live', url: this.#url });
  }

  /** A command was refused. What is wrong with one subscription does not end the others. */
  #onError({ id, error }: Message): void {
    if (error === undefined) return this.#reconnect('the gateway sent a malformed error');
    if (error.retryable) return this.#reconnect(error.message);
    const fault = new SluiceError(error.message, error);
    if (id === authId) return this.#failAll(fault);
    this.#asked.get(id ?? -1)?.fail(fault);
    this.#asked.delete(id ?? -1);
  }

  #onClose(code: number, reason: string): void {
    const mayRenew = this.#options.renewsKey && this.#isReady && code === unauthenticatedCode;
    if (code > lastTemporaryCode && code < 5_000 && !mayRenew) {
      const message = `The gateway closed the stream: ${code} ${reason}.`;
      this.#drop();
      return this.#failAll(new SluiceError(message, { code: 'UNAUTHENTICATED', retryable: false, details: { closeCode: code } }));
    }
    const closed = `the connection closed with ${code} ${reason}`.trim();
    this.#reconnect(this.#isOpen ? closed : cannotReach(this.#url, this.#fault ?? closed));
  }

  #reconnect(reason: string): void {
    this.#drop();
    if (this.isClosed || this.#timer !== null) return;
    const backoffMs = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#failures++, 10)) * (0.5 + this.#options.random() / 2);
    const inMs = this.#reconnectWithinMs === null ? backoffMs : this.#reconnectWithinMs * this.#options.random();
    this.#reconnectWithinMs = null;
    this.#timer = setTimeout(() => void this.#connect(), inMs);
    this.#report(reason, inMs);
  }

  #report(reason: string, inMs: number): void {
    const isHandled = [...this.#subscriptions].some(({ handlesStatus }) => handlesStatus);
    if (!isHandled && !this.#isOpen) this.#outage.begin(reason, ' Give onStatus to handle this.');
    for (const subscription of this.#subscriptions) subscription.onStatus({ state: 'reconnecting', reason, inMs });
  }

  #failAll(error: SluiceError): void {
    for (const subscription of this.#subscriptions) subscription.fail(error);
  }

  /** Ends the socket; nothing that it still delivers counts. */
  #drop(): void {
    if (this.#watchdog !== null) clearTimeout(this.#watchdog);
    this.#watchdog = null;
    const socket = this.#socket;
    this.#socket = null;
    this.#isReady = false;
    this.#topics.clear();
    this.#asked.clear();
    this.#parts = [];
    socket?.close();
  }

  /** A dead connection does not close by itself. */
  #watch(ms: number, onSilence = (): void => this.#reconnect(`nothing arrived for ${ms / 1_000} s`)): void {
    if (this.#watchdog !== null) clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(onSilence, ms);
  }

  /** Reports a slow connection before it gives up. */
  #watchOpening(): void {
    const silent = (ms: number): string => cannotReach(this.#url, `no answer within ${ms / 1_000} s`);
    const restMs = openWithinMs - slowMs;
    this.#watch(slowMs, () => {
      this.#report(silent(slowMs), restMs);
      this.#watch(restMs, () => this.#reconnect(silent(openWithinMs)));
    });
  }
}
