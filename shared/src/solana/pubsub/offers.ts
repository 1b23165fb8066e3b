import { WebSocket } from 'ws';
import { whenAborted, type Abortable } from '../../runtime/abort/when-aborted.ts';
import { maxFrameBytes, type Subscription } from './subscription.ts';

/** A node that has not answered by then does not offer the subscription. */
const withinMs = 3_000;
/** An answer with the id of a subscription, and not an error. */
const accepted = /"result" ?: ?\d/;

/** Whether a node accepts a subscription. The connection is closed with the answer. Never rejects. */
export function offers(url: string, { method, params }: Subscription, signal: Abortable): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    let forget = (): void => undefined;
    const socket = new WebSocket(url, { maxPayload: maxFrameBytes(null), perMessageDeflate: false, followRedirects: false });
    const finish = (isOffered: boolean): void => {
      clearTimeout(timer);
      forget();
      socket.terminate();
      resolve(isOffered);
    };
    const timer = setTimeout(finish, withinMs, false);
    forget = whenAborted(signal, () => finish(false));
    socket.on('open', () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
    socket.on('message', (data) => finish(accepted.test((data as Buffer).toString('latin1'))));
    for (const event of ['error', 'close']) socket.on(event, () => finish(false));
  }).catch(() => false);
}
