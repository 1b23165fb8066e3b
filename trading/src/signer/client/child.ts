import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { programUrl } from '@sluice/shared/runtime/thread/programs.ts';
import type { StartTerms } from '../signing/start-terms.ts';

/** A gateway's connection to its signing process: one that it started, or one behind a socket. */
export interface SignerLink {
  /** Null: the process belongs to another user, or could not be started. */
  readonly pid: number | null;
  readonly input: Writable;
  readonly output: Readable;
  isOver(): boolean;
  /** Calls the listener once, with the reason why the process ended. */
  onEnd(listener: (what: string) => void): void;
  /** Kills the process. If it is behind a socket, closes the connection, and the process then ends by itself. */
  kill(): void;
}

/**
 * Starts a signing process. It inherits only `stdio`. Its environment is empty, so that no setting and no Node option can affect it.
 */
export function spawnSigner(terms: StartTerms, stdio: StdioOptions): ChildProcess {
  return spawn(process.execPath, ['--enable-source-maps', fileURLToPath(programUrl('signer')), JSON.stringify(terms)], { env: {}, stdio });
}

/** Starts a signing process under the gateway's own user, connected by pipes. */
export function startSigner(terms: StartTerms): SignerLink {
  const child = spawnSigner(terms, ['pipe', 'pipe', 'inherit']);
  const [input, output] = [child.stdin, child.stdout];
  if (input === null || output === null) throw new Error('a process was started without its pipes');
  return {
    pid: child.pid ?? null,
    input,
    output,
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    onEnd: (listener) => {
      child.once('close', (code, signal) => listener(signal ?? `exit code ${code}`));
      child.once('error', (error) => listener(error.message));
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

/** Connects to `serveSigner`, which starts a signing process under another user for this connection. */
export function connectSigner(path: string): SignerLink {
  const socket = connect(path);
  let fault: string | null = null;
  socket.on('error', (error) => (fault ??= error.message));
  return {
    pid: null,
    input: socket,
    output: socket,
    isOver: () => socket.destroyed,
    onEnd: (listener) => void socket.once('close', () => listener(fault ?? 'the connection ended')),
    kill: () => void socket.destroy(),
  };
}
