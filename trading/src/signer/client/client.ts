import { open } from 'node:fs/promises';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import { reasonOf, StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Halt, HaltReading } from '@sluice/gateway/store/halt/halt.ts';
import { auditPlaceName, headsHere, takeAuditPlace, type AuditPlace } from '../audit/place.ts';
import { logsIn, segmentFile, slotName } from '../audit/segments.ts';
import { connectSigner, startSigner, type SignerLink } from './child.ts';
import type { LogHead, SealedWallet, SignAnswer, SignCommand } from '../wire/protocol.ts';
import type { SignerSession } from './session.ts';
import type { SigningLimits } from '../signing/signing.ts';
import { startTerms } from '../signing/start-terms.ts';
import { Supervisor, type SignerStart, type StartFault } from './supervisor.ts';

/** Maximum number of requests that wait for the signing process. A further one is refused. */
const maxInFlight = 256;
/** Every request is answered within this time. A process that takes longer is killed. */
const answerWithinMs = 5_000;
/** The longest message that is sent to the signing process. The policy's own limit is lower. */
const maxHandedBytes = 2_048;
const orderIdForm = /^[\w-]{1,64}$/;

export interface SignerOptions {
  readonly store: Pick<Store, 'wallets' | 'auditHeads' | 'dataDir' | 'databaseUrl' | 'time'>;
  /** Name of the keystore (`keystoreName`). */
  readonly keystore: string;
  /** As `passphraseFileOf` returns it. Null: there is none, and nothing is signed. */
  readonly passphraseFile: string | null;
  readonly limits: SigningLimits;
  readonly halt: Pick<Halt, 'read'>;
  readonly log: Logger;
  /** The socket of a signing service that runs under another user. It needs no passphrase here. Null: the gateway starts a process. */
  readonly signerSocket?: string | null;
  /** Folder of the audit logs. Null: under the data folder. */
  readonly signerDir?: string | null;
  /** Length at which a new segment of the audit log begins. */
  readonly segmentBytes?: number;
  readonly clock?: Clock;
}

/** Why a signing process does not sign. `refused`: its policy or the limits of the wallet do not allow this message. */
export type SignRefusal =
  | { readonly ok: false; readonly reason: 'refused'; readonly rule: string; readonly message: string }
  | { readonly ok: false; readonly reason: 'unknown_wallet' | 'halted' | 'unavailable' };

export interface Signature {
  readonly ok: true;
  readonly signature: Uint8Array;
  /**
   * Resolves once the signer's audit line of this signature is on the disk. Nothing may be sent before, because a loss of power would
   * otherwise leave a signature without an audit line. Rejects with a `StoreUnavailableError` if the disk fails.
   */
  readonly audited: () => Promise<void>;
}

export type SignOutcome = Signature | SignRefusal;
export type SignVerdict = { readonly ok: true } | SignRefusal;

export interface SignRequest {
  readonly orderId: string;
  readonly publicKey: string;
  /** The complete message to sign. */
  readonly message: Uint8Array;
  /**
   * Bytes of the pool's account, if the instruction does not name the coins of the pool (`coinsIn` of its form). They only name the coins for which the wallet's
   * own accounts are checked, so false bytes lead to a refusal.
   */
  readonly poolAccount?: Uint8Array | undefined;
}

const unavailable: SignRefusal = { ok: false, reason: 'unavailable' };
type Granted = Extract<SignAnswer, { readonly op: 'signed' | 'allowed' }>;
/** An answer that grants a request, and the process that gave it. */
interface Grant {
  readonly granted: Granted;
  readonly session: SignerSession;
}

/** For a gateway that sends no transactions. It starts no process and needs no passphrase. */
export const noSigner: Pick<SigningProcess, 'counts' | 'isReady' | 'fault' | 'sign' | 'judge' | 'seal' | 'close'> = {
  counts: { signed: 0, refused: 0, unavailable: 0 },
  isReady: false,
  fault: null,
  sign: async () => unavailable,
  judge: async () => unavailable,
  seal: async () => null,
  close: async () => undefined,
};

/** A request that waits for an answer, until its deadline. */
interface Caller {
  hasLeft: boolean;
  readonly leaves: Promise<void>;
}

/**
 * Signs with custodial wallets by a separate process, which is restarted when it ends. The process decides from the decoded message, and
 * believes nothing that the caller says about it. Methods never reject.
 */
