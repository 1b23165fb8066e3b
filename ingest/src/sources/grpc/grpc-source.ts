import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { shownHost } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import type { EndpointState, SocketCounts } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { programUrl } from '@sluice/shared/runtime/thread/programs.ts';
import { beginThread, RestartingThread } from '@sluice/shared/runtime/thread/restarting-thread.ts';
import type { Decoding } from '../decode/transaction-decoder.ts';
import { mayOvertake } from '../decode/urgent.ts';
import { Arrivals } from '@sluice/shared/runtime/collections/arrivals.ts';
import { Endpoints, type Endpoint } from '../pubsub/endpoints.ts';
import { noCounts, type Source, type SourceCounts, type SourceHealth, type SourceSink } from '../source.ts';
import type { GrpcFilters } from './messages.ts';
import type { ReadUpdate } from './read-update.ts';
import type { FromReader, ReaderSettings, ToReader, UpdateBatch } from './reader.ts';

/** Megabytes of the thread's heap. A thread that exceeds them ends, and is started again. Its buffers have bounds of their own. */
const maxHeapMb = 128;
const endWithinMs = 1_000;
/** A slot this much lower than the newest of its endpoint shows that the newest was wrong. */
const maxForkSlots = 512;
/** Slots of which the banks are remembered: 13 seconds. */
const maxBankSlots = 64;
/** Slots that a transaction may be behind the chain before it counts as late: two seconds. */
const lateSlots = 10;

export interface GrpcOptions {
  readonly urls: readonly string[];
  readonly token: string | null;
  /** Number of the first endpoint among the endpoints of all sources. */
  readonly firstIndex: number;
  readonly filters: GrpcFilters;
  /** The newest slot that any source reports. */
  readonly newestSlot: () => number;
  readonly log: Logger;
  /** Starts a reader; in a thread, if it is not given. */
  readonly open?: typeof openThread;
}

export interface ReaderLink {
  post(message: ToReader): void;
  close(): void;
}

