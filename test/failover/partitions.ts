import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * A network whose parts can be separated. Every link to a Redis node goes through a port of this network. A client is recognised by its
 * address (nodes connect from their own) or by the user that it logs in as (all others).
 */
export interface Partitions {
  /** Opens a link to a node, on its own port; `target` later sets its target. */
  open(node: string): Promise<Way>;
  /**
   * No byte passes between these two groups in either direction until the returned function is called; then the waiting bytes arrive.
   * Connections stay open, and new ones seem to be established.
   */
  separate(one: readonly string[], other: readonly string[]): () => void;
  /** Resets all connections of one to a node. */
  cut(from: string, node: string): void;
  close(): Promise<void>;
}

export interface Way {
  readonly port: number;
  target(port: number): void;
}

/** Loopback addresses from which nodes connect, in the order in which their links were opened. */
export const sourceAddressOf = (index: number): string => `127.0.1.${index + 1}`;

/** The user of a first command: `AUTH <user> <password>`, or `HELLO <version> AUTH <user> <password>`. */
const userPattern = /\r\nAUTH\r\n\$\d+\r\n([a-z0-9-]+)\r\n/i;
/** The bytes that may contain it. */
const loginBytes = 256;

interface Link {
  /** Null until it is known. */
  from: string | null;
  readonly to: string;
  readonly update: () => void;
  readonly destroy: () => void;
}

export function createPartitions(): Partitions {
  const servers: Server[] = [];
  const links = new Set<Link>();
  const nodes = new Map<string, string>();
  const separations = new Set<readonly [one: readonly string[], other: readonly string[]]>();
  const isCut = ({ from, to }: Pick<Link, 'from' | 'to'>): boolean => {
    if (from === null) return false;
    return [...separations].some(
      ([one, other]) => (one.includes(from) && other.includes(to)) || (other.includes(from) && one.includes(to)),
    );
  };
  const update = (): void => {
    for (const link of links) link.update();
  };
  return {
    open: async (node) => {
      let target = 0;
      if (![...nodes.values()].includes(node)) nodes.set(sourceAddressOf(nodes.size), node);
      const server = createServer((client) => {
        const from = nodes.get(client.remoteAddress ?? '') ?? null;
        const link = openLink({ client, server: connect(target, '127.0.0.1'), from, to: node, isCut, onOver: () => links.delete(link) });
        links.add(link);
      });
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return { port: (server.address() as AddressInfo).port, target: (port) => (target = port) };
    },
    separate: (one, other) => {
      const separation = [one, other] as const;
      separations.add(separation);
      update();
      return () => {
        separations.delete(separation);
        update();
      };
    },
    cut: (from, node) => {
      for (const link of links) if (link.from === from && link.to === node) link.destroy();
    },
    close: async () => {
      for (const link of links) link.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

interface Ends {
  readonly client: Socket;
  readonly server: Socket;
  readonly from: string | null;
  readonly to: string;
  readonly isCut: (link: Pick<Link, 'from' | 'to'>) => boolean;
  readonly onOver: () => void;
}

function openLink({ client, server, from, to, isCut, onOver }: Ends): Link {
  let flows = false;
  const update = (): void => {
    const isOpen = !isCut(link);
    if (isOpen && (client.destroyed || server.destroyed)) return link.destroy();
    if (isOpen === flows) return;
    flows = isOpen;
    for (const [source, sink] of [
      [client, server],
      [server, client],
    ] as const) {
      if (isOpen) source.pipe(sink);
      else source.unpipe(sink).pause();
    }
  };
  const link: Link = {
    from,
    to,
    update,
    destroy: () => {
      client.destroy();
      server.destroy();
      onOver();
    },
  };
  for (const socket of [client, server]) {
    socket.setNoDelay(true);
    // The close that follows shows what an error means.
    socket.on('error', () => undefined);
    // While they are separated, neither side sees the other's end.
    socket.on('close', () => {
      if (!isCut(link)) link.destroy();
    });
  }
  if (from === null) identify(client, link);
  else update();
  return link;
}

/**
 * Identifies the client before anything is forwarded. A client that does not log in, such as a test that asks a node, belongs to no group.
 */
function identify(client: Socket, link: Link): void {
  client.once('data', (bytes: Buffer) => {
    link.from = userPattern.exec(bytes.subarray(0, loginBytes).toString('latin1'))?.[1] ?? '';
    client.pause();
    client.unshift(bytes);
    link.update();
  });
}
