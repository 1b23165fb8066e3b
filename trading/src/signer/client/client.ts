import { open } from 'node:fs/promises';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import { reasonOf, StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Halt, HaltReading } from '@sluice/gateway/store/halt/halt.ts';
import type { OrderSigner, SignOutcome, SignRefusal, SignRequest, SignVerdict } from '../../model/order-signer.ts';
import { auditPlaceName, headsHere } from '../audit/heads.ts';
import { takeAuditPlace, type AuditPlace } from '../audit/place.ts';
import { logsIn, segmentFile, slotName } from '../audit/segments.ts';
import { connectSigner, startSigner, type SignerLink } from './child.ts';
import type { LogHead, SealedWallet, SignAnswer, SignCommand } from '../wire/protocol.ts';
import type { SignerSession } from './session.ts';
import type { SigningLimits } from '../signing/signing.ts';
import { startTerms } from '../signing/start-terms.ts';
import { Supervisor, type SignerStart, type StartFault, type SupervisorOptions } from './supervisor.ts';

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

export interface SignerCounts {
  signed: number;
  /** Refused by the process, because the wallet is unknown, or because trading is halted. */
  refused: number;
  unavailable: number;
}

export interface SigningProcess extends OrderSigner {
  readonly counts: Readonly<SignerCounts>;
  /** The result of the first start. If the keystore does not exist yet, no process is needed, and the result is good. Never rejects. */
  readonly started: Promise<SignerStart>;
  /** Process id of the current process. Null: none is ready, or it belongs to another user. */
  readonly pid: number | null;
  readonly isReady: boolean;
  /** Why nothing can be signed. Null: signing works, or is not configured. */
  readonly fault: string | null;
  /**
   * Makes a wallet, or takes the one with this seed, and seals it. The seed of a new wallet never leaves the signing process. Null: no process is ready in
   * time. Never rejects.
   */
  seal(seed: Uint8Array | null): Promise<SealedWallet | null>;
}

const unavailable: SignRefusal = { ok: false, reason: 'unavailable' };
type Granted = Extract<SignAnswer, { readonly op: 'signed' | 'allowed' }>;
/** An answer that grants a request, and the process that gave it. */
interface Grant {
  readonly granted: Granted;
  readonly session: SignerSession;
}

/** For a gateway that sends no transactions. It starts no process and needs no passphrase. */
export function noSigner(): SigningProcess {
  return {
    started: Promise.resolve({ ok: true }),
    counts: { signed: 0, refused: 0, unavailable: 0 },
    pid: null,
    isReady: false,
    fault: null,
    sign: async () => unavailable,
    judge: async () => unavailable,
    seal: async () => null,
    close: async () => undefined,
  };
}

/** Signs by a separate process, which is restarted when it ends. */
export function createSigner(options: SignerOptions): SigningProcess {
  const { store, keystore, clock = systemClock, log } = options;
  const source = sourceOf(options);
  const heads = headNotes(options);
  const parts = 'ok' in source ? source : { ...sessionParts(options), link: source.link, onHead: heads.note };
  const place = 'ok' in source ? null : source.place;
  const supervisor = new Supervisor({ keystore: () => store.wallets.keystore(keystore), parts, clock, log });
  const counts: SignerCounts = { signed: 0, refused: 0, unavailable: 0 };
  const counted = (outcome: SignOutcome): SignOutcome => {
    counts[outcome.ok ? 'signed' : outcome.reason === 'unavailable' ? 'unavailable' : 'refused']++;
    return outcome;
  };
  let inFlight = 0;
  const inTime = async <T>(work: (caller: Readonly<Caller>) => Promise<T>, otherwise: T): Promise<T> => {
    if (inFlight >= maxInFlight) return otherwise;
    inFlight++;
    let cancel = (): void => undefined;
    const late = new Promise<void>((over) => (cancel = clock.after(answerWithinMs, over)));
    const caller: Caller = { hasLeft: false, leaves: late.then(() => void (caller.hasLeft = true)) };
    try {
      return await Promise.race([work(caller), caller.leaves.then(() => otherwise)]);
    } finally {
      cancel();
      inFlight--;
    }
  };
  const ask = async (op: SignCommand['op'], request: SignRequest): Promise<Grant | SignRefusal> => {
    const fault = formFault(request);
    if (fault !== null) return fault;
    try {
      return await inTime<Grant | SignRefusal>((caller) => askSession(op, request, supervisor, options, caller), unavailable);
    } catch (error) {
      log.error({ orderId: request.orderId, reason: reasonOf(error) }, 'signing_failed');
      return unavailable;
    }
  };
  const close = async (): Promise<void> => {
    await supervisor.close();
    await heads.idle();
    place?.lock.release();
  };
  let closing: Promise<void> | null = null;
  return {
    started: supervisor.started,
    counts,
    get pid() {
      return supervisor.ready?.pid ?? null;
    },
    get isReady() {
      return supervisor.ready !== null;
    },
    get fault() {
      return supervisor.fault;
    },
    sign: async (request) => {
      const answer = await ask('sign', request);
      if (!('granted' in answer)) return counted(answer);
      const { granted, session } = answer;
      if (granted.op !== 'signed') return counted(unavailable);
      const { id, signature } = granted;
      return counted({ ok: true, signature, audited: () => audited(session, id, place, options) });
    },
    judge: async (request): Promise<SignVerdict> => {
      const answer = await ask('judge', request);
      return 'granted' in answer ? { ok: true } : answer;
    },
    seal: (seed) =>
      inTime<SealedWallet | null>(async (caller) => {
        const session = supervisor.ready ?? (await supervisor.session(caller.leaves));
        if (session === null || caller.hasLeft) return null;
        const cancelKill = clock.after(answerWithinMs, () => session.kill());
        return session.seal(seed).finally(cancelKill);
      }, null),
    close: () => (closing ??= close()),
  };
}

