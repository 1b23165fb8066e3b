import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { nodeTextOf } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { GrpcCall, GrpcFault } from '@sluice/shared/solana/grpc/call.ts';
import { FrameFaults, type FrameFault } from '@sluice/shared/solana/pubsub/frame-faults.ts';
import type { SocketCounts } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { readUpdate, subscribePath, subscribeRequest, type GrpcUpdate } from './messages.ts';
import type { ReadUpdate, UpdateDecoder } from './read-update.ts';
import type { FromReader, ReaderSettings } from './reader.ts';
import { SeenSlots } from './seen-slots.ts';

/** Time from opening a connection until the first update. */
const firstAnswerWithinMs = 10_000;
/**
 * Longest time between two slots. Only slots count: if a server loses the filter of slots, a later reconnect would not know where to continue, although
 * transactions still arrive.
 */
const slotSilenceMs = 3_000;
const watchEveryMs = 250;
/** A check that runs this late is skipped: the process was suspended or busy. */
const maxLateMs = 1_000;
/** Proxies close a connection on which the client is silent. */
const pingEveryMs = 10_000;
const firstBackoffMs = 200;
const maxBackoffMs = 10_000;
/** A connection that lasted this long resets the backoff. */
const stableAfterMs = 10_000;
/** Bytes that were passed on and not processed yet. With more, nothing is read, and the server stops when the window is full. */
const maxUntakenBytes = 2 * 1024 * 1024;
/** Updates of one message to the receiver: it works on them while the next ones are decoded. */
const updatesAtOnce = 16;
/** The status codes of gRPC by which servers refuse a replay: unknown, invalid argument, failed precondition, out of range, unimplemented, internal. */
const replayRefusals: ReadonlySet<number> = new Set([2, 3, 9, 11, 12, 13]);

export interface GrpcStreamParts extends Omit<ReaderSettings, 'endpoints'> {
  /** Its number in the settings. */
  readonly endpoint: number;
  readonly url: string;
  /** The newest slot that an earlier reader received; 0 if there was none. */
  readonly slot: number;
  readonly decoder: UpdateDecoder;
  readonly emit: (message: FromReader) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * The stream of one endpoint: subscribes, answers pings, watches the slots, and passes updates on as fast as they are taken. When it loses the
 * connection, it connects again with `from_slot`, and checks that the replay came.
 */
export class GrpcStream {
  readonly #parts: GrpcStreamParts;
  readonly #counts: SocketCounts = {
    frames: 0,
    malformedFrames: 0,
    connects: 0,
    silences: 0,
    refusedSubscriptions: 0,
    faults: 0,
    drops: 0,
  };
  readonly #faults = new FrameFaults(null);
  readonly #seen: SeenSlots;
  #call: GrpcCall | null = null;
  #canReplay = true;
  #failures = 0;
  #droppedForMs = 0;
  #openedAtMs = 0;
  #slotAtMs = 0;
  #pingedAtMs = 0;
  #watchAtMs = 0;
  #lastPing = 0;
  #untakenBytes = 0;
  #whenTaken: (() => void) | null = null;

  constructor(parts: GrpcStreamParts) {
    const { endpoint, slot, emit } = parts;
    this.#parts = parts;
    this.#seen = new SeenSlots(slot, (fromSlot, toSlot) => emit({ kind: 'missed', endpoint, fromSlot, toSlot }));
  }

