import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type AddressInfo, type Server as SocketServer, type Socket } from 'node:net';
import { isPublicAddress } from '@sluice/shared/guarded-http/public-address.ts';
import type { FetchRules } from '@sluice/shared/guarded-http/rules.ts';
import { expect } from 'vitest';

/** A name that leads to this machine in these tests; it does not exist elsewhere. */
export const host = 'metadata.sluice-coins.com';

export interface LocalWeb {
  readonly port: number;
  /** `http://metadata.sluice-coins.com:<port>` + path. */
  readonly url: (path: string) => string;
  /** Requested paths, in order. */
  readonly asked: string[];
  close(): Promise<void>;
}

export type Page = (response: ServerResponse, url: string) => void;

/** A server on the loopback with these pages; anything else is 404. */
export async function startWeb(pages: Readonly<Record<string, Page>>, address = '127.0.0.1', port = 0): Promise<LocalWeb> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    const page = pages[request.url!.split('?')[0]!];
    if (page === undefined) response.writeHead(404).end();
    else page(response, request.url!);
  });
  return { ...(await listen(server, address, port)), asked };
}

/** A server of bare sockets, for answers that no HTTP server would send. */
export async function startSockets(onSocket: (socket: Socket) => void): Promise<Omit<LocalWeb, 'asked'>> {
  const open = new Set<Socket>();
  const server = createSocketServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    // The other side ends it when it has read enough.
    socket.on('error', () => socket.destroy());
    socket.once('data', () => onSocket(socket));
  });
  const started = await listen(server, '127.0.0.1', 0);
  return {
    ...started,
    close: () => {
      for (const socket of open) socket.destroy();
      return started.close();
    },
  };
}

async function listen(server: Server | SocketServer, address: string, requestedPort: number): Promise<Omit<LocalWeb, 'asked'>> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(requestedPort, address, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: (path) => `http://${host}:${port}${path}`,
    close: () =>
      new Promise((resolve) => {
        if ('closeAllConnections' in server) server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** The rules of the internet, except for 127.0.0.1 (no other address of the loopback), its ports, and names from a table. */
export function localRules(names: Readonly<Record<string, readonly string[] | (() => readonly string[])>> = {}): FetchRules & {
  readonly resolved: string[];
} {
  const resolved: string[] = [];
  const table: typeof names = { [host]: ['127.0.0.1'], ...names };
  return {
    resolved,
    resolve: (name) => {
      resolved.push(name);
      const found = table[name] ?? [];
      return Promise.resolve(typeof found === 'function' ? found() : found);
    },
    allowsAddress: (address) => address === '127.0.0.1' || isPublicAddress(address),
    allowsPort: () => true,
  };
}

export const json =
  (value: unknown, headers: Readonly<Record<string, string>> = {}): Page =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));

export const redirect =
  (location: string, status = 302): Page =>
  (response) =>
    void response.writeHead(status, { location }).end();

/** Waits for a condition, at most until the test's own time limit. */
export async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { timeout: 60_000, interval: 5 }).toBe(true);
}