export class SigningProcess {
  /** `refused`: by the process, because the wallet is unknown, or because trading is halted. */
  readonly counts = { signed: 0, refused: 0, unavailable: 0 };
  readonly #options: SignerOptions;
  readonly #clock: Clock;
  /** Null if the audit log belongs to another user. */
  readonly #place: AuditPlace | null;
  readonly #supervisor: Supervisor;
  #inFlight = 0;
  /** The last record of the length of the audit log. */
  #headNote: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  constructor(options: SignerOptions) {
    const { store, keystore, clock = systemClock, log } = options;
    this.#options = options;
    this.#clock = clock;
    const source = sourceOf(options);
    this.#place = 'ok' in source ? null : source.place;
    const parts =
      'ok' in source
        ? source
        : {
            link: source.link,
            heads: () => headsHere(store),
            onHead: (logId: string, head: LogHead) => this.#noteHead(logId, head),
            onDamagedWallet: (publicKey: string) => log.error({ wallet: publicKey }, 'wallet_does_not_open'),
          };
    this.#supervisor = new Supervisor({ keystore: () => store.wallets.keystore(keystore), parts, clock, log });
  }

  /** The result of the first start. If the keystore does not exist yet, no process is needed, and the result is good. Never rejects. */
  get started(): Promise<SignerStart> {
    return this.#supervisor.started;
  }

  /** Process id of the current process. Null: none is ready, or it belongs to another user. */
  get pid(): number | null {
    return this.#supervisor.ready?.pid ?? null;
  }

  get isReady(): boolean {
    return this.#supervisor.ready !== null;
  }

  /** Why nothing can be signed. Null: signing works, or is not configured. */
  get fault(): string | null {
    return this.#supervisor.fault;
  }

  async sign(request: SignRequest): Promise<SignOutcome> {
    const answer = await this.#ask('sign', request);
    const outcome = 'granted' in answer ? this.#signed(answer) : answer;
    this.counts[outcome.ok ? 'signed' : outcome.reason === 'unavailable' ? 'unavailable' : 'refused']++;
    return outcome;
  }

  /** The decision that `sign` would make now. Signs nothing and counts nothing against a limit. */
  async judge(request: SignRequest): Promise<SignVerdict> {
    const answer = await this.#ask('judge', request);
    return 'granted' in answer ? { ok: true } : answer;
  }

  /** Seals the wallet of this seed, or a new one, whose seed never leaves the process. Null: no process is ready in time. */
  seal(seed: Uint8Array | null): Promise<SealedWallet | null> {
    return this.#inTime<SealedWallet | null>(async (caller) => {
      const session = await this.#session(caller);
      if (session === null || caller.hasLeft) return null;
      return this.#orKill(session, () => session.seal(seed));
    }, null);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#supervisor.close();
    await this.#headNote;
    this.#place?.lock.release();
  }

  /** Records in the store how long the audit log is. */
  #noteHead(logId: string, { lines, mac }: LogHead): void {
    const { store, log } = this.#options;
    this.#headNote = store.auditHeads
      .note({ logId, lines, mac, notedAtMs: store.time.nowMs(), place: auditPlaceName(store) })
      // The next record covers this one too.
      .catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'audit_head_not_noted'));
  }

  #signed({ granted, session }: Grant): SignOutcome {
    if (granted.op !== 'signed') return unavailable;
    const { id, signature } = granted;
    return { ok: true, signature, audited: () => this.#audited(session, id) };
  }

  async #inTime<T>(work: (caller: Readonly<Caller>) => Promise<T>, otherwise: T): Promise<T> {
    if (this.#inFlight >= maxInFlight) return otherwise;
    this.#inFlight++;
    let cancel = (): void => undefined;
    const late = new Promise<void>((over) => (cancel = this.#clock.after(answerWithinMs, over)));
    const caller: Caller = { hasLeft: false, leaves: late.then(() => void (caller.hasLeft = true)) };
    try {
      return await Promise.race([work(caller), caller.leaves.then(() => otherwise)]);
    } finally {
      cancel();
      this.#inFlight--;
    }
  }

  async #session({ leaves }: Readonly<Caller>): Promise<SignerSession | null> {
    return this.#supervisor.ready ?? (await this.#supervisor.session(leaves));
  }

  /** Kills a process that does not answer in time. A new process is not blamed for the time that the caller waited for its start. */
  #orKill<T>(session: SignerSession, work: () => Promise<T>): Promise<T> {
    return work().finally(this.#clock.after(answerWithinMs, () => session.kill()));
  }

  async #ask(op: SignCommand['op'], request: SignRequest): Promise<Grant | SignRefusal> {
    const fault = formFault(request);
    if (fault !== null) return fault;
    try {
      return await this.#inTime<Grant | SignRefusal>((caller) => this.#askSession(op, request, caller), unavailable);
    } catch (error) {
      this.#options.log.error({ orderId: request.orderId, reason: reasonOf(error) }, 'signing_failed');
      return unavailable;
    }
  }

  /** Rejects if the store does not answer. */
  async #askSession(op: SignCommand['op'], request: SignRequest, caller: Readonly<Caller>): Promise<Grant | SignRefusal> {
    const { store, keystore, halt } = this.#options;
    const { orderId, publicKey, message, poolAccount = null } = request;
    const isKnown = this.#supervisor.ready?.knows(publicKey) ?? false;
    const wallet = isKnown ? null : await store.wallets.byPublicKey(keystore, publicKey);
    if (wallet === null && !isKnown) return { ok: false, reason: 'unknown_wallet' };
    const session = await this.#session(caller);
    // Read last, so that the reading is recent when the process checks its age.
    const reading = await halt.read();
    if (reading.halted) return { ok: false, reason: 'halted' };
    if (session === null || caller.hasLeft) return unavailable;
    if (!session.knows(publicKey)) {
      // The previous process knew the wallet, but it has just ended, and this one does not know the wallet yet.
      if (wallet === null) return unavailable;
      session.addWallet(wallet);
    }
    const ask = ({ readAtNs }: HaltReading): Promise<SignAnswer | null> =>
      session.ask({ op, orderId, publicKey, message, poolAccount, runningAtNs: readAtNs, nowMs: store.time.nowMs() });
    return this.#orKill(session, async () => {
      const answer = await ask(reading);
      if (!isTooLate(answer)) return outcomeOf(answer, session);
      // The process checked the reading so late that it was too old. A new reading may be recent enough.
      const next = await halt.read();
      if (next.halted) return { ok: false, reason: 'halted' };
      const second = await ask(next);
      return isTooLate(second) ? unavailable : outcomeOf(second, session);
    });
  }

  /**
   * Resolves once the audit log's line of this signature is on the disk. A process writes the line to the file before it signs. If the
   * process ended or does not answer, the file is flushed from here. If the file belongs to another user, that is impossible, and the
   * call rejects.
   */
  async #audited(session: SignerSession, id: number): Promise<void> {
    const noted = await this.#orKill(session, () => session.noted(id));
    if (noted === 'noted') return;
    // Flushing again would prove nothing: a disk reports lost data only once.
    if (noted === 'fault') throw new StoreUnavailableError(new Error('the audit log could not be written to the disk'));
    if (this.#place === null) throw new StoreUnavailableError(new Error('the signing process ended before its audit log was on the disk'));
    try {
      const { folder, slot } = this.#place;
      const name = slotName(this.#options.keystore, slot);
      // All segments but the newest are on the disk already.
      const log = await open(segmentFile({ folder, name }, logsIn(folder).get(name)?.at(-1) ?? 0), 'r+');
      try {
        await log.datasync();
      } finally {
        await log.close();
      }
    } catch (error) {
      throw new StoreUnavailableError(error);
    }
  }
}

