import { createServer } from 'node:net';

/**
 * Rejects with the system's error (EADDRINUSE, EACCES, EADDRNOTAVAIL …) where `host:port` cannot be listened on.
 * uWebSockets.js listens with SO_REUSEPORT and says nothing about a process that has the port already.
 */
export function probePort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  });
}
