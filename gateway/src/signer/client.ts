import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Logger } from '@sluice/shared/log/log.ts';
import { reasonOf, StoreAwayError } from '../store/store-away.ts';
import type { Store } from '../store/store.ts';
import { maxHaltAgeMs, type Halt, type HaltReading } from '../trade/halt.ts';
import type { OrderSigner, SignOutcome, SignRefusal, SignRequest, SignVerdict } from '../trade/signer.ts';
import { takeAuditPlace, type AuditPlace } from './audit-place.ts';
import type { LogHead, SignAnswer, SignCommand } from './protocol.ts';
import type { SignerSession } from './session.ts';
import type { SigningLimits } from './signing.ts';
import { Supervisor, type SignerStart, type StartFault, type SupervisorOptions } from './supervisor.ts';

/** Signatures that are waited for at once; one more is refused. */
const maxInFlight = 256;
/** Within it every request is answered, milliseconds; a process that is silent for so long is ended. */
const answerWithinMs = 5_000;
/** Longest message that is handed over; the policy's own bound is below it. */
const maxHandedBytes = 2_048;
const orderIdForm = /^[\w-]{1,64}$/;

export interface SignerOptions {
  readonly store: Pick<Store, 'wallets' | 'auditHeads' | 'dataDir'>;
  /** Name of the keystore (`keystoreName`). */
  readonly keystore: string;
  /** `passphraseFileOf`; null: there is none, and nothing is signed. */
  readonly passphraseFile: string | null;
  readonly limits: SigningLimits;
  readonly halt: Pick<Halt, 'read'>;
  readonly log: Logger;
}

export interface SignerCounts {
  signed: number;
  /** Refused by the process, for a wallet it does not have, or for the halt. */
  refused: number;
  unavailable: number;
}

export interface SigningProcess extends OrderSigner {
  readonly counts: Readonly<SignerCounts>;
  /** What came of the first start. A keystore that is not there yet needs no process, which is well. Never rejects. */
  readonly started: Promise<SignerStart>;
  /** Of the process that signs at present; null: none is ready. */
  readonly pid: number | null;
  /** Why nothing can be signed; null where it can, or is not to be. */
  readonly fault: string | null;
}

const unavailable: SignRefusal = { ok: false, reason: 'unavailable' };
type Granted = Extract<SignAnswer, { readonly op: 'signed' | 'allowed' }>;
/** What the process granted, and which one it was. */
interface Grant {
  readonly granted: Granted;
  readonly session: SignerSession;
}

/** Where nothing is sent nothing is signed: no process is started, and no passphrase is wanted. */
export function noSigner(): SigningProcess {
  return {
    started: Promise.resolve({ ok: true }),
    counts: { signed: 0, refused: 0, unavailable: 0 },
    pid: null,
    fault: null,
    sign: async () => unavailable,
    judge: async () => unavailable,
    close: async () => undefined,
  };
}

/** Signs by a process of its own, which is started anew when it ends. */
export function createSigner(options: SignerOptions): SigningProcess {
  const { store, keystore, log } = options;
  const place = placeOf(options);
  const heads = headNotes(options);
  const parts = 'ok' in place ? place : { ...sessionParts(options, place), onHead: heads.note };
  const supervisor = new Supervisor({ keystore: () => store.wallets.keystore(keystore), parts, log });
  const counts: SignerCounts = { signed: 0, refused: 0, unavailable: 0 };
  const counted = (outcome: SignOutcome): SignOutcome => {
    counts[outcome.ok ? 'signed' : outcome.reason === 'unavailable' ? 'unavailable' : 'refused']++;
    return outcome;
  };
  let inFlight = 0;
  const ask = async (op: SignCommand['op'], request: SignRequest): Promise<Grant | SignRefusal> => {
    if (inFlight >= maxInFlight) return unavailable;
    const fault = formFault(request);
    if (fault !== null) return fault;
    inFlight++;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((over) => (timer = setTimeout(over, answerWithinMs)));
    const caller: Caller = { hasLeft: false, leaves: late.then(() => void (caller.hasLeft = true)) };
    try {
      return await Promise.race([askSession(op, request, supervisor, options, caller), caller.leaves.then(() => unavailable)]);
    } catch (error) {
      log.error({ orderId: request.orderId, reason: reasonOf(error) }, 'signing_failed');
      return unavailable;
    } finally {
      clearTimeout(timer);
      inFlight--;
    }
  };
  const close = async (): Promise<void> => {
    await supervisor.close();
    await heads.settled();
    if (!('ok' in place)) place.lock.release();
  };
  let closing: Promise<void> | null = null;
  return {
    started: supervisor.started,
    counts,
    get pid() {
      return supervisor.ready?.pid ?? null;
    },
    get fault() {
      return supervisor.fault;
    },
    sign: async (request) => {
      const told = await ask('sign', request);
      if (!('granted' in told)) return counted(told);
      const { granted, session } = told;
      if (granted.op !== 'signed' || 'ok' in place) return counted(unavailable);
      const { id, signature } = granted;
      return counted({ ok: true, signature, audited: () => audited(session, id, place) });
    },
    judge: async (request): Promise<SignVerdict> => {
      const told = await ask('judge', request);
      return 'granted' in told ? { ok: true } : told;
    },
    close: () => (closing ??= close()),
  };
}

