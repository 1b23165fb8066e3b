import type { RedisOptions } from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';
import { isLater } from './epoch.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where a client connects next; asked before each connect, the first and every later one. */
export interface AddressBook {
  /** Must not reject: the client would give up for good. */
  next(): Promise<Address>;
  /** Judges the server that it found there by the reply to INFO. False: the client connects again. */
  accepts(info: { readonly role?: string }): boolean;
}

type ConnectorClass = NonNullable<RedisOptions['Connector']>;
type ConnectorOptions = ConstructorParameters<typeof StandaloneConnector>[0];

/** What ioredis opens its sockets with, where the address is not the same each time. */
export function connectorBy(book: AddressBook): ConnectorClass {
  class BookConnector extends StandaloneConnector {
    #disconnects = 0;

    constructor(options: unknown) {
      super({ ...(options as ConnectorOptions) });
    }

    override async connect(emit: Parameters<StandaloneConnector['connect']>[0]): ReturnType<StandaloneConnector['connect']> {
      const before = this.#disconnects;
      const { host, port } = await book.next();
      // Closed meanwhile.
      if (this.#disconnects !== before) throw new Error('Connection is closed.');
      Object.assign(this.options, { host, port });
      return super.connect(emit);
    }

    override check(info: { readonly role?: string }): boolean {
      return book.accepts(info);
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

/** What one server of several says of itself. */
export interface Server {
  readonly isPrimary: boolean;
  /** Names the history of its data: a replica has that of its primary. */
  readonly history: string;
  /** Epochs of the log that it holds, oldest first; none where it has no log. */
  readonly epochs: readonly string[];
}

/**
 * Which of several servers is the primary; null where none says that it is one. Where more than one does: the one whose log goes on where another's ends
 * (it was promoted, and is written to), then the one that most servers follow, then the one whose log began its last epoch last, then the
 * present one.
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

/** The answers so far, in the order of the questions, once these are enough or all have answered or failed. */
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

/** One primary and its replicas: all are asked before each connect which of them it is. */
export class PrimaryBook implements AddressBook {
  readonly #addresses: readonly Address[];
  readonly #ask: (at: number) => Promise<Server>;
  #at: number;
  #isKnown = true;

  /** `primary` is where to connect first; `ask` has one server say what it is. */
  constructor(urls: readonly string[], primary: number, ask: (at: number) => Promise<Server>) {
    this.#addresses = urls.map(addressOf);
    this.#at = primary;
    this.#ask = ask;
  }

  async next(): Promise<Address> {
    if (!this.#isKnown) {
      const servers = await answersOf(
        this.#addresses.map((_, at) => this.#ask(at)),
        () => false,
      );
      const answering = servers.findIndex((server) => server !== null);
      // Where there is no primary one that answers is refused by `accepts` at once, and all are asked again.
      this.#at = electPrimary(servers, this.#at) ?? (answering === -1 ? this.#at + 1 : answering);
    }
    this.#isKnown = false;
    return this.#addresses[this.#at % this.#addresses.length] as Address;
  }

  accepts({ role }: { readonly role?: string }): boolean {
    return role === 'master';
  }
}

/** Whom one node of a cluster takes for the owner of a slot, and all nodes that it knows. */
export interface SlotView {
  readonly owner: Address;
  readonly nodes: readonly Address[];
}

/** The node of a cluster that has one slot: asked again before each connect, because slots move and nodes fail over. */
export class OwnerBook implements AddressBook {
  readonly #ask: (node: Address) => Promise<SlotView>;
  #nodes: readonly Address[];
  #turn = 0;

  /** `ask` has one node say who owns the slot. */
  constructor(urls: readonly string[], ask: (node: Address) => Promise<SlotView>) {
    this.#nodes = urls.map(addressOf);
    this.#ask = ask;
  }

  /** The owner by most nodes: one that is cut off from the others still names the one before. */
  async next(): Promise<Address> {
    const all = this.#nodes.length;
    const views = await answersOf(
      this.#nodes.map((node) => this.#ask(node)),
      (answers) => (mostNamed(answers)?.votes ?? 0) > all / 2,
    );
    const named = mostNamed(views);
    // Nobody answers: the connect fails, and all are asked again.
    if (named === null) return this.#nodes[this.#turn++ % all] as Address;
    this.#nodes = named.view.nodes;
    return named.view.owner;
  }

  accepts({ role }: { readonly role?: string }): boolean {
    return role === 'master';
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
