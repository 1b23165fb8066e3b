import { WebSocket } from 'ws';
import type { Message } from '../support/clients/stream-client.ts';
import { readLight } from './light-frames.ts';
import { unpack } from '../support/clients/msgpack.ts';

/** What a client requests, besides `since`. */
export interface Subscription {
  readonly channel: 'trades' | 'newTokens' | 'migrations' | 'prices';
  readonly mints?: readonly string[];
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly commitment?: 'confirmed';
}

/** What is wrong with a stream: something is missing without notice, something was repeated, or another fault. */
export type FaultKind = 'gap' | 'double' | 'other';

export interface Frame {
  readonly topic: string;
  readonly epoch: string;
  readonly seq: number;
  readonly event: NonNullable<Message['data']>;
}

export interface Gap {
  readonly topic: string;
  readonly epoch: string;
  readonly from: number;
  readonly to: number | null;
  readonly reason: string;
}

/** Receives the client's stream after merging. */
export interface Witness {
  /** The client follows a topic for the first time; its first frame comes after this position. */
  onFollow(client: string, topic: string, after: { readonly epoch: string; readonly seq: number }): void;
  onFrame(client: string, frame: Frame): void;
  onGap(client: string, gap: Gap): void;
  onFault(client: string, kind: FaultKind, what: string): void;
}

export interface ResumingClientOptions {
  readonly name: string;
  /** Addresses of the gateways. After each disconnection the client chooses another one. */
  readonly hosts: readonly string[];
  readonly apiKey: string;
  /** `light`: JSON of which only numbers and ids are read. */
  readonly format: 'json' | 'msgpack' | 'light';
  readonly batch: boolean;
  readonly subscriptions: readonly Subscription[];
  readonly witness: Witness;
  /** In [0, 1). */
  readonly random: () => number;
}

/** The position in a topic, by what was received. */
interface Place {
  epoch: string;
  seq: number;
  /** The next frame is accepted with any number: it is not known how much is lost. */
  isOpen: boolean;
  /** Positions up to here were received before. A gateway that did not have them yet may send them again. */
  known: number;
}

interface Link {
  readonly socket: WebSocket;
  readonly host: string;
  lastHeardAtMs: number;
  /** Expected replies to `subscribe`, by id. */
  readonly asked: Map<string, Subscription>;
  /** Topics whose replies reported a loss; a gap must follow for each. */
  readonly owed: Set<string>;
}

/** Heartbeats come every second. A link that is silent for this long counts as dead. */
const deadAfterMs = 3_500;
const openWithinMs = 3_000;
const lookEveryMs = 250;
const firstPauseMs = 20;
const maxPauseMs = 500;
const goneForever = 4_500;
/** Lines of its history that a client retains. */
const maxHistory = 400;
/** The native server answers 505 to a request line that arrives in pieces. */
const refusedForNow: ReadonlySet<number> = new Set([429, 503, 505]);

/**
 * A client of the stream that does what PROTOCOL.md says, and no more. The client library would hide the faults that the judge looks for, so
 * this one is written by hand (`library-client.ts` uses the library). It stores a position for each topic, checks each `seq` (under a
 * filter each `prev`), compares heartbeats with what it has, and resumes with `since` at another gateway.
 */
