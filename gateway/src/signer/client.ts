import { open } from 'node:fs/promises';
import type { Logger } from '@sluice/shared/log/log.ts';
import { signerFolder } from '../store/halt-mark.ts';
import { reasonOf, StoreAwayError } from '../store/store-away.ts';
import type { Store } from '../store/store.ts';
import type { Halt, HaltReading } from '../store/halt.ts';
import type { OrderSigner, SignOutcome, SignRefusal, SignRequest, SignVerdict } from '../orders/model/order-signer.ts';
import { auditPlaceName, headsHere } from './audit/heads.ts';
import { takeAuditPlace, type AuditPlace } from './audit/place.ts';
import { logsIn, segmentFile, slotName } from './audit/segments.ts';
import { connectSigner, startSigner, type SignerLink } from './child.ts';
import type { LogHead, SignAnswer, SignCommand } from './protocol.ts';
import type { SignerSession } from './session.ts';
import type { SigningLimits } from './signing.ts';
import { startTerms } from './start-terms.ts';
import { Supervisor, type SignerStart, type StartFault, type SupervisorOptions } from './supervisor.ts';

/** Signatures that are waited for at once; one more is refused. */
const maxInFlight = 256;
/** Within it every request is answered, milliseconds; a process that is silent for so long is ended. */
const answerWithinMs = 5_000;
/** Longest message that is handed over; the policy's own bound is below it. */
const maxHandedBytes = 2_048;
const orderIdForm = /^[\w-]{1,64}$/;

export interface SignerOptions {
  readonly store: Pick<Store, 'wallets' | 'auditHeads' | 'dataDir' | 'databaseUrl'>;
  /** Name of the keystore (`keystoreName`). */
  readonly keystore: string;
  /** `passphraseFileOf`; null: there is none, and nothing is signed. */
  readonly passphraseFile: string | null;
  readonly limits: SigningLimits;
  readonly halt: Pick<Halt, 'read'>;
  readonly log: Logger;
  /** Where a signing process of another user listens; then there is no need for a passphrase. Null: one is started. */
  readonly signerSocket?: string | null;
  /** Null: under the data folder. */
  readonly signerDir?: string | null;
  /** Length of an audit log's segment. */
  readonly segmentBytes?: number;
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
  /** Of the process that signs at present; null: none is ready, or it is another user's. */
  readonly pid: number | null;
  readonly isReady: boolean;
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
    isReady: false,
    fault: null,
    sign: async () => unavailable,
    judge: async () => unavailable,
    close: async () => undefined,
  };
}

/** Signs by a process of its own, which is started anew when it ends. */
export function createSigner(options: SignerOptions): SigningProcess {
  const { store, keystore, log } = options;
  const source = sourceOf(options);
  const heads = headNotes(options);
  const parts = 'ok' in source ? source : { ...sessionParts(options), link: source.link, onHead: heads.note };
  const place = 'ok' in source ? null : source.place;
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
      const told = await ask('sign', request);
      if (!('granted' in told)) return counted(told);
      const { granted, session } = told;
      if (granted.op !== 'signed') return counted(unavailable);
      const { id, signature } = granted;
      return counted({ ok: true, signature, audited: () => audited(session, id, place, keystore) });
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
 * A process that ended, or is silent, has left its line in the file all the same, which was written before it signed: then the disk
 * is asked for it from here. A file of another user is out of reach: then nobody can say that the disk has it.
 */
async function audited(session: SignerSession, id: number, place: AuditPlace | null, keystore: string): Promise<void> {
  const silence = setTimeout(() => session.kill(), answerWithinMs);
  try {
    const noted = await session.noted(id);
    if (noted === 'noted') return;
    // A disk tells of what it lost only once.
    if (noted === 'fault') throw new StoreAwayError(new Error('the audit log could not be written to the disk'));
  } finally {
    clearTimeout(silence);
  }
  if (place === null) throw new StoreAwayError(new Error('the signing process ended before its audit log was on the disk'));
  try {
    const { folder, slot } = place;
    const name = slotName(keystore, slot);
    // The disk has all segments but the newest.
    const log = await open(segmentFile({ folder, name }, logsIn(folder).get(name)?.at(-1) ?? 0), 'r+');
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

/** How signing processes come to be, and where their log is; `place` is null where another user has it. */
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
    if (place === null) return { ok: false, reason: 'no_slot', what: 'as many signing processes as there may be run on DATA_DIR' };
    const terms = startTerms({ place, keystore, passphraseFile, dataDir, limits, segmentBytes: options.segmentBytes });
    return { link: () => startSigner(terms), place };
  } catch (error) {
    return { ok: false, reason: 'audit_unwritable', what: reasonOf(error) };
  }
}

/** Notes in the store how far the audit log has come. */
function headNotes({ store, log }: SignerOptions) {
  let last: Promise<void> = Promise.resolve();
  return {
    note: (logId: string, { lines, mac }: LogHead): void => {
      last = store.auditHeads.note({ logId, lines, mac, notedAtMs: Date.now(), place: auditPlaceName(store) }).catch((error: unknown) => {
        // The next note is as good as this one.
        log.warn({ reason: reasonOf(error) }, 'audit_head_not_noted');
      });
    },
    settled: () => last,
  };
}

type Parts = Exclude<SupervisorOptions['parts'], StartFault>;

function sessionParts({ store, log }: SignerOptions): Omit<Parts, 'onHead' | 'link'> {
  return {
    heads: () => headsHere(store),
    onDamagedWallet: (publicKey) => log.error({ wallet: publicKey }, 'wallet_does_not_open'),
  };
}
