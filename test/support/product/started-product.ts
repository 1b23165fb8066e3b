import type { ChildProcess } from 'node:child_process';
import { startProgram } from '../command-line.ts';

export interface StartedProduct {
  readonly child: ChildProcess;
  readonly url: string;
  /** Opens the dashboard signed in, once. */
  readonly link: string;
  readonly apiKey: string;
  readonly wallet: string;
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
      const find = (pattern: RegExp): string | undefined => pattern.exec(output)?.[1];
      const [link, apiKey, wallet] = [find(/(http:\S+#sign-in=\S+)/), find(/(sluice_\w+)\n/), find(/wallet +(\w{32,44})\n/)];
      const url = find(/(http:\/\/127\.0\.0\.1:\d+)/);
      if (
        url === undefined ||
        link === undefined ||
        apiKey === undefined ||
        wallet === undefined ||
        !output.includes('sluice watch trades')
      )
        return;
      clearTimeout(timer);
      resolve({ child, url, link, apiKey, wallet });
    };
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', read);
    child.once('close', (code) => fail(`ended with ${code}`));
  });
}