export class ResumingClient {
  readonly counts = { frames: 0, connects: 0, resumes: 0, gaps: 0, repeated: 0 };
  /** Close codes of its links, and how often each occurred. */
  readonly closes = new Map<number, number>();
  /** Milliseconds from the last message of a link to the replies of the next link, each time. */
  readonly disconnectedMs: number[] = [];
  /** What happened to it other than frames, the newest last. */
  readonly history: string[] = [];
  readonly #options: ResumingClientOptions;
  readonly #places = new Map<string, Place>();
  #link: Link | null = null;
  #turn: number;
  #lostAtMs: number | null = null;
  #attempts = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: ResumingClientOptions) {
    this.#options = options;
    this.#turn = Math.floor(options.random() * options.hosts.length);
  }

  get name(): string {
    return this.#options.name;
  }

  /** Connected, and every subscription was answered. */
  get isFollowing(): boolean {
    return this.#link !== null && this.#link.socket.readyState === WebSocket.OPEN && this.#link.asked.size === 0 && this.#attempts === 0;
  }

  /** Its current gateway. */
  get host(): string | null {
    return this.#link?.host ?? null;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#link?.socket.terminate();
  }

  /** Topic to its position, as `epoch:seq`. */
  positions(): ReadonlyMap<string, { readonly epoch: string; readonly seq: number }> {
    return this.#places;
  }

  // --- Links.

  #connect(): void {
    if (this.#closed) return;
    const { hosts, apiKey, format, batch } = this.#options;
    const host = hosts[this.#turn++ % hosts.length]!;
    const query = `format=${format === 'msgpack' ? format : 'json'}${batch ? '&batch=1' : ''}`;
    const socket = new WebSocket(`ws://${host}/api/data?${query}`, {
      headers: { authorization: `Bearer ${apiKey}` },
      handshakeTimeout: openWithinMs,
    });
    const link: Link = { socket, host, lastHeardAtMs: performance.now(), asked: new Map(), owed: new Set() };
    this.#link = link;
    this.#attempts++;
    let refusal: number | null = null;
    socket.on('open', () => this.#onOpen(link));
    socket.on('message', (data: Buffer, binary) => this.#onMessage(link, data, binary));
    socket.on('unexpected-response', (request, response) => {
      refusal = response.statusCode ?? 0;
      request.destroy();
    });
    // The close follows a failed handshake, too.
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => this.#onClose(link, code, reason.toString(), refusal));
  }

  #onOpen(link: Link): void {
    this.counts.connects++;
    this.#note(`connected to ${link.host}, with ${JSON.stringify(Object.fromEntries(this.#places))}`);
    this.#options.subscriptions.forEach((subscription, at) => {
      const id = `s${at}`;
      const { channel, mints, filter, commitment } = subscription;
      const topics = mints === undefined ? [channel] : mints.map((mint) => `${channel}:${mint}`);
      const since = Object.fromEntries(
        topics.flatMap((topic) => {
          const place = this.#places.get(topic);
          return place === undefined ? [] : [[topic, { epoch: place.epoch, seq: place.seq }]];
        }),
      );
      link.asked.set(id, subscription);
      const command = {
        id,
        op: 'subscribe',
        channel,
        ...(mints && { mints }),
        ...(filter && { filter }),
        ...(commitment && { commitment }),
      };
      link.socket.send(JSON.stringify(Object.keys(since).length === 0 ? command : { ...command, since }));
    });
  }

  #onClose(link: Link, code: number, reason: string, refusal: number | null): void {
    if (this.#link !== link || this.#closed) return;
    this.#link = null;
    this.#lostAtMs ??= link.lastHeardAtMs;
    this.closes.set(code, (this.closes.get(code) ?? 0) + 1);
    this.#note(`closed with ${code} ${reason}`);
    if (code >= goneForever && code < 5_000) return this.#fault(`closed permanently: ${code} ${reason}`);
    if (refusal !== null && !refusedForNow.has(refusal)) return this.#fault(`the handshake was refused: ${refusal}`);
    if (code >= 4_000 && code < goneForever) this.#attempts = Math.min(this.#attempts, 1);
    const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#attempts, 8)) * (0.5 + this.#options.random() / 2);
    setTimeout(() => this.#connect(), pauseMs);
  }

  #look(): void {
    const link = this.#link;
    if (link === null || performance.now() - link.lastHeardAtMs < deadAfterMs) return;
    link.socket.terminate();
  }

  // --- What arrives.

  #onMessage(link: Link, data: Buffer, binary: boolean): void {
    if (this.#link !== link) return;
    link.lastHeardAtMs = performance.now();
    if (this.#options.format === 'light' && !binary) {
      for (const message of readLight(data.toString('utf8'))) this.#take(link, message);
      return;
    }
    const whole: unknown = binary ? unpack(data) : JSON.parse(data.toString('utf8'));
    for (const message of Array.isArray(whole) ? (whole as Message[]) : [whole as Message]) this.#take(link, message);
  }

  #take(link: Link, message: Message): void {
    switch (message.op) {
      case undefined:
        return this.#onFrame(link, message);
      case 'subscribed':
        return this.#onSubscribed(link, message);
      case 'gap':
        return this.#onGap(link, message);
      case 'heartbeat':
        return this.#onHeartbeat(link, message);
      case 'error':
        // For example too many requests: try again.
        if (message.error?.retryable !== true) this.#fault(`refused: ${JSON.stringify(message.error)}`);
        return link.socket.terminate();
    }
  }

  #onSubscribed(link: Link, { id, positions = {}, rejected = [] }: Message): void {
    const subscription = link.asked.get(String(id));
    if (subscription === undefined) return this.#fault(`a reply to nothing: ${String(id)}`);
    this.#note(`subscribed: ${JSON.stringify(positions)}`);
    if (rejected.length > 0) this.#fault(`keys were rejected: ${JSON.stringify(rejected)}`);
    for (const [topic, { epoch, seq, recovered }] of Object.entries(positions)) {
      const place = this.#places.get(topic);
      if (place === undefined) {
        this.#places.set(topic, { epoch, seq, isOpen: false, known: 0 });
        this.#options.witness.onFollow(this.name, topic, { epoch, seq });
      } else if (recovered === true) {
        if (seq !== place.seq) this.#fault(`${topic}: recovered at ${epoch} ${seq}, not ${place.epoch} ${place.seq}`);
        if (epoch !== place.epoch) this.#goOnIn(topic, place, epoch);
      } else {
        link.owed.add(topic);
        if (epoch !== place.epoch) place.known = 0;
        Object.assign(place, { epoch, seq });
      }
    }
    link.asked.delete(String(id));
    if (link.asked.size > 0) return;
    this.#attempts = 0;
    if (this.#lostAtMs === null) return;
    this.counts.resumes++;
    this.disconnectedMs.push(performance.now() - this.#lostAtMs);
    this.#lostAtMs = null;
  }

  #onGap(link: Link, message: Message): void {
    const { topic = '' } = message;
    const [from, to, reason, epoch] = [
      Number(message['from']),
      message['to'] as number | null,
      String(message['reason']),
      String(message['epoch']),
    ];
    const place = this.#places.get(topic);
    if (place === undefined) return this.#fault(`a gap of ${topic}, which is not followed`);
    this.counts.gaps++;
    this.#note(`gap: ${JSON.stringify(message)}`);
    this.#options.witness.onGap(this.name, { topic, epoch, from, to, reason });
    link.owed.delete(topic);
    const goesOn = to !== null && to < from;
    if (epoch !== place.epoch && !goesOn) place.known = 0;
    place.epoch = epoch;
    if (goesOn) {
      // For a filtered topic only the last frame that passed is known.
      if (from > place.seq + 1 && !this.#hasHoles(topic) && !place.isOpen)
        this.#fault(`${topic}: continues at ${from} after ${place.seq}`, 'gap');
    } else if (to === null) {
      place.isOpen = true;
      if (reason === 'ahead') place.seq = from - 1;
    } else place.seq = Math.max(place.seq, to);
  }

  /** Whether the numbers of its position are the same in another epoch. */
  #goOnIn(topic: string, place: Place, epoch: string): void {
    place.epoch = epoch;
    this.#options.witness.onGap(this.name, { topic, epoch, from: place.seq + 1, to: place.seq, reason: 'epoch' });
  }

  #onHeartbeat(link: Link, { positions = {} }: Message): void {
    for (const topic of link.owed) this.#fault(`${topic}: not recovered, and no gap came before the heartbeat`, 'gap');
    link.owed.clear();
    for (const [topic, { epoch, seq }] of Object.entries(positions)) {
      const place = this.#places.get(topic);
      if (place === undefined) continue;
      if (epoch !== place.epoch) this.#fault(`${topic}: the heartbeat is of ${epoch}, the frames of ${place.epoch}`);
      else if (this.#hasHoles(topic)) place.seq = Math.max(place.seq, seq);
      else if (seq > place.seq && !place.isOpen) {
        // Everything up to that number had to be sent before.
        this.#fault(`${topic}: the heartbeat names ${seq}, the last frame was ${place.seq}`, 'gap');
        link.socket.terminate();
        return;
      }
    }
  }

  #onFrame(link: Link, message: Message): void {
    const { topic = '', seq = 0, prev, data } = message;
    const place = this.#places.get(topic);
    if (place === undefined || data === undefined) return this.#fault(`a frame of ${topic}, which is not followed`);
    if (link.owed.has(topic)) {
      this.#fault(`${topic}: not recovered, and a frame came before the gap`, 'gap');
      link.owed.delete(topic);
    }
    if (!place.isOpen) {
      if (seq <= place.seq) this.#fault(`${topic}: ${seq} came after ${place.seq}`, 'double');
      else if (prev === undefined ? seq !== place.seq + 1 : prev > place.seq)
        this.#fault(`${topic}: ${seq} (prev ${prev}) came after ${place.seq} without a gap`, 'gap');
    }
    place.isOpen = false;
    place.seq = seq;
    if (seq <= place.known) {
      this.counts.repeated++;
      return;
    }
    place.known = seq;
    this.counts.frames++;
    this.#options.witness.onFrame(this.name, { topic, epoch: place.epoch, seq, event: data });
  }

  /** Its frames are linked by `prev`. */
  #hasHoles(topic: string): boolean {
    return this.#options.subscriptions.some(
      ({ channel, filter, commitment }) =>
        (filter !== undefined || commitment !== undefined) && (topic === channel || topic.startsWith(`${channel}:`)),
    );
  }

  #note(text: string): void {
    this.history.push(`${new Date().toISOString()} ${text}`);
    if (this.history.length > maxHistory) this.history.shift();
  }

  #fault(what: string, kind: FaultKind = 'other'): void {
    this.#note(what);
    this.#options.witness.onFault(this.name, kind, `${what} (at ${this.#link?.host ?? 'no gateway'})`);
  }
}

/** A client's history under its name, one line for each entry. */
export function historyOf({ name, history }: ResumingClient): string[] {
  return [name, ...history.map((line) => `    ${line}`)];
}
