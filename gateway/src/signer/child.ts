import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { programUrl } from '@sluice/shared/thread/programs.ts';
import type { StartTerms } from './start-terms.ts';

/** A signing process, as a gateway has it: one that it started, or one behind a socket. */
export interface SignerLink {
  /** Null: of another user, or it could not be started. */
  readonly pid: number | null;
  readonly input: Writable;
  readonly output: Readable;
  isOver(): boolean;
  /** Called once, with how it ended. */
  onEnd(listener: (what: string) => void): void;
  /** Ends it at once; of one behind a socket the connection, behind which it ends too. */
  kill(): void;
}

/**
 * Starts a signing process. It has `stdio` and nothing else of this process: an empty environment, so that no setting, and no option
 * for Node, gets into it.
 */
export function spawnSigner(terms: StartTerms, stdio: StdioOptions): ChildProcess {
  return spawn(process.execPath, ['--enable-source-maps', fileURLToPath(programUrl('signer')), JSON.stringify(terms)], { env: {}, stdio });
}

/** A signing process of the gateway's own user, over pipes. */
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

/** A signing process of another user, which `serveSigner` starts for this connection. */
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
