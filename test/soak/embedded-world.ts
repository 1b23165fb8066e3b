import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../support/processes.ts';
import { childrenOf, type Watched } from './sampler.ts';

export interface EmbeddedWorld {
  readonly watched: readonly Watched[];
  close(): Promise<void>;
}

const readyWithinMs = 60_000;
/** The limit that OPERATING.md promises for the embedded start, in bytes, without its signing process. */
const mostResidentBytes = 400 * 1024 * 1024;

/** `start` as users run it, on a simulated market that moves `speed` times faster. It has no clients. */
export async function openEmbeddedWorld(speed: number): Promise<EmbeddedWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-soak-'));
  const env = { PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'info', SIMNET_SPEED: String(speed) };
  const program = runProgram('cli/start.ts', { folder, env });
  const close = async (): Promise<void> => {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await program.logged('signer_ready', readyWithinMs);
  } catch (error) {
    await close();
    throw error;
  }
  const pid = program.child.pid!;
  const signers = childrenOf(pid).map((signer) => ({ name: 'signer', pid: signer, own: null }));
  return { watched: [{ name: 'start', pid, own: null, mostResidentBytes }, ...signers], close };
}
