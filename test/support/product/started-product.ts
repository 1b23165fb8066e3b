import type { ChildProcess } from 'node:child_process';
import { startProgram } from '../command-line.ts';

/** What `start` prints. */
export interface PrintedBlock {
  readonly url: string;
  /** Opens the dashboard signed in, once. */
  readonly link: string;
  readonly apiKey: string;
  readonly wallet: string;
  /** The node of the simulated chain. */
  readonly rpcUrl: string;
  readonly wsUrl: string;
}

export interface StartedProduct extends PrintedBlock {
  readonly child: ChildProcess;
}

/** Reads the block from the output of `start`. Null until it is complete. */
export function readBlock(output: string): PrintedBlock | null {
  const find = (pattern: RegExp): string | undefined => pattern.exec(output)?.[1];
  const [link, url] = [find(/(http:\S+#sign-in=\S+)/), find(/(http:\/\/127\.0\.0\.1:\d+)/)];
  const [apiKey, wallet] = [find(/(sluice_\w+)\n/), find(/wallet +(\w{32,44})\n/)];
  const [rpcUrl, wsUrl] = [find(/chain RPC +(http:\S+)\n/), find(/WebSocket: (ws:\S+)\)/)];
  if (link === undefined || url === undefined || apiKey === undefined || wallet === undefined) return null;
  if (rpcUrl === undefined || wsUrl === undefined || !output.includes('sluice watch trades')) return null;
  return { url, link, apiKey, wallet, rpcUrl, wsUrl };
}

const startWithinMs = 60_000;

/** Starts everything on a fast simulated market, with its data in `folder`, and reads the printed block. */
export function startProduct(folder: string, speed: number, settings: Readonly<Record<string, string>> = {}): Promise<StartedProduct> {
  const child = startProgram('cli/start.ts', [], {
    folder,
    env: { PORT: '0', LOG_LEVEL: 'warn', SIMNET_SPEED: String(speed), ...settings },
  });
  let output = '';
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      child.kill('SIGKILL');
      reject(new Error(`${why}:\n${output}`));
    };
    const timer = setTimeout(() => fail('no block in time'), startWithinMs);
    const read = (text: string): void => {
      output += text;
      const block = readBlock(output);
      if (block === null) return;
      clearTimeout(timer);
      resolve({ child, ...block });
    };
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', read);
    child.once('close', (code) => fail(`ended with ${code}`));
  });
}
