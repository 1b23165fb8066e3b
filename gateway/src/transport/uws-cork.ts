import { randomUUID } from 'node:crypto';
import { request, type ClientRequest } from 'node:http';
import type * as UwsModule from 'uWebSockets.js';
import type { Uws } from './uws-load.ts';

/**
 * A cork that belongs to no client. In the pinned version the native `cork` of a response that is upgraded within it goes on with what
 * is now a WebSocket: where that lies in the place of the response it reads what is no state of one, and now and then shuts the
 * connection down. Within the cork of another response it does no more than to call back (within that of a WebSocket too, but then it
 * writes a warning for each handshake). The other response is one of this process to itself that never ends, on a port of the loopback
 * that is open while it connects.
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
  let client: ClientRequest | null = null;
  const pending = await new Promise<UwsModule.HttpResponse>((resolve, reject) => {
    let listening: UwsModule.us_listen_socket | null = null;
    const stopListening = (): void => {
      if (listening !== null) uws.us_listen_socket_close(listening);
      listening = null;
    };
    app.get(path, (res) => {
      stopListening();
      // It ends with `close` alone.
      res.onAborted(() => undefined);
      resolve(res);
    });
    app.listen('127.0.0.1', 0, (token) => {
      if (token === false) return reject(new Error('cannot listen on the loopback'));
      listening = token;
      client = request({ host: '127.0.0.1', port: uws.us_socket_local_port(token), path, agent: false });
      client.on('error', (error) => {
        stopListening();
        reject(error);
      });
      client.end();
    });
  });
  return {
    within: (work) => void pending.cork(work),
    close: () => {
      app.close();
      client?.destroy();
    },
  };
}