  /** Ends when the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { clock, signal } = this.#parts;
    const forget = whenAborted(signal, () => this.#call?.close());
    while (!signal.aborted) {
      const fault = await this.#converse();
      if (signal.aborted) break;
      this.#set(false, grpcFaultText(fault, this.#parts));
      const ceilingMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(this.#failures++, 16));
      await pause(this.#droppedForMs + ceilingMs / 2 + Math.random() * (ceilingMs / 2), signal, { clock });
      this.#droppedForMs = 0;
    }
    forget();
  }

  /** The receiver has processed this many bytes. */
  taken(bytes: number): void {
    this.#untakenBytes = Math.max(0, this.#untakenBytes - bytes);
    if (this.#untakenBytes < maxUntakenBytes) this.#whenTaken?.();
  }

  /** Counts an invalid update. After a few of them the endpoint is dropped, and not used for a while. */
  fault(fault: FrameFault): void {
    const { clock } = this.#parts;
    this.#counts.faults++;
    if (this.#call === null || !this.#faults.note(fault, clock.steadyMs())) return;
    this.#counts.drops++;
    this.#droppedForMs = this.#faults.drop(clock.steadyMs());
    this.#call.close(new Error(`dropped for ${this.#droppedForMs} ms: ${fault}`));
  }

  /** One connection, from its beginning to its end. Returns why it ended. */
  async #converse(): Promise<unknown> {
    const { url, token, filters, clock } = this.#parts;
    this.#counts.connects++;
    this.#openedAtMs = this.#slotAtMs = this.#pingedAtMs = clock.steadyMs();
    const fromSlot = this.#seen.begin();
    const asked = this.#canReplay ? fromSlot : null;
    this.#canReplay = true;
    let stopWatching = (): void => undefined;
    let isSettled = false;
    try {
      const call = new GrpcCall({ url, token, path: subscribePath });
      this.#call = call;
      this.#watchAtMs = clock.steadyMs() + watchEveryMs;
      stopWatching = clock.every(watchEveryMs, () => this.#watch(call, isSettled));
      call.send(subscribeRequest(filters, asked === null ? {} : { fromSlot: asked }));
      for await (const messages of call.messages()) {
        if (!isSettled) this.#set(true, 'subscribed');
        isSettled = true;
        await this.#pass(call, messages, nowUs());
      }
      return null;
    } catch (error) {
      if (error instanceof GrpcFault && error.kind !== 'ended') this.fault(error.kind);
      if (error instanceof GrpcFault && error.status !== null && clock.steadyMs() - this.#openedAtMs < stableAfterMs) {
        this.#counts.refusedSubscriptions++;
        // A server may send updates before it refuses a replay. Without one, the comparison with the records of nodes finds what was missed.
        if (asked !== null && replayRefusals.has(error.status)) this.#canReplay = false;
      }
      return error;
    } finally {
      stopWatching();
      this.#call?.close();
      this.#call = null;
    }
  }

  /** Passes updates on, and waits while too many are not processed. */
  async #pass(call: GrpcCall, messages: readonly Buffer[], receivedUs: number): Promise<void> {
    const { endpoint, emit, clock, signal } = this.#parts;
    this.#counts.frames += messages.length;
    let [updates, bytes]: [ReadUpdate[], number] = [[], 0];
    const flush = (): void => {
      if (updates.length === 0) return;
      this.#untakenBytes += bytes;
      emit({ kind: 'updates', endpoint, updates, bytes, receivedUs });
      [updates, bytes] = [[], 0];
    };
    for (const message of messages) {
      const update = this.#read(call, message);
      if (update === null) continue;
      updates.push(update);
      bytes += message.length;
      if (updates.length === updatesAtOnce) flush();
    }
    flush();
    if (this.#untakenBytes < maxUntakenBytes) return;
    let forget = (): void => undefined;
    await new Promise<void>((resolve) => {
      this.#whenTaken = resolve;
      forget = whenAborted(signal, resolve);
    });
    forget();
    this.#whenTaken = null;
    // The silence was ours.
    this.#slotAtMs = clock.steadyMs();
  }

  /** Null if the receiver needs nothing of it. */
  #read(call: GrpcCall, message: Buffer): ReadUpdate | null {
    const update = readUpdate(message);
    if (update === 'malformed') {
      this.#counts.malformedFrames++;
      this.fault('malformed');
      return null;
    }
    if (update.kind === 'ping') this.#ping(call);
    this.#note(update);
    return this.#parts.decoder.read(update);
  }

  /** Only what shows that the server sends a slot live or replays it counts, not the later confirmation of an older slot. */
  #note(update: GrpcUpdate): void {
    if (update.kind === 'transaction') this.#seen.note(update.slot);
    else if (update.kind === 'block') this.#seen.block(update.slot, update.parent);
    else if (update.kind === 'slot' && update.status === 'processed') {
      this.#seen.note(update.slot);
      this.#slotAtMs = this.#parts.clock.steadyMs();
    }
  }

  #ping(call: GrpcCall): void {
    this.#pingedAtMs = this.#parts.clock.steadyMs();
    this.#lastPing = (this.#lastPing % 1_000_000) + 1;
    if (!call.send(subscribeRequest(this.#parts.filters, { ping: this.#lastPing }))) this.fault('deaf');
  }

  #watch(call: GrpcCall, isSettled: boolean): void {
    const { endpoint, emit, clock } = this.#parts;
    const nowMs = clock.steadyMs();
    const lateMs = nowMs - this.#watchAtMs;
    this.#watchAtMs = nowMs + watchEveryMs;
    emit({ kind: 'counts', endpoint, counts: { ...this.#counts } });
    if (lateMs > maxLateMs || this.#whenTaken !== null) return;
    if (!isSettled && nowMs - this.#openedAtMs > firstAnswerWithinMs) call.close(new Error('no answer to the subscription'));
    else if (isSettled && nowMs - this.#slotAtMs > slotSilenceMs) {
      this.#counts.silences++;
      call.close(new Error('no slot'));
    } else {
      if (isSettled && nowMs - this.#openedAtMs > stableAfterMs) this.#failures = 0;
      if (nowMs - this.#pingedAtMs > pingEveryMs) this.#ping(call);
    }
  }

  #set(isUp: boolean, reason: string): void {
    const { endpoint, emit } = this.#parts;
    emit({ kind: 'counts', endpoint, counts: { ...this.#counts } });
    emit({ kind: 'state', endpoint, isUp, reason });
  }
}

/** Why a connection ended, without the secrets of the address and without the token. */
export function grpcFaultText(fault: unknown, { url, token }: { readonly url: string; readonly token: string | null }): string {
  const text = fault instanceof Error ? fault.message : 'the call ended';
  const status = fault instanceof GrpcFault && fault.status !== null ? `gRPC status ${fault.status} ` : '';
  const withoutToken = token === null ? text : nodeTextOf(`https://token/${encodeURIComponent(token)}`)(percentDecoded(text));
  return nodeTextOf(url)(`${status}${withoutToken}`).trim();
}

/** A status text is percent-encoded. */
function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