/** Who waits for an answer, and leaves where it takes too long. */
interface Caller {
  hasLeft: boolean;
  readonly leaves: Promise<void>;
}

/** Rejects where the store does not answer. */
async function askSession(
  op: SignCommand['op'],
  request: SignRequest,
  supervisor: Supervisor,
  options: SignerOptions,
  caller: Readonly<Caller>,
): Promise<Grant | SignRefusal> {
  const { store, keystore, halt } = options;
  const { orderId, publicKey, message } = request;
  const isKnown = supervisor.ready?.knows(publicKey) ?? false;
  const wallet = isKnown ? null : await store.wallets.byPublicKey(keystore, publicKey);
  if (wallet === null && !isKnown) return { ok: false, reason: 'unknown_wallet' };
  const session = supervisor.ready ?? (await supervisor.session(caller.leaves));
  // Last, so that it is young when the process looks at it.
  const reading = await halt.read();
  if (reading.halted) return { ok: false, reason: 'halted' };
  if (session === null || caller.hasLeft) return unavailable;
  if (!session.knows(publicKey)) {
    // Known to the process before this one, which ended a moment ago.
    if (wallet === null) return unavailable;
    session.addWallet(wallet);
  }
  // Silent since it was asked: a process that has only just started is not ended for the time that its caller waited before.
  const silence = setTimeout(() => session.kill(), answerWithinMs);
  try {
    const ask = ({ readAtNs }: HaltReading): Promise<SignAnswer | null> =>
      session.ask({ op, orderId, publicKey, message, runningAtNs: readAtNs });
    const answer = await ask(reading);
    if (!isTooLate(answer)) return outcomeOf(answer, session);
    // The process came to it so late that the reading was too old; a new one may be younger.
    const next = await halt.read();
    if (next.halted) return { ok: false, reason: 'halted' };
    const second = await ask(next);
    return isTooLate(second) ? unavailable : outcomeOf(second, session);
  } finally {
    clearTimeout(silence);
  }
}

function isTooLate(answer: SignAnswer | null): boolean {
  return answer?.op === 'refused' && answer.rule === 'halted';
}

function outcomeOf(answer: SignAnswer | null, session: SignerSession): Grant | SignRefusal {
  if (answer === null || answer.op === 'busy') return unavailable;
  if (answer.op !== 'refused') return { granted: answer, session };
  const { rule, message } = answer;
  if (rule === 'unknown_wallet') return { ok: false, reason: rule };
  return { ok: false, reason: 'refused', rule, message };
}

/**
 * A process that ended, or is silent, has left its line in the file all the same, which was written before it signed: then the disk
 * is asked for it from here.
 */
async function audited(session: SignerSession, id: number, { file }: AuditPlace): Promise<void> {
  const silence = setTimeout(() => session.kill(), answerWithinMs);
  try {
    const noted = await session.noted(id);
    if (noted === 'noted') return;
    // A disk tells of what it lost only once.
    if (noted === 'fault') throw new StoreAwayError(new Error('the audit log could not be written to the disk'));
  } finally {
    clearTimeout(silence);
  }
  try {
    const log = await open(file, 'r+');
    try {
      await log.datasync();
    } finally {
      await log.close();
    }
  } catch (error) {
    throw new StoreAwayError(error);
  }
}

/** What the process could not even read. */
function formFault({ orderId, message }: SignRequest): SignRefusal | null {
  if (!orderIdForm.test(orderId)) return { ok: false, reason: 'refused', rule: 'malformed', message: 'no order id' };
  if (message.length > maxHandedBytes) return { ok: false, reason: 'refused', rule: 'malformed', message: 'longer than any message' };
  return null;
}

function placeOf({ store, keystore, passphraseFile }: SignerOptions): AuditPlace | StartFault {
  if (passphraseFile === null) return { ok: false, reason: 'no_passphrase', what: 'KEYSTORE_PASSPHRASE_FILE is not set' };
  try {
    const place = takeAuditPlace(store.dataDir, keystore);
    return place ?? { ok: false, reason: 'no_slot', what: 'as many signing processes as there may be run on DATA_DIR' };
  } catch (error) {
    return { ok: false, reason: 'audit_unwritable', what: reasonOf(error) };
  }
}

/** Notes in the store how far the audit log has come. */
function headNotes({ store, log }: SignerOptions) {
  let last: Promise<void> = Promise.resolve();
  return {
    note: (logId: string, { lines, mac }: LogHead): void => {
      last = store.auditHeads.note({ logId, lines, mac, notedAtMs: Date.now() }).catch((error: unknown) => {
        // The next note is as good as this one.
        log.warn({ reason: reasonOf(error) }, 'audit_head_not_noted');
      });
    },
    settled: () => last,
  };
}

type Parts = Exclude<SupervisorOptions['parts'], StartFault>;

function sessionParts({ store, keystore, passphraseFile, limits, log }: SignerOptions, { file }: AuditPlace): Omit<Parts, 'onHead'> {
  return {
    terms: {
      keystore,
      passphraseFile: resolve(passphraseFile ?? ''),
      auditFile: file,
      maxOrderLamports: limits.maxOrderLamports.toString(),
      maxDayLamports: limits.maxDayLamports.toString(),
      maxHaltAgeMs,
    },
    headOf: (logId) => store.auditHeads.byLog(logId),
    onDamagedWallet: (publicKey) => log.error({ wallet: publicKey }, 'wallet_does_not_open'),
  };
}
