import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

/** A notification of an account on its way. */
export interface AccountFrame {
  readonly method: string;
  readonly params: {
    readonly subscription: number;
    readonly result: { readonly context: { readonly slot: number }; readonly value: AccountJson };
  };
}

export interface AccountJson {
  readonly owner: string;
  readonly lamports: number;
  readonly data: readonly [string, string];
}

/** A message for a client of this endpoint. */
export type Say = (frame: AccountFrame) => void;

/** The PubSub of an honest node, changed by an endpoint between the node and the client. */
export interface LyingPubsub {
  readonly url: string;
  /** Null: the truth. Otherwise it receives each notification of an account, and sends what it chooses instead. */
  lie: ((frame: AccountFrame, say: Say) => void) | null;
  /** By how many slots its reports are too high. */
  slotsAhead: number;
  close(): Promise<void>;
}

export async function startLyingPubsub(wsUrl: string): Promise<LyingPubsub> {
  const server = createServer();
  const clients = new WebSocketServer({ server });
  const pairs = new Set<WebSocket>();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const liar: LyingPubsub = {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lie: null,
    slotsAhead: 0,
    async close() {
      for (const socket of pairs) socket.terminate();
      clients.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  clients.on('connection', (client) => {
    const node = new WebSocket(wsUrl);
    const waiting: string[] = [];
    for (const socket of [client, node]) {
      pairs.add(socket);
      socket.on('error', () => socket.terminate());
      socket.on('close', () => {
        client.terminate();
        node.terminate();
      });
    }
    node.on('open', () => waiting.splice(0).forEach((text) => node.send(text)));
    client.on('message', (data) => {
      const text = (data as Buffer).toString();
      if (node.readyState === WebSocket.OPEN) node.send(text);
      else waiting.push(text);
    });
    const say = (frame: unknown): void => {
      if (client.readyState === WebSocket.OPEN) client.send(JSON.stringify(frame));
    };
    node.on('message', (data) => {
      const text = (data as Buffer).toString();
      const frame = JSON.parse(text) as AccountFrame;
      if (frame.method === 'accountNotification' && liar.lie !== null) liar.lie(frame, say);
      else if (frame.method === 'slotNotification' && liar.slotsAhead > 0) say(ahead(frame, liar.slotsAhead));
      else client.send(text);
    });
  });
  return liar;
}

function ahead(frame: AccountFrame, slots: number): unknown {
  const result = frame.params.result as unknown as Record<string, number>;
  return {
    ...frame,
    params: { ...frame.params, result: { slot: result['slot']! + slots, parent: result['parent']! + slots, root: result['root'] } },
  };
}
