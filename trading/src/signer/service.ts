import type { ChildProcess } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { takeLock, type Lock } from '@sluice/gateway/store/files/lock.ts';
import { makeFolder } from '@sluice/gateway/store/files/files.ts';
import { reasonOf } from '@sluice/gateway/store/store-unavailable.ts';
import { takeAuditPlace } from './audit/place.ts';
import { spawnSigner } from './client/child.ts';
import type { SigningLimits } from './signing/signing.ts';
import { startTerms } from './signing/start-terms.ts';

/** Maximum number of gateways served at once. Each has its own signing process. A further one is refused. */
const maxGateways = 16;
/** How long signing processes may take to end after their connections were closed. */
const endWithinMs = 3_000;
/** The socket's owner and the gateways' group can write to it, and so can have orders signed. */
const socketMode = 0o660;

export interface ServiceOptions {
  readonly socket: string;
  /** `SIGNER_DIR`. */
  readonly folder: string;
  readonly keystore: string;
  readonly passphraseFile: string;
  readonly limits: SigningLimits;
  readonly log: Logger;
}

/**
 * Starts a signing process for each gateway that connects, under this process's user. The signing process gets the connection as its
 * standard input and output. This process reads nothing from it and holds no key. Rejects if another service runs on the folder, or
 * if the socket cannot be created.
 */
export async function serveSigner(options: ServiceOptions) {
  const { socket: path, folder, log } = options;
  makeFolder(folder);
  const lock = takeLock(join(folder, 'service.lock'));
  if (lock === null) throw new Error(`another signing service runs on ${folder}`);
  const open = new Set<Open>();
  // Only the signing process may read from the connection.
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => take(socket, options, open));
  try {
    await listen(server, path);
  } catch (error) {
    lock.release();
    throw error;
  }
  log.info({ socket: path, folder }, 'signer_service_listens');
  return {
    /** Refuses new gateways and closes all connections. Each signing process ends after its connection. */
    close: async (): Promise<void> => {
      const closed = new Promise((resolve) => server.close(resolve));
      const ended = [...open].map(({ socket, child }) => {
        socket.end();
        // Otherwise a gateway that keeps its connection open would keep the process alive.
        const timer = setTimeout(() => child.kill('SIGKILL'), endWithinMs);
        return new Promise<void>((resolve) => {
          child.once('close', () => {
            clearTimeout(timer);
            resolve();
          });
        });
      });
      await Promise.all([closed, ...ended]);
      lock.release();
    },
  };
}

interface Open {
  readonly socket: Socket;
  readonly child: ChildProcess;
}

function take(socket: Socket, options: ServiceOptions, open: Set<Open>): void {
  const { folder, keystore, log } = options;
  // The gateway has ended. Its signing process detects that itself.
  socket.on('error', () => undefined);
  let lock: Lock | null = null;
  try {
    const place = open.size < maxGateways ? takeAuditPlace(folder, keystore) : null;
    if (place === null) {
      log.warn({ gateways: open.size }, 'gateway_refused');
      return void socket.destroy();
    }
    lock = place.lock;
    const child = spawnSigner(startTerms({ ...options, dataDir: null, place }), [socket, socket, 'inherit']);
    const one = { socket, child };
    open.add(one);
    const end = (): void => {
      if (!open.delete(one)) return;
      place.lock.release();
      socket.destroy();
    };
    child.once('close', end);
    child.once('error', end);
    log.info({ signerPid: child.pid, gateways: open.size }, 'gateway_connected');
  } catch (error) {
    lock?.release();
    socket.destroy();
    log.error({ reason: reasonOf(error) }, 'signer_not_started');
  }
}

function listen(server: Server, path: string): Promise<void> {
  // Remove the socket of an earlier service. The lock shows that it has ended.
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Created for the owner only, and opened to the group once it is complete.
    const before = process.umask(0o177);
    server.listen(path, () => {
      server.off('error', reject);
      chmodSync(path, socketMode);
      resolve();
    });
    process.umask(before);
  });
}
