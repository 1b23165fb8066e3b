import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { RpcSocket, type ReceivedFrame, type ReportedSlot, type SocketHandlers } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { parseFrame } from '@sluice/shared/solana/pubsub/frame-shape.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { accountSubscription, slotSubscription, type Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { Decoding, TransactionDecoder } from '../decode/transaction-decoder.ts';
import { looksUrgent, mayOvertake } from '../decode/urgent.ts';
import { Endpoints, type Endpoint } from './endpoints.ts';
import { noCounts, type Source, type SourceCounts, type SourceHealth, type SourceSink } from '../source.ts';
import {
  confirmedSubscription,
  programSubscriptions,
  readAccountNotification,
  readNotifiedSlot,
  readProgramNotification,
  type WatchedProgram,
} from './accounts.ts';
import { readLogsNotification } from './logs.ts';
import type { FeedEndpoint, PubSubFeed } from './feed.ts';

export interface PubSubOptions {
  /** What is read of transactions. */
  readonly feed: PubSubFeed;
  readonly urls: readonly string[];
  /** Programs whose accounts are subscribed to. */
  readonly programs: readonly WatchedProgram[];
  /** Further accounts to subscribe to. */
  readonly accounts: readonly string[];
  /** Null for a feed whose frames are read when they arrive. */
  readonly decoder: TransactionDecoder | null;
  readonly log: Logger;
}

/**
 * What a feed reads by PubSub, from all endpoints at once, with slots, confirmations and accounts. The first report of a transaction counts. Each
 * source has connections of its own, so long frames of one feed delay no other.
 */
export class PubSubSource implements Source {
  readonly name: string;
  readonly showsWhole: boolean;
  readonly #options: PubSubOptions;
  readonly #counts: SourceCounts = noCounts();
  readonly #endpoints: Endpoints;
  #sink!: SourceSink;

  constructor(options: PubSubOptions) {
    this.#options = options;
    this.name = options.feed.name;
    this.showsWhole = options.feed.showsWhole;
    this.#endpoints = new Endpoints(this.name, options.log);
  }

  start(sink: SourceSink, signal: AbortSignal): void {
    const { urls, log } = this.#options;
    this.#sink = sink;
    const subscriptions = subscriptionsOf(this.#options);
    const sockets = urls.map((url, index): RpcSocket => {
      const handlers = this.#handlersOf(index, () => sockets[index]!);
      return new RpcSocket({ url, index, subscriptions, handlers, nowUs, log, signal });
    });
    this.#endpoints.begin(sockets, sink, signal);
    for (const socket of sockets) socket.start();
  }

  health(): SourceHealth {
    return this.#endpoints.health(this.#counts);
  }

  #handlersOf(index: number, socket: () => RpcSocket): SocketHandlers {
    const { feed, decoder } = this.#options;
    // A frame is decoded once, however many others want to overtake it.
    const decoded = new WeakMap<ReceivedFrame, Decoding | 'nothing'>();
    const contentsOf = (frame: ReceivedFrame): Decoding | null => {
      const contents = decoded.get(frame) ?? decodeNotification(frame.bytes, decoder!) ?? 'nothing';
      decoded.set(frame, contents);
      return contents === 'nothing' ? null : contents;
    };
    const endpoints = this.#endpoints;
    const from: FeedEndpoint = {
      index,
      sink: this.#sink,
      counts: this.#counts,
      isPossible: (slot) => endpoints.isPossible(slot),
      checkAsked: (subscription) => socket().checkAsked(subscription),
      malformed: () => {
        this.#counts.malformed++;
        socket().fault('content');
      },
      missed: (slot) => endpoints.missed(slot - 1, slot),
    };
    return {
      ...(decoder && { mayOvertake: (frame, waiting) => looksUrgent(frame.bytes) && mayOvertake(frame, waiting, contentsOf) }),
      takeFrame: (frame: Buffer, receivedUs: number): boolean => feed.takeFrame?.(frame, receivedUs, from) ?? false,
      onNotification: (method: string, params: unknown, receivedUs: number, subscription: Subscription | null): void => {
        if (method === feed.method) feed.takeNotification(params, receivedUs, from);
        else if (method === 'programNotification') this.#takeAccount(from, readProgramNotification(params, receivedUs));
        else if (method === 'accountNotification' && subscription?.name === confirmedSubscription.name) {
          this.#takeConfirmed(from, socket(), params);
        } else if (method === 'accountNotification' && subscription?.method === 'accountSubscribe') {
          this.#takeAccount(from, readAccountNotification(String(subscription.params[0]), params, receivedUs));
        } else this.#counts.unasked++;
      },
      onSlot: ({ slot, parent }: ReportedSlot): void => endpoints.reported(slot, parent),
    };
  }

  #takeAccount(from: FeedEndpoint, state: ReturnType<typeof readProgramNotification>): void {
    if (state === 'malformed' || !from.isPossible(state.slot)) {
      from.malformed();
      return;
    }
    this.#counts.accounts++;
    this.#sink.account(state);
  }

  #takeConfirmed(from: FeedEndpoint, endpoint: Endpoint, params: unknown): void {
    const slot = readNotifiedSlot(params);
    if (slot === null || !from.isPossible(slot)) from.malformed();
    else if (!this.#endpoints.confirmed(endpoint, slot)) this.#counts.malformed++;
  }
}

/** What a notification of logs or of a whole transaction shows. */
function decodeNotification(bytes: Buffer, decoder: TransactionDecoder): Decoding | null {
  const frame = parseFrame(bytes);
  const params = isRecord(frame) ? frame['params'] : null;
  const logs = readLogsNotification(params);
  if (typeof logs === 'object') return decoder.readLogs(logs.logs);
  const view = readTransaction(isRecord(params) && isRecord(params['result']) ? params['result']['transaction'] : null);
  return view.kind === 'malformed' ? null : decoder.read(view);
}

function subscriptionsOf({ feed, programs, accounts }: PubSubOptions): Subscription[] {
  return [
    ...feed.subscriptions,
    ...programs.flatMap((program) => programSubscriptions(program)),
    ...accounts.map((address) => accountSubscription(address)),
    slotSubscription(false),
    confirmedSubscription,
  ];
}
