import { WebSocket } from 'ws';
import { Sluice as BrowserSluice, type SluiceOptions } from './sluice.ts';

export * from './index.ts';

/** Bytes of a message. `ws` accepts 100 MiB by default. */
const maxPayload = 16 * 1024 * 1024;

/** Node.js 20 has no global WebSocket. */
export class Sluice extends BrowserSluice {
  constructor(options: SluiceOptions) {
    super({ openSocket: (url) => new WebSocket(url, { maxPayload }), ...options });
  }
}
