import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Readable, Writable } from 'node:stream';
import type { StartTerms } from './start-terms.ts';

const program = fileURLToPath(new URL('main.ts', import.meta.url));
/** By address: the process is started in whatever folder the gateway runs in. */
const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

export interface SignerChild {
  readonly process: ChildProcess;
  readonly input: Writable;
  readonly output: Readable;
}

/**
 * Starts a signing process. It has pipes of its own and nothing else of the gateway's: an empty environment, so that no setting, and
 * no option for Node, gets into it.
 */
export function startSigner(terms: StartTerms): SignerChild {
  const child = spawn(process.execPath, ['--import', loader, program, JSON.stringify(terms)], {
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  return { process: child, input: child.stdin, output: child.stdout };
}
