import { randomUUID } from 'node:crypto';
import { request, type ClientRequest } from 'node:http';
import type * as UwsModule from 'uWebSockets.js';
import type { Uws } from './uws-load.ts';

export type Cork = Awaited<ReturnType<typeof openCork>>;

/**
 * The native `cork` of a response that belongs to no client. It works around a fault in the pinned version of uWebSockets.js. If a response is upgraded inside its own
 * native `cork`, the native code afterwards treats the new WebSocket as the old response, reads invalid state, and sometimes closes the
 * connection. Inside the cork of another response, it only runs the callback. (Inside the cork of a WebSocket too, but then it prints a
 * warning for each handshake.) The other response here is one from this process to itself, which never ends. It uses a port on the loopback
 * that is open only while it connects. Rejects if it cannot listen on the loopback.
 */
export async function openCork(uws: Uws) {
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
      // It ends only with `close`.
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
    /** Runs `work` at once. */
    within: (work: () => void): void => void pending.cork(work),
    close: (): void => {
      app.close();
      client?.destroy();
    },
  };
}
