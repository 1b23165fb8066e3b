import type { Logger } from '@sluice/shared/log/log.ts';
import { reasonOf } from '../store/store-away.ts';
import type { StoredKeystore } from '../store/wallet-table.ts';
import type { SignerFault } from './protocol.ts';
import { startSession, type SessionOptions, type SignerSession } from './session.ts';

/** Pauses between the starts of a process that does not stay, milliseconds. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** While there is no keystore: how often it is looked whether there is one now, milliseconds. */
const idlePauseMs = 250;
/** A process that was ready for so long stays: the next pause is the first again, milliseconds. */
const steadyMs = 10_000;
/** How long the process may take to end when it is told to, milliseconds. */
const endWithinMs = 3_000;

/** `no_slot`: as many signing processes as there may be run on this folder. */
export type StartFault = {
  readonly ok: false;
  readonly reason: SignerFault | 'ended' | 'no_passphrase' | 'no_slot';
  readonly what: string;
};
export type SignerStart = { readonly ok: true } | StartFault;

export interface SupervisorOptions {
  /** The keystore to unlock; null: there is none yet, and no process is needed. */
  readonly keystore: () => Promise<StoredKeystore | null>;
  /** Everything else that a process is started with; a fault where none can be. */
  readonly parts: Omit<SessionOptions, 'keystore'> | StartFault;
  readonly log: Logger;
}

/** Keeps one signing process running: started anew when it ends, with pauses that grow while it does not stay. */
export class Supervisor {
  /** What came of the first start. Never rejects. */
  readonly started: Promise<SignerStart>;
  /** Who waits for a process; each until it leaves. */
  readonly #waiting = new Set<(session: SignerSession | null) => void>();
  readonly #options: SupervisorOptions;
  readonly #done: Promise<void>;
  #tellStarted: (outcome: SignerStart) => void = () => undefined;
  #running: SignerSession | null = null;
  #ready: SignerSession | null = null;
  #closed = false;
  #fault: string | null = null;
  #wake = (): void => undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.started = new Promise((tell) => (this.#tellStarted = tell));
    this.#done = this.#run();
  }

  /** The process that is ready; null: none. */
  get ready(): SignerSession | null {
    return this.#ready;
  }

  /** Why nothing can be signed; null where a process is ready, none is needed, or there is no passphrase and so no custody. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Resolves with a process that is ready, as soon as there is one; null: there will be none, or whoever waits left before. */
  async session(leaves: Promise<void>): Promise<SignerSession | null> {
    if (this.#ready !== null || this.#closed) return this.#ready;
    // Perhaps a keystore was made a moment ago.
    if (this.#running === null) this.#wake();
    return new Promise((give) => {
      const take = (session: SignerSession | null): void => {
        this.#waiting.delete(take);
        give(session);
      };
      this.#waiting.add(take);
      void leaves.then(() => take(null));
    });
  }

  /** Ends the process, which answers what it is at before. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    this.#running?.end();
    const timer = setTimeout(() => this.#running?.kill(), endWithinMs);
    await this.#done;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { parts, log } = this.#options;
    if ('ok' in parts) {
      log.error({ reason: parts.reason, what: parts.what }, 'signer_not_started');
      this.#tellStarted(parts);
      this.#fault = parts.reason === 'no_passphrase' ? null : `No signing process can be started (${parts.reason}).`;
      this.#closed = true;
      return;
    }
    let pauseMs = firstPauseMs;
    while (!this.#closed) {
      const outcome = await this.#runOnce(parts).catch((error: unknown) => {
        log.error({ reason: reasonOf(error) }, 'signer_not_started');
        return 'failed' as const;
      });
      pauseMs = outcome === 'failed' ? Math.min(2 * pauseMs, longestPauseMs) : firstPauseMs;
      if (!this.#closed) await this.#pause(outcome === 'idle' && this.#waiting.size === 0 ? idlePauseMs : pauseMs);
    }
    this.#tellStarted({ ok: false, reason: 'ended', what: 'closed before it was ready' });
    this.#giveAll(null);
  }

  /** One process from its start to its end. `idle`: none is needed. */
  async #runOnce(parts: Omit<SessionOptions, 'keystore'>): Promise<'kept' | 'failed' | 'idle'> {
    const { log } = this.#options;
    const keystore = await this.#options.keystore();
    if (keystore === null || this.#closed) {
      this.#tellStarted({ ok: true });
      this.#fault = null;
      return 'idle';
    }
    const session = startSession({ ...parts, keystore });
    this.#running = session;
    const outcome = await session.started;
    const readyAt = performance.now();
    if (outcome.ok) {
      log.info({ signerPid: session.pid }, 'signer_ready');
      this.#ready = session;
      this.#fault = null;
      this.#giveAll(session);
    } else {
      this.#fault = `The signing process does not start (${outcome.reason}).`;
      if (!this.#closed) log.error({ reason: outcome.reason, what: outcome.what }, 'signer_not_started');
    }
    this.#tellStarted(outcome);
    await session.ended;
    [this.#ready, this.#running] = [null, null];
    if (outcome.ok) this.#fault = 'The signing process ended, and is started anew.';
    if (outcome.ok && !this.#closed) log.error({ signerPid: session.pid }, 'signer_ended');
    return outcome.ok && performance.now() - readyAt > steadyMs ? 'kept' : 'failed';
  }

  #giveAll(session: SignerSession | null): void {
    for (const take of this.#waiting) take(session);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((over) => {
      const timer = setTimeout(over, ms);
      this.#wake = () => {
        clearTimeout(timer);
        over();
      };
    });
  }
}
