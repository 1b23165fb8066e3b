import { WebSocket } from 'ws';
import { Sluice as BrowserSluice, type SluiceOptions } from './sluice.ts';

export * from './index.ts';

/** Node.js 20 has no global WebSocket. */
export class Sluice extends BrowserSluice {
  constructor(options: SluiceOptions) {
    super({ openSocket: (url) => new WebSocket(url), ...options });
  }
}
