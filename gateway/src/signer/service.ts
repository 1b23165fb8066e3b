import type { ChildProcess } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Logger } from '@sluice/shared/log/log.ts';
import { takeLock, type Lock } from '../store/lock.ts';
import { makeFolder } from '../store/make-folder.ts';
import { reasonOf } from '../store/store-away.ts';
import { takeAuditPlace } from './audit/place.ts';
import { spawnSigner } from './child.ts';
import type { SigningLimits } from './signing.ts';
import { startTerms } from './start-terms.ts';

/** Gateways that are served at once: each has a signing process of its own. One more is turned away. */
const maxGateways = 16;
/** How long signing processes may take to end behind their connections, milliseconds. */
const endWithinMs = 3_000;
/** The socket's owner and the gateways' group may write to it, and so may have orders signed. */
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

export interface SignerService {
  /** Takes no more gateways, and ends the connections that there are; each signing process ends behind its own. */
  close(): Promise<void>;
}

/**
 * Starts a signing process for each gateway that connects, under this process's user. The connection is handed over to it as its
 * standard input and output: this process reads nothing of it, and holds no key. Rejects where another service runs on the folder,
 * or the socket cannot be made.
 */
export async function serveSigner(options: ServiceOptions): Promise<SignerService> {
  const { socket: path, folder, log } = options;
  makeFolder(folder);
  const lock = takeLock(join(folder, 'service.lock'));
  if (lock === null) throw new Error(`another signing service runs on ${folder}`);
  const open = new Set<Open>();
  // Reading begins in the process that the connection is for.
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => take(socket, options, open));
  try {
    await listen(server, path);
  } catch (error) {
    lock.release();
    throw error;
  }
  log.info({ socket: path, folder }, 'signer_service_listens');
  return {
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      const ended = [...open].map(({ socket, child }) => {
        socket.end();
        // A gateway that holds on to its connection would hold on to the process.
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
  // The gateway is gone, which its signing process sees.
  socket.on('error', () => undefined);
  let lock: Lock | null = null;
  try {
    const place = open.size < maxGateways ? takeAuditPlace(folder, keystore) : null;
    if (place === null) {
      log.warn({ gateways: open.size }, 'gateway_turned_away');
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
  // What an earlier service left; the lock says that it is gone.
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Made for nobody else, and given to the group when it is whole.
    const before = process.umask(0o177);
    server.listen(path, () => {
      server.off('error', reject);
      chmodSync(path, socketMode);
      resolve();
    });
    process.umask(before);
  });
}