/** Whole transactions at `processed` by Yellowstone's gRPC, with slots, confirmations and accounts. A thread reads from the endpoints. */
export class GrpcSource implements Source {
  readonly name = 'grpc';
  readonly showsWhole = true;
  readonly #options: GrpcOptions;
  readonly #counts: SourceCounts = noCounts();
  readonly #endpoints: Endpoints;
  readonly #all: readonly RemoteEndpoint[];
  /** What waits is bounded by what the reader passes on before its bytes are taken. */
  readonly #arrivals = new Arrivals<Arrived>({
    read: (one) => this.#takeArrived(one),
    mayOvertake: (one, waiting) => mayOvertake(one, waiting, contentsOf),
  });
  #sink!: SourceSink;
  #link!: ReaderLink;
  #signal!: AbortSignal;

  constructor(options: GrpcOptions) {
    const { urls, firstIndex, log } = options;
    this.#options = options;
    this.#endpoints = new Endpoints(this.name, log);
    this.#all = urls.map((url, index) => new RemoteEndpoint(firstIndex + index, url, log));
  }

  start(sink: SourceSink, signal: AbortSignal): void {
    const { urls, token, filters, log, open = openThread } = this.#options;
    this.#sink = sink;
    this.#signal = signal;
    this.#endpoints.begin(this.#all, sink, signal);
    this.#link = open({
      settings: () => ({ endpoints: urls.map((url, index) => ({ url, slot: this.#all[index]!.slot })), token, filters }),
      onMessage: (message) => this.#take(message),
      onEnd: () => {
        for (const one of this.#all) one.setState('down', 'the thread ended');
      },
      log,
    });
    signal.addEventListener('abort', () => this.#link.close(), { once: true });
  }

  health(): SourceHealth {
    return this.#endpoints.health(this.#counts);
  }

  #take(message: FromReader): void {
    const from = this.#all[message.endpoint]!;
    if (message.kind === 'updates') {
      for (const update of message.updates) this.#arrivals.push({ update, of: message });
      this.#arrivals.push({ update: null, of: message });
    } else if (message.kind === 'state') from.setState(message.isUp ? 'up' : 'down', message.reason);
    else if (message.kind === 'counts') from.counts = message.counts;
    else this.#missed(from, message.fromSlot, message.toSlot);
  }

  /** No hole if another endpoint has sent these slots. */
  #missed(from: RemoteEndpoint, fromSlot: number, toSlot: number): void {
    if (!this.#endpoints.isPossible(toSlot)) return;
    from.completeFrom = toSlot;
    const isCovered = this.#all.some((one) => one !== from && one.state !== 'down' && one.completeFrom <= fromSlot && one.slot >= toSlot);
    if (!isCovered) this.#endpoints.missed(fromSlot, toSlot);
  }

  #takeArrived({ update, of: { endpoint, receivedUs, bytes } }: Arrived): void {
    if (this.#signal.aborted) return;
    if (update === null) this.#link.post({ kind: 'taken', endpoint, bytes });
    else if (!this.#takeUpdate(this.#all[endpoint]!, update, receivedUs, this.#options.newestSlot() - lateSlots)) {
      this.#counts.malformed++;
      this.#link.post({ kind: 'fault', endpoint });
    }
  }

  /** False if the update has no valid content. */
  #takeUpdate(from: RemoteEndpoint, update: ReadUpdate, receivedUs: number, lateBefore: number): boolean {
    if (update.kind === 'malformed' || !this.#endpoints.isPossible(update.slot)) return false;
    const { slot } = update;
    if (update.kind === 'transaction') this.#takeTransaction(update, from, receivedUs, lateBefore);
    else if (update.kind === 'failed') {
      this.#counts.failed++;
      this.#sink.failed(update.signature, slot, this.name, from.index);
    } else if (update.kind === 'account') {
      this.#counts.accounts++;
      this.#sink.account({ address: update.address, owner: update.owner, data: update.data, slot, receivedUs });
    } else if (update.kind === 'block') {
      if (from.isOtherBank(slot, update.bank)) this.#counts.secondBanks++;
      this.#sink.slot(slot, update.parent);
    } else if (update.status === 'processed') {
      from.reported(slot);
      this.#endpoints.reported(slot, update.parent);
    } else if (!this.#endpoints.confirmed(from, slot)) this.#counts.malformed++;
    return true;
  }

  #takeTransaction(
    { slot, signature, contents }: Extract<ReadUpdate, { kind: 'transaction' }>,
    { index }: RemoteEndpoint,
    receivedUs: number,
    lateBefore: number,
  ): void {
    const { name } = this;
    this.#sink.isRepeat(name, signature, slot, null, index);
    // The thread decodes only messages that differ from those before. So this report is compared with the earlier reports.
    if (contents === null) return;
    // A replay follows newer transactions of other sources.
    const late = slot < lateBefore;
    const origin = { source: name, endpoint: index, signature, slot, commitment: 'processed', receivedUs } as const;
    this.#sink.sighting({ kind: 'whole', ...origin, late, transaction: contents });
  }
}

/** An update, or, if it is null, the end of a batch. */
interface Arrived {
  readonly update: ReadUpdate | null;
  readonly of: UpdateBatch;
  readonly bytes?: Uint8Array;
}

const contentsOf = ({ update }: Arrived): Decoding | null => (update?.kind === 'transaction' ? update.contents : null);

/** An endpoint, as the reader reports it. */
class RemoteEndpoint implements Endpoint {
  readonly index: number;
  readonly host: string | null;
  slot = 0;
  counts: SocketCounts = { frames: 0, malformedFrames: 0, connects: 0, silences: 0, refusedSubscriptions: 0, faults: 0, drops: 0 };
  /** The slot from which it has sent everything. */
  completeFrom = Number.POSITIVE_INFINITY;
  state: EndpointState = 'down';
  readonly #log: Logger;
  #reason: string | null = null;
  readonly #banks = new Map<number, unknown>();

  constructor(index: number, url: string, log: Logger) {
    this.index = index;
    this.host = shownHost(url);
    this.#log = log;
  }

  /** Logs each change once, and each new reason of an endpoint that stays down. */
  setState(state: EndpointState, reason: string): void {
    if (state === this.state && (state !== 'down' || reason === this.#reason)) return;
    this.state = state;
    this.#reason = reason;
    this.#log[state === 'up' ? 'info' : 'warn']({ endpoint: this.index + 1, source: 'grpc', state, reason }, 'endpoint_state');
  }

  reported(slot: number): void {
    if (this.slot === 0) this.completeFrom = slot;
    if (slot > this.slot || this.slot - slot > maxForkSlots) this.slot = slot;
  }

  /** Whether the endpoint has reported another bank of this slot before. */
  isOtherBank(slot: number, bank: unknown): boolean {
    const known = this.#banks.get(slot);
    this.#banks.set(slot, bank);
    if (this.#banks.size > maxBankSlots) this.#banks.delete(this.#banks.keys().next().value!);
    return known !== undefined && known !== bank;
  }
}

export interface OpenReader {
  readonly settings: () => ReaderSettings;
  readonly onMessage: (message: FromReader) => void;
  readonly onEnd: () => void;
  readonly log: Logger;
}

/** A reader in a thread, which is started again if it ends. */
function openThread({ settings, onMessage, onEnd, log }: OpenReader): ReaderLink {
  const begin = (): ReturnType<typeof beginThread> =>
    beginThread(programUrl('grpc-thread'), 'grpc', settings(), { maxOldGenerationSizeMb: maxHeapMb });
  const thread = new RestartingThread({ name: 'grpc', begin, onMessage: (message) => onMessage(message as FromReader), onEnd, log });
  const order: ToReader = { kind: 'close' };
  return { post: (message) => thread.post(message), close: () => void thread.close(order, endWithinMs) };
}
