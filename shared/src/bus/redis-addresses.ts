import type { RedisOptions } from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where a client connects next; asked before each connect, the first and every later one. */
export interface AddressBook {
  /** Must not reject: the client would give up for good. */
  next(): Promise<Address>;
  /** Judges whom it found there, by the reply to INFO; false: the client connects anew. */
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

/** One primary and its replicas: each address in turn until one is the primary, which is then tried again first. */
export class PrimaryBook implements AddressBook {
  readonly #addresses: readonly Address[];
  #at: number;
  #stays = true;

  constructor(urls: readonly string[], first: number) {
    this.#addresses = urls.map(addressOf);
    this.#at = first;
  }

  async next(): Promise<Address> {
    if (!this.#stays) this.#at += 1;
    this.#stays = false;
    return this.#addresses[this.#at % this.#addresses.length] as Address;
  }

  accepts({ role }: { readonly role?: string }): boolean {
    this.#stays = role === 'master';
    return this.#stays;
  }
}

/** The node of a cluster that has one slot: asked anew before each connect, as slots move and nodes fail over. */
export class OwnerBook implements AddressBook {
  readonly #ask: (node: Address) => Promise<{ readonly owner: Address; readonly nodes: readonly Address[] }>;
  #nodes: readonly Address[];
  #turn = 0;

  /** `ask` has one node say who owns the slot, and which nodes there are. */
  constructor(urls: readonly string[], ask: (node: Address) => Promise<{ readonly owner: Address; readonly nodes: readonly Address[] }>) {
    this.#nodes = urls.map(addressOf);
    this.#ask = ask;
  }

  async next(): Promise<Address> {
    try {
      const { owner, nodes } = await Promise.any(this.#nodes.map((node) => this.#ask(node)));
      this.#nodes = nodes;
      return owner;
    } catch (error) {
      // Nobody answers: the connect fails, and all are asked again.
      if (!(error instanceof AggregateError)) throw error;
      return this.#nodes[this.#turn++ % this.#nodes.length] as Address;
    }
  }

  accepts({ role }: { readonly role?: string }): boolean {
    return role === 'master';
  }
}
