import { Metadata, Server, ServerCredentials, status as grpcStatus, type ServerDuplexStream } from '@grpc/grpc-js';
import proto from 'laserstream-core-proto-js';
import type { Chain, TransactionRecord } from '../../simnet/chain.ts';
import {
  accountUpdate,
  blockUpdate,
  pingUpdate,
  pongUpdate,
  slotUpdate,
  status,
  transactionUpdate,
  type ServedUpdate,
} from './grpc-updates.ts';

const { geyser } = proto;
type Request = ReturnType<typeof geyser.SubscribeRequest.decode>;
type Call = ServerDuplexStream<Request, Uint8Array>;

/** Slots that are stored for replays, as most providers do. */
const replaySlots = 150;

/** What the server does with `from_slot`. */
export type ReplayKind =
  | 'honest'
  /** Refuses the call after an update, as if the slot was not stored any more. */
  | 'refuses'
  /** Accepts it and goes on live, without a replay. */
  | 'lies'
  /** Replays, and leaves out all of one slot. */
  | 'holes';

/** What the server reports instead of a transaction. */
export type GrpcLie = (record: TransactionRecord) => readonly TransactionRecord[];

interface Subscriber {
  readonly call: Call;
  filters: Request;
}

/** A gRPC server with Yellowstone's interface, independent of the product's code: its transport and its messages come from published packages. */
export class GrpcNode {
  readonly url: string;
  readonly port: number;
  /** All requests of all calls. */
  readonly requests: Request[] = [];
  /** Headers `x-token` of the calls. */
  readonly tokens: string[] = [];
  replay: ReplayKind = 'honest';
  /** A call with another token is refused. */
  token: string | null = null;
  /** Sends nothing, and stays connected. */
  isSilent = false;
  /** Takes a request that answers a ping as the new filters. */
  pingsReplaceFilters = false;
  /** Sends the block of a slot before its transactions. */
  isBlockFirst = false;
  /** Null: the truth. */
  lie: GrpcLie | null = null;
  readonly #server: Server;
  readonly #subscribers = new Set<Subscriber>();
  readonly #history = new Map<number, ServedUpdate[]>();
  #banks = 0;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** On a free port, or on that of an earlier server. */
  static async start(port = 0): Promise<GrpcNode> {
    const server = new Server();
    let node: GrpcNode | null = null;
    const identity = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
    server.addService(
      {
        subscribe: {
          path: '/geyser.Geyser/Subscribe',
          requestStream: true,
          responseStream: true,
          requestSerialize: identity,
          requestDeserialize: (bytes: Buffer) => geyser.SubscribeRequest.decode(bytes),
          responseSerialize: identity,
          responseDeserialize: identity,
        },
      },
      { subscribe: (call: Call) => node!.#accept(call) },
    );
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, on) =>
        error === null ? resolve(on) : reject(error),
      );
    });
    node = new GrpcNode(server, bound);
    return node;
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /** Serves what a chain reports, until the returned function is called. */
  follow(chain: Chain): () => void {
    let confirmed = chain.confirmedSlot;
    return chain.listen({
      onFrozen: (block) => {
        const bankId = (this.#banks = (this.#banks % 120) + 1);
        const reported = this.lie === null ? block.transactions : block.transactions.flatMap(this.lie);
        const transactions = reported.map((record) => transactionUpdate(record, bankId));
        const accounts = new Map(block.transactions.flatMap(({ written }) => [...written]));
        const contents = [...transactions, ...[...accounts].map(([address, account]) => accountUpdate(block.slot, address, account))];
        const meta = blockUpdate(block, bankId);
        this.send(
          ...(this.isBlockFirst ? [meta, ...contents] : [...contents, meta]),
          slotUpdate(block.slot, block.parentSlot, status.processed),
        );
      },
      onConfirmed: (slot) => {
        for (let one = confirmed + 1; one <= slot; one++) if (this.#history.has(one)) this.send(slotUpdate(one, null, status.confirmed));
        confirmed = slot;
      },
      onDead: (slots) => {
        for (const slot of slots) this.send(slotUpdate(slot, null, status.dead));
      },
    });
  }

  /** Stores updates for replays, and sends them to the subscribers whose filters they pass. */
  send(...updates: readonly ServedUpdate[]): void {
    for (const update of updates) {
      const stored = this.#history.get(update.slot);
      if (stored === undefined) this.#history.set(update.slot, [update]);
      else stored.push(update);
      if (this.#history.size > replaySlots) this.#history.delete(this.#history.keys().next().value!);
      for (const subscriber of this.#subscribers) this.#deliver(subscriber, update);
    }
  }

  /** Sends bytes unchanged to every subscriber. */
  sendRaw(bytes: Uint8Array): void {
    for (const { call } of this.#subscribers) call.write(bytes);
  }

  ping(): void {
    this.sendRaw(pingUpdate());
  }

  /** Bytes that wait for the slowest subscriber, in updates. */
  get waiting(): number {
    return Math.max(0, ...[...this.#subscribers].map(({ call }) => call.writableLength));
  }

  /** Ends every call with a status. */
  end(code: number, details: string): void {
    for (const { call } of this.#subscribers) call.emit('error', { code, details, metadata: new Metadata() });
    this.#subscribers.clear();
  }

  /** Closes every connection at once, and the server. */
  close(): void {
    this.#subscribers.clear();
    this.#server.forceShutdown();
  }

  #accept(call: Call): void {
    const token = String(call.metadata.get('x-token')[0] ?? '');
    this.tokens.push(token);
    call.on('error', () => undefined);
    if (this.token !== null && token !== this.token) {
      call.emit('error', { code: grpcStatus.UNAUTHENTICATED, details: `no valid token: ${token}`, metadata: new Metadata() });
      return;
    }
    let subscriber: Subscriber | null = null;
    call.on('data', (request: Request) => {
      this.requests.push(request);
      const { ping } = request;
      const isPing = ping !== null && ping !== undefined;
      if (isPing && !this.isSilent) call.write(pongUpdate(ping.id ?? 0));
      if (isPing && !this.pingsReplaceFilters) return;
      // As a server that strips what it does not find in the request of a ping.
      if (isPing) request.slots = {};
      if (subscriber !== null) subscriber.filters = request;
      else {
        subscriber = { call, filters: request };
        this.#subscribe(subscriber, request);
      }
    });
    const forget = (): void => void (subscriber !== null && this.#subscribers.delete(subscriber));
    call.on('cancelled', forget);
    call.on('close', forget);
  }

  #subscribe(subscriber: Subscriber, request: Request): void {
    // A field that is not set has its default.
    const from = Object.hasOwn(request, 'fromSlot') ? Number(request.fromSlot) : null;
    if (from !== null && this.replay === 'refuses') {
      const details = `broadcast from ${from} is not available`;
      subscriber.call.write(pingUpdate());
      subscriber.call.emit('error', { code: grpcStatus.OUT_OF_RANGE, details, metadata: new Metadata() });
      return;
    }
    if (from !== null && this.replay !== 'lies') {
      const slots = [...this.#history.keys()].filter((slot) => slot >= from).toSorted((a, b) => a - b);
      const hole = this.replay === 'holes' ? slots.at(-2) : undefined;
      for (const slot of slots) if (slot !== hole) for (const update of this.#history.get(slot)!) this.#deliver(subscriber, update);
    }
    this.#subscribers.add(subscriber);
  }

  #deliver({ call, filters }: Subscriber, update: ServedUpdate): void {
    if (!this.isSilent && passes(filters, update)) call.write(update.bytes);
  }
}

function passes(filters: Request, { kind, keys, failed, data, status: at }: ServedUpdate): boolean {
  const { slots, blocksMeta, transactions, accounts } = filters;
  if (kind === 'slot')
    return Object.values(slots ?? {}).some(({ filterByCommitment }) => filterByCommitment !== true || at === status.processed);
  if (kind === 'block') return Object.keys(blocksMeta ?? {}).length > 0;
  if (kind === 'transaction') {
    return Object.values(transactions ?? {}).some(
      (filter) => (filter.failed !== false || !failed) && (filter.accountInclude ?? []).some((key) => keys.includes(key)),
    );
  }
  const [address, owner] = keys;
  return Object.values(accounts ?? {}).some((filter) => {
    if ((filter.account ?? []).includes(address!)) return true;
    const prefixes = (filter.filters ?? []).map((one) => Buffer.from(one.memcmp?.bytes ?? []));
    return (filter.owner ?? []).includes(owner!) && prefixes.every((prefix) => prefix.equals(data.subarray(0, prefix.length)));
  });
}