/** A request that waits for an answer, until its deadline. */
interface Caller {
  hasLeft: boolean;
  readonly leaves: Promise<void>;
}

/** Rejects if the store does not answer. */
async function askSession(
  op: SignCommand['op'],
  request: SignRequest,
  supervisor: Supervisor,
  options: SignerOptions,
  caller: Readonly<Caller>,
): Promise<Grant | SignRefusal> {
  const { store, keystore, halt, clock = systemClock } = options;
  const { orderId, publicKey, message, poolAccount = null } = request;
  const isKnown = supervisor.ready?.knows(publicKey) ?? false;
  const wallet = isKnown ? null : await store.wallets.byPublicKey(keystore, publicKey);
  if (wallet === null && !isKnown) return { ok: false, reason: 'unknown_wallet' };
  const session = supervisor.ready ?? (await supervisor.session(caller.leaves));
  // Read last, so that the reading is recent when the process checks its age.
  const reading = await halt.read();
  if (reading.halted) return { ok: false, reason: 'halted' };
  if (session === null || caller.hasLeft) return unavailable;
  if (!session.knows(publicKey)) {
    // The previous process knew the wallet, but it has just ended, and this one does not know the wallet yet.
    if (wallet === null) return unavailable;
    session.addWallet(wallet);
  }
  // Measured from this request on. A new process is not blamed for the time that the caller waited for its start.
  const cancelKill = clock.after(answerWithinMs, () => session.kill());
  try {
    const ask = ({ readAtNs }: HaltReading): Promise<SignAnswer | null> =>
      session.ask({ op, orderId, publicKey, message, poolAccount, runningAtNs: readAtNs, nowMs: store.time.nowMs() });
    const answer = await ask(reading);
    if (!isTooLate(answer)) return outcomeOf(answer, session);
    // The process checked the reading so late that it was too old. A new reading may be recent enough.
    const next = await halt.read();
    if (next.halted) return { ok: false, reason: 'halted' };
    const second = await ask(next);
    return isTooLate(second) ? unavailable : outcomeOf(second, session);
  } finally {
    cancelKill();
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

/**
 * Resolves once the audit log's line of this signature is on the disk. A process writes the line to the file before it signs. If the
 * process ended or does not answer, the file is flushed from here. If the file belongs to another user, that is impossible, and the
 * call rejects.
 */
async function audited(session: SignerSession, id: number, place: AuditPlace | null, options: SignerOptions): Promise<void> {
  const { keystore, clock = systemClock } = options;
  const cancelKill = clock.after(answerWithinMs, () => session.kill());
  try {
    const noted = await session.noted(id);
    if (noted === 'noted') return;
    // Flushing again would prove nothing: a disk reports lost data only once.
    if (noted === 'fault') throw new StoreUnavailableError(new Error('the audit log could not be written to the disk'));
  } finally {
    cancelKill();
  }
  if (place === null) throw new StoreUnavailableError(new Error('the signing process ended before its audit log was on the disk'));
  try {
    const { folder, slot } = place;
    const name = slotName(keystore, slot);
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

/** Records in the store how long the audit log is. */
function headNotes({ store, log }: SignerOptions) {
  let last: Promise<void> = Promise.resolve();
  return {
    note: (logId: string, { lines, mac }: LogHead): void => {
      last = store.auditHeads
        .note({ logId, lines, mac, notedAtMs: store.time.nowMs(), place: auditPlaceName(store) })
        .catch((error: unknown) => {
          // The next record covers this one too.
          log.warn({ reason: reasonOf(error) }, 'audit_head_not_noted');
        });
    },
    idle: () => last,
  };
}

type Parts = Exclude<SupervisorOptions['parts'], StartFault>;

function sessionParts({ store, log }: SignerOptions): Omit<Parts, 'onHead' | 'link'> {
  return {
    heads: () => headsHere(store),
    onDamagedWallet: (publicKey) => log.error({ wallet: publicKey }, 'wallet_does_not_open'),
  };
}
