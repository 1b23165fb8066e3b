import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy before a Redis, in which a test can act before each piece of bytes passes: requests and answers. */
export interface SteppingProxy {
  readonly url: string;
  /** Pieces that passed. */
  readonly steps: number;
  /** Connections that are open now. */
  readonly connections: number;
  /** Ends all connections; new ones are accepted. */
  cut(): void;
  close(): Promise<void>;
}

export async function startProxy(targetPort: number, beforeEach: () => Promise<void>): Promise<SteppingProxy> {
  const sockets = new Set<Socket>();
  let steps = 0;
  const pass = async (from: Socket, to: Socket, isStep: (bytes: Buffer) => boolean): Promise<void> => {
    for await (const bytes of from) {
      if (isStep(bytes as Buffer)) {
        await beforeEach();
        steps += 1;
      }
      if (to.writable) to.write(bytes as Buffer);
    }
  };
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
    // Announcements are not stepped, because each would cause more of them.
    let announces = false;
    const isRequest = (bytes: Buffer): boolean => {
      announces ||= bytes.includes('subscribe');
      return true;
    };
    // A cut connection ends its loop with an error, and its other half with it.
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    void pass(client, upstream, isRequest).then(end, end);
    void pass(upstream, client, () => !announces).then(end, end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    get steps() {
      return steps;
    },
    get connections() {
      return sockets.size / 2;
    },
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
