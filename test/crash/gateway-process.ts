import { existsSync } from 'node:fs';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { until } from '../support/gateway.ts';

export type Victim = 'gateway' | 'signer' | 'both';

/** A gateway in its own process, with its signing process. */
export interface GatewayProcess {
  readonly url: string;
  /** Startup. */
  readonly startMs: number;
  readonly isAlive: boolean;
  /** Resolves when it has a signing process that is ready. */
  signerReady(): Promise<number>;
  /** Sends SIGSTOP to the signing process: it accepts and answers nothing until it continues or is killed. */
  stopSigner(): Promise<void>;
  continueSigner(): void;
  /** SIGSTOP to the gateway: everybody else sees a machine that was suspended. */
  freeze(): void;
  thaw(): void;
  /** Sends SIGKILL; resolves when both are gone. */
  kill(victim: Victim): Promise<void>;
  /** Sends SIGTERM; returns the exit code. */
  end(): Promise<number | null>;
  readonly log: RunningProgram['log'];
}

const startWithinMs = 180_000;

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/exe`);
}

/** Does nothing if the process has ended: a gateway ends a signing process that has not answered for five seconds. */
function signal(pid: number, name: NodeJS.Signals): void {
  // 0 would be this process and its children.
  if (pid === 0) return;
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

export async function startGatewayProcess(folder: string, env: Readonly<Record<string, string>>): Promise<GatewayProcess> {
  const startedMs = performance.now();
  const program = runProgram('cli/gateway.ts', { folder, env });
  const { child, log } = program;
  const url = String((await program.logged('listening', startWithinMs))['url']);
  const startMs = performance.now() - startedMs;
  const newestSigner = (): number => Number(log.findLast(({ msg }) => msg === 'signer_ready')?.['signerPid'] ?? 0);
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  const signerReady = (): Promise<number> => until('a signing process', () => isRunning(newestSigner()) && newestSigner(), startWithinMs);
  return {
    url,
    startMs,
    log,
    get isAlive() {
      return isAlive();
    },
    signerReady,
    stopSigner: async () => signal(await signerReady(), 'SIGSTOP'),
    continueSigner: () => signal(newestSigner(), 'SIGCONT'),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    kill: async (victim) => {
      const signer = victim === 'gateway' ? newestSigner() : await signerReady();
      // The gateway first, so that it cannot start another signing process in between.
      if (victim !== 'signer') {
        child.kill('SIGKILL');
        await until('the gateway to be gone', () => !isAlive());
      }
      if (victim !== 'gateway') signal(signer, 'SIGKILL');
      if (victim === 'gateway') signal(signer, 'SIGCONT');
      // A signing process whose gateway is gone ends by itself.
      await until('the signing process to be gone', () => !isRunning(signer));
    },
    end: () => program.stop(),
  };
}
