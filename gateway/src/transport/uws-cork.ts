import { randomUUID } from 'node:crypto';
import type * as UwsModule from 'uWebSockets.js';
import { WebSocket } from 'ws';
import type { Uws } from './uws-load.ts';

/**
 * A cork that belongs to no client. In the pinned version the native `cork` of a response that is upgraded within it goes on with what
 * is now a WebSocket: where that lies in the place of the response it reads what is no state of one, and now and then shuts the
 * connection down. Within the cork of another socket it does no more than to call back. The other socket is one of
 * this process to itself, on a port of the loopback that is open while it connects.
 */
export interface Cork {
  /** Runs `work` at once. */
  within(work: () => void): void;
  close(): void;
}

/** Rejects where the loopback cannot be had. */
export async function openCork(uws: Uws): Promise<Cork> {
  const path = `/${randomUUID()}`;
  const app = uws.App();
  let client: WebSocket | null = null;
  const native = await new Promise<UwsModule.WebSocket<null>>((resolve, reject) => {
    let listening: UwsModule.us_listen_socket | null = null;
    const stopListening = (): void => {
      if (listening !== null) uws.us_listen_socket_close(listening);
      listening = null;
    };
    app.ws<null>(path, {
      idleTimeout: 0,
      sendPingsAutomatically: false,
      open: (opened) => {
        stopListening();
        resolve(opened);
      },
    });
    app.listen('127.0.0.1', 0, (token) => {
      if (token === false) return reject(new Error('cannot listen on the loopback'));
      listening = token;
      client = new WebSocket(`ws://127.0.0.1:${uws.us_socket_local_port(token)}${path}`);
      client.on('error', (error) => {
        stopListening();
        reject(error);
      });
    });
  });
  return {
    within: (work) => void native.cork(work),
    close: () => {
      app.close();
      client?.terminate();
    },
  };
}
