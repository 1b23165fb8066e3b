import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { reasonOf } from '@sluice/gateway/store/store-unavailable.ts';
import type { StoredKeystore } from '@sluice/gateway/store/sql/tables/wallets.ts';
import type { SignerFault } from '../wire/protocol.ts';
import { SignerSession, type SessionOptions } from './session.ts';

/** Pauses between starts while the process keeps ending. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** While there is no keystore: pause between two checks for one. */
const idlePauseMs = 250;
/** After a process was ready for this long, the next pause is the shortest again. */
const steadyMs = 10_000;
/** How long the process may take to end after it was asked to. */
const endWithinMs = 3_000;

/** `no_slot`: the most signing processes that one folder allows are running. */
export type StartFault = {
  readonly ok: false;
  readonly reason: SignerFault | 'ended' | 'no_passphrase' | 'no_slot';
  readonly what: string;
};
export type SignerStart = { readonly ok: true } | StartFault;

export interface SupervisorOptions {
  /** The keystore to unlock. Null: it does not exist yet, and no process is needed. */
  readonly keystore: () => Promise<StoredKeystore | null>;
  /** Everything else that a process is started with, or a fault if none can be started. */
  readonly parts: Omit<SessionOptions, 'keystore'> | StartFault;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Keeps one signing process running. It is restarted when it ends; the pauses grow while it keeps ending. */
export class Supervisor {
  /** The result of the first start. Never rejects. */
  readonly started: Promise<SignerStart>;
  /** The callers that wait for a process. */
  readonly #waiting = new Set<(session: SignerSession | null) => void>();
  readonly #options: SupervisorOptions;
  readonly #done: Promise<void>;
  #resolveStarted: (outcome: SignerStart) => void = () => undefined;
  #running: SignerSession | null = null;
  #ready: SignerSession | null = null;
  #closed = false;
  #fault: string | null = null;
  #wake = (): void => undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.started = new Promise((resolve) => (this.#resolveStarted = resolve));
    this.#done = this.#run();
  }

  /** The process that is ready; null: none. */
  get ready(): SignerSession | null {
    return this.#ready;
  }

  /** Why nothing can be signed. Null: a process is ready, none is needed, or there is no passphrase and so no custody. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Resolves with a process as soon as one is ready. Null: there will be none, or the caller stopped waiting. */
  async session(leaves: Promise<void>): Promise<SignerSession | null> {
    if (this.#ready !== null || this.#closed) return this.#ready;
    // A keystore may have been created since the last check.
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

  /** Ends the process after it has answered its current commands. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    this.#running?.end();
    const cancelKill = this.#options.clock.after(endWithinMs, () => this.#running?.kill());
    await this.#done;
    cancelKill();
  }

  async #run(): Promise<void> {
    const { parts, log } = this.#options;
    if ('ok' in parts) {
      log.error({ reason: parts.reason, what: parts.what }, 'signer_not_started');
      this.#resolveStarted(parts);
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
    this.#resolveStarted({ ok: false, reason: 'ended', what: 'closed before it was ready' });
    this.#giveAll(null);
  }

  /** Runs one process from its start to its end. `idle`: none is needed. */
  async #runOnce(parts: Omit<SessionOptions, 'keystore'>): Promise<'stable' | 'failed' | 'idle'> {
    const { clock, log } = this.#options;
    const keystore = await this.#options.keystore();
    if (keystore === null || this.#closed) {
      this.#resolveStarted({ ok: true });
      this.#fault = null;
      return 'idle';
    }
    const session = new SignerSession({ ...parts, keystore });
    this.#running = session;
    const outcome = await session.started;
    const readyAt = clock.steadyMs();
    if (outcome.ok) {
      log.info({ signerPid: session.pid }, 'signer_ready');
      this.#ready = session;
      this.#fault = null;
      this.#giveAll(session);
    } else {
      this.#fault = `The signing process does not start (${outcome.reason}).`;
      if (!this.#closed) log.error({ reason: outcome.reason, what: outcome.what }, 'signer_not_started');
    }
    this.#resolveStarted(outcome);
    await session.ended;
    [this.#ready, this.#running] = [null, null];
    if (outcome.ok) this.#fault = 'The signing process ended, and is being restarted.';
    if (outcome.ok && !this.#closed) log.error({ signerPid: session.pid }, 'signer_ended');
    return outcome.ok && clock.steadyMs() - readyAt > steadyMs ? 'stable' : 'failed';
  }

  #giveAll(session: SignerSession | null): void {
    for (const take of this.#waiting) take(session);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((over) => {
      const cancel = this.#options.clock.after(ms, over);
      this.#wake = () => {
        cancel();
        over();
      };
    });
  }
}
