import { WebSocket } from 'ws';

export interface Notification {
  readonly method: string;
  readonly subscription: number;
  readonly slot: number | null;
  readonly result: unknown;
  /** The frame as it arrived. */
  readonly text: string;
}

interface Waiting {
  readonly done: () => boolean;
  readonly resolve: () => void;
}

/** A plain PubSub client for tests. */
export interface PubSubClient {
  readonly notifications: readonly Notification[];
  readonly socket: WebSocket;
  /** Calls a method; rejects with the error object if the answer is one. */
  call(method: string, ...params: readonly unknown[]): Promise<unknown>;
  /** Resolves once `condition` is true; checks it after every message and on closing. */
  until(condition: () => boolean): Promise<void>;
  close(): void;
}

export async function connectPubSub(url: string): Promise<PubSubClient> {
  const socket = new WebSocket(url);
  const notifications: Notification[] = [];
  const answers = new Map<number, (answer: { readonly result?: unknown; readonly error?: unknown }) => void>();
  let waiting: readonly Waiting[] = [];
  let nextId = 1;
  const check = (): void => {
    const ready = waiting.filter((item) => item.done());
    waiting = waiting.filter((item) => !ready.includes(item));
    for (const item of ready) item.resolve();
  };
  socket.on('message', (data) => {
    const text = (data as Buffer).toString('utf8');
    const message = JSON.parse(text) as {
      readonly id?: number;
      readonly method?: string;
      readonly params?: { readonly result: unknown; readonly subscription: number };
    };
    if (message.method !== undefined && message.params !== undefined) {
      const { result, subscription } = message.params;
      const slot = (result as { context?: { slot: number } } | null)?.context?.slot ?? null;
      notifications.push({ method: message.method, subscription, slot, result, text });
    } else if (typeof message.id === 'number') {
      answers.get(message.id)?.(message as { readonly result?: unknown });
      answers.delete(message.id);
    }
    check();
  });
  socket.on('close', check);
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', check);
  return {
    notifications,
    socket,
    call: (method, ...params) =>
      new Promise((resolve, reject) => {
        const id = nextId++;
        answers.set(id, ({ result, error }) => {
          if (error === undefined) resolve(result);
          else reject(Object.assign(new Error(JSON.stringify(error)), { error }));
        });
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      }),
    until: (done) =>
      new Promise((resolve) => {
        waiting = [...waiting, { done, resolve }];
        check();
      }),
    close: () => socket.terminate(),
  };
}