function isTooLate(answer: SignAnswer | null): boolean {
  return answer?.op === 'refused' && answer.rule === 'stale';
}

function outcomeOf(answer: SignAnswer | null, session: SignerSession): Grant | SignRefusal {
  if (answer === null || answer.op === 'busy') return unavailable;
  if (answer.op !== 'refused') return { granted: answer, session };
  const { rule, message } = answer;
  if (rule === 'unknown_wallet' || rule === 'halted') return { ok: false, reason: rule };
  return { ok: false, reason: 'refused', rule, message };
}

/** Refuses requests that the process could not read. */
function formFault({ orderId, message }: SignRequest): SignRefusal | null {
  if (!orderIdForm.test(orderId)) return { ok: false, reason: 'refused', rule: 'malformed', message: 'The order id is not valid.' };
  if (message.length > maxHandedBytes) return { ok: false, reason: 'refused', rule: 'malformed', message: 'The message is too long.' };
  return null;
}

/** How signing processes are started, and where their log is. `place` is null if the log belongs to another user. */
interface Source {
  readonly link: () => SignerLink;
  readonly place: AuditPlace | null;
}

function sourceOf(options: SignerOptions): Source | StartFault {
  const { store, keystore, passphraseFile, signerSocket = null, signerDir = null, limits } = options;
  if (signerSocket !== null) return { link: () => connectSigner(signerSocket), place: null };
  if (passphraseFile === null) return { ok: false, reason: 'no_passphrase', what: 'KEYSTORE_PASSPHRASE_FILE is not set' };
  try {
    const { dataDir } = store;
    const place = takeAuditPlace(signerFolder({ dataDir, signerDir }), keystore);
    if (place === null) return { ok: false, reason: 'no_slot', what: 'DATA_DIR has the highest number of signing processes already' };
    const terms = startTerms({ place, keystore, passphraseFile, dataDir, limits, segmentBytes: options.segmentBytes });
    return { link: () => startSigner(terms), place };
  } catch (error) {
    return { ok: false, reason: 'audit_unwritable', what: reasonOf(error) };
  }
}
