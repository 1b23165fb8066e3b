import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Gathered } from '@sluice/programs/explain/gather.ts';
import type { ExplainOutcome } from '@sluice/programs/explain/run.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { programUrl } from '@sluice/shared/runtime/thread/programs.ts';

/** The heap of the process, in megabytes. */
const heapMb = 192;
/** A transaction and its IDLs are explained in less than a tenth of this. */
const withinMs = 5_000;
/** The process ends if nobody asks for this long. */
const idleMs = 60_000;
/** Requests that wait for their turn. Further ones are refused. */
const maxWaiting = 32;

/**
 * Explains transactions in a process of its own, so that the gateway's process never loads @coral-xyz/anchor and @solana/web3.js. The process is started
 * by the first request. Its environment is empty. It is killed if it takes too long, and the next request starts another.
 */
export class Explainer {
  readonly #folder: string | null;
  readonly #log: Logger;
  readonly #turn = new Semaphore(1);
  #child: ChildProcess | null = null;
  #answer: ((line: string | null) => void) | null = null;
  #idle: NodeJS.Timeout | null = null;

  /** `folder`: IDL_DIR. */
  constructor(folder: string | null, log: Logger) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Null if too many requests wait, or if the process gave no answer. */
  async explain(gathered: Gathered): Promise<ExplainOutcome | null> {
    if (this.#turn.waiting >= maxWaiting) return null;
    const line = await this.#turn.run(() => this.#ask(JSON.stringify({ gathered, folder: this.#folder })));
    return line === null ? null : (JSON.parse(line) as ExplainOutcome);
  }

  close(): void {
    this.#end('closed');
  }

  async #ask(job: string): Promise<string | null> {
    clearTimeout(this.#idle ?? undefined);
    const child = (this.#child ??= this.#start());
    const timer = setTimeout(() => this.#end('slow'), withinMs);
    try {
      return await new Promise<string | null>((resolve) => {
        this.#answer = resolve;
        child.stdin!.write(`${job}\n`);
      });
    } finally {
      clearTimeout(timer);
      this.#answer = null;
      this.#idle = setTimeout(() => this.#end('idle'), idleMs).unref();
    }
  }

  #start(): ChildProcess {
    const program = fileURLToPath(programUrl('explain-process'));
    const args = [`--max-old-space-size=${heapMb}`, '--enable-source-maps', program];
    const child = spawn(process.execPath, args, { env: {}, stdio: ['pipe', 'pipe', 'inherit'] });
    const isOver = (error: Error | null): void => {
      if (this.#child !== child) return;
      this.#log.warn({ err: error, code: child.exitCode, signal: child.signalCode }, 'explain_process_ended');
      this.#forget();
    };
    child.once('error', isOver);
    child.once('close', () => isOver(null));
    // A process that has ended is reported by `close`.
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).on('line', (line) => this.#answer?.(line));
    return child;
  }

  #end(why: 'closed' | 'slow' | 'idle'): void {
    const child = this.#child;
    if (child === null) return;
    if (why === 'slow') this.#log.warn({ withinMs }, 'explain_process_slow');
    this.#forget();
    child.kill('SIGKILL');
  }

  #forget(): void {
    this.#child = null;
    clearTimeout(this.#idle ?? undefined);
    this.#answer?.(null);
  }
}
