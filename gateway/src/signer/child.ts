import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { programUrl } from '@sluice/shared/thread/programs.ts';
import type { StartTerms } from './start-terms.ts';

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
  const child = spawn(process.execPath, ['--enable-source-maps', fileURLToPath(programUrl('signer')), JSON.stringify(terms)], {
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  return { process: child, input: child.stdin, output: child.stdout };
}
