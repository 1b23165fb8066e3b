import type { RedisOptions } from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';
import { isLater } from '../epoch.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Decides which address a client connects to. It is asked before each connection. */
export interface AddressBook {
  /** Must not reject, because the client would then never try again. */
  next(): Promise<Address>;
}

type ConnectorClass = NonNullable<RedisOptions['Connector']>;
type ConnectorOptions = ConstructorParameters<typeof StandaloneConnector>[0];

/** A connector for ioredis that asks the address book for each connection. It refuses a server that is no primary, and connects again. */
export function connectorBy(book: AddressBook): ConnectorClass {
  class BookConnector extends StandaloneConnector {
    #disconnects = 0;

    constructor(options: unknown) {
      super({ ...(options as ConnectorOptions) });
    }

    override async connect(emit: Parameters<StandaloneConnector['connect']>[0]): ReturnType<StandaloneConnector['connect']> {
      const before = this.#disconnects;
      const { host, port } = await book.next();
      // It was closed in the meantime.
      if (this.#disconnects !== before) throw new Error('Connection is closed.');
      Object.assign(this.options, { host, port });
      return super.connect(emit);
    }

    override check({ role }: { readonly role?: string }): boolean {
      return role === 'master';
    }

    override disconnect(): void {
      this.#disconnects += 1;
      super.disconnect();
    }
  }
  return BookConnector;
}

export function addressOf(url: string): Address {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 6379 : Number(port) };
}

/** What one of several servers reports about itself. */
export interface Server {
  readonly isPrimary: boolean;
  /** Identifies the history of its data. A replica has the same as its primary. */
  readonly history: string;
  /** Epochs of its log, oldest first; empty if it has no log. */
  readonly epochs: readonly string[];
}

/**
 * Decides which of several servers is the primary; null if none reports that it is one. If several do, these rules decide, in this order:
 * the one whose log continues another one's log (it was promoted and is written to); the one that most servers follow; the one whose last
 * epoch began last; the present one.
 */
export function electPrimary(servers: readonly (Server | null)[], present: number | null): number | null {
  const primaries = servers.flatMap((server, at) => (server?.isPrimary === true ? [{ at, ...server }] : []));
  const newest = primaries.filter((one) => !primaries.some((other) => goesOn(other, one)));
  const followers = ({ history }: Server): number => servers.filter((server) => server?.history === history).length;
  const most = Math.max(...newest.map(followers));
  const followed = newest.filter((server) => followers(server) === most);
  const lastEpoch = ({ epochs }: Server): string => epochs.at(-1) ?? '';
  const best = followed.filter((one) => !followed.some((other) => isLater(lastEpoch(other), lastEpoch(one)))).map(({ at }) => at);
  return best.find((at) => at === present) ?? best[0] ?? null;
}

function goesOn(later: Server, earlier: Server): boolean {
  const [last, own] = [earlier.epochs.at(-1), later.epochs.at(-1)];
  return last !== undefined && own !== undefined && later.epochs.includes(last) && !earlier.epochs.includes(own);
}

/** Resolves to the answers so far, in the order of the questions, once they are enough or all questions are answered or failed. */
function answersOf<T>(questions: readonly Promise<T>[], areEnough: (answers: readonly (T | null)[]) => boolean): Promise<(T | null)[]> {
  const answers: (T | null)[] = questions.map(() => null);
  return new Promise((resolve) => {
    let open = questions.length;
    for (const [at, question] of questions.entries()) {
      const settle = (answer: T | null): void => {
        answers[at] = answer;
        open -= 1;
        if (open === 0 || areEnough(answers)) resolve([...answers]);
      };
      question.then(settle, () => settle(null));
    }
  });
}

/** A primary and its replicas. Before each connection, all servers are asked which one is the primary. */
export class PrimaryBook implements AddressBook {
  readonly #addresses: readonly Address[];
  readonly #ask: (at: number) => Promise<Server>;
  #at: number;
  #isKnown = true;

  /** `primary` is the server to connect to first. `ask` asks one server about itself. */
  constructor(urls: readonly string[], primary: number, ask: (at: number) => Promise<Server>) {
    this.#addresses = urls.map(addressOf);
    this.#at = primary;
    this.#ask = ask;
  }

  async next(): Promise<Address> {
    if (!this.#isKnown) {
      const servers = await Promise.all(this.#addresses.map((_, at) => this.#ask(at).catch(() => null)));
      const answering = servers.findIndex((server) => server !== null);
      // If there is no primary, the connector refuses the server that answers, and all are asked again.
      this.#at = electPrimary(servers, this.#at) ?? (answering === -1 ? this.#at + 1 : answering);
    }
    this.#isKnown = false;
    return this.#addresses[this.#at % this.#addresses.length] as Address;
  }
}

/** The owner of a slot according to one node of a cluster, and all nodes that this node knows. */
export interface SlotView {
  readonly owner: Address;
  readonly nodes: readonly Address[];
}

/** The node of a cluster that owns one slot. It is determined before each connection, because slots move and nodes fail over. */
export class OwnerBook implements AddressBook {
  readonly #ask: (node: Address) => Promise<SlotView>;
  #nodes: readonly Address[];
  #turn = 0;

  /** `ask` asks one node for the owner of the slot. */
  constructor(urls: readonly string[], ask: (node: Address) => Promise<SlotView>) {
    this.#nodes = urls.map(addressOf);
    this.#ask = ask;
  }

  /** The owner according to most nodes. A node that is cut off from the others may still name the previous owner. */
  async next(): Promise<Address> {
    const all = this.#nodes.length;
    const views = await answersOf(
      this.#nodes.map((node) => this.#ask(node)),
      (answers) => (mostNamed(answers)?.votes ?? 0) > all / 2,
    );
    const named = mostNamed(views);
    // No node answers: this connection will fail, and all nodes are asked again.
    if (named === null) return this.#nodes[this.#turn++ % all] as Address;
    this.#nodes = named.view.nodes;
    return named.view.owner;
  }
}

function mostNamed(views: readonly (SlotView | null)[]): { readonly view: SlotView; readonly votes: number } | null {
  const said = views.filter((view) => view !== null);
  const votesOf = ({ owner }: SlotView): number =>
    said.filter((one) => one.owner.host === owner.host && one.owner.port === owner.port).length;
  let best: { readonly view: SlotView; readonly votes: number } | null = null;
  for (const view of said) if (votesOf(view) > (best?.votes ?? 0)) best = { view, votes: votesOf(view) };
  return best;
}
