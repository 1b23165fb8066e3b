import { createServer } from 'node:net';

/**
 * Rejects with the system's error (EADDRINUSE, EACCES, EADDRNOTAVAIL …) if it is not possible to listen on `host:port`. uWebSockets.js does not
 * report the reason.
 */
export function probePort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  });
}
