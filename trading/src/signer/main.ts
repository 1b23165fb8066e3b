import { isMarkedHalted } from '@sluice/gateway/store/halt/halt-mark.ts';
import { reasonOf } from '@sluice/gateway/store/store-unavailable.ts';
import { openWallet, readPassphraseFile, sealWallet, unlockKeystore } from './custody/keystore.ts';
import { generateKeypair, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { auditKey } from './audit/mac-chain.ts';
import type { AuditLog } from './audit/log.ts';
import { FrameReader, encodeFrame } from './wire/frames.ts';
import { openSigningFolder, type SigningFolder } from './signing/signing-folder.ts';
import { filesFault } from './files/own-files.ts';
import { Fault, maxHeads, maxQueued, readToSigner } from './wire/protocol.ts';
import type { FromSigner, LogHead, SealCommand, SignCommand, SignerFault, ToSigner } from './wire/protocol.ts';
import { answerAll, type SigningParts } from './signing/signing.ts';
import type { StartTerms } from './signing/start-terms.ts';

/**
 * The signing process. It holds the unlocked wallets, reads commands from standard input and writes answers to standard output. It opens
 * no connection, runs only code of the project and of Node, and ends when its gateway ends.
 */

/** Maximum number of wallets held in memory: as many as a keystore can have. */
const maxWallets = 10_000;
/** How often the length of the audit log is reported to the gateway. */
const headMs = 1_000;
/** How often the process compares its clock with the gateway's. */
const lookEveryMs = 10_000;
/** How often the process checks whether the policy file was replaced. */
const policyMs = 500;

function send(message: FromSigner): void {
  process.stdout.write(encodeFrame(message));
}

async function unlock(terms: StartTerms, { salt, proof }: Extract<ToSigner, { op: 'open' }>): Promise<Uint8Array> {
  const key = await unlockKeystore(terms.keystore, { salt, proof }, readPassphrase(terms.passphraseFile));
  if (key === null) throw new Fault('wrong_passphrase', 'the passphrase does not unlock the keystore');
  return key;
}

/** Runs `work`. Throws its `Fault` unchanged, and this fault in place of any other error. */
function orFault<T>(work: () => T, fault: SignerFault = 'audit_unwritable'): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Fault ? error : new Fault(fault, reasonOf(error));
  }
}

function readPassphrase(file: string): string {
  try {
    const passphrase = readPassphraseFile(file);
    if (passphrase !== null) return passphrase;
  } catch (error) {
    throw new Fault('passphrase_unreadable', reasonOf(error));
  }
  throw new Fault('passphrase_unreadable', 'the file is empty');
}

/** Handles commands in order. Commands that arrive together share one write of the audit log. */
function createDesk(terms: StartTerms, keystoreKey: Uint8Array, signingFolder: SigningFolder, disk: Disk, time: AgreedTime) {
  const wallets = new Map<string, Keypair>();
  let queue: SignCommand[] = [];
  const parts: SigningParts = {
    ...signingFolder,
    wallets,
    isHalted: () => isMarkedHalted(terms.folder),
    limits: { maxOrderLamports: BigInt(terms.maxOrderLamports), maxDayLamports: BigInt(terms.maxDayLamports) },
    maxHaltAgeMs: terms.maxHaltAgeMs,
    time,
    nowNs: () => process.hrtime.bigint(),
  };
  const work = (): void => {
    if (queue.length === 0) return;
    const commands = queue;
    queue = [];
    const answers = orFault(() => answerAll(commands, parts));
    for (const answer of answers) send(answer);
    const last = answers.findLast(({ op }) => op === 'signed');
    if (last !== undefined) disk.note(last.id);
  };
  return {
    addWallet: ({ publicKey, sealedSeed }: Extract<ToSigner, { op: 'wallet' }>): void => {
      const keypair = wallets.size < maxWallets ? openWallet(keystoreKey, terms.keystore, { publicKey, sealedSeed }) : null;
      if (keypair === null) send({ op: 'damaged_wallet', publicKey });
      else wallets.set(publicKey, keypair);
    },
    seal: ({ id, seed }: SealCommand): void => {
      const keypair = seed === null ? generateKeypair() : generateKeypair(seed);
      send({ op: 'sealed', id, publicKey: keypair.publicKey, sealedSeed: sealWallet(keystoreKey, terms.keystore, keypair) });
    },
    take: (command: SignCommand): void => {
      if (command.nowMs !== null) time.heard('gateway', command.nowMs, performance.now());
      if (queue.length >= maxQueued) return send({ op: 'busy', id: command.id });
      queue.push(command);
    },
    work,
  };
}

type Disk = ReturnType<typeof createDisk>;

/** Flushes the audit log to the disk, one flush after the other while the process signs. Each covers everything written before it began. */
function createDisk(audit: AuditLog, onFault: (error: unknown) => void) {
  let [newest, noted] = [0, 0];
  let reportedLines = 0;
  let headRequested = false;
  let running: Promise<void> | null = null;
  const turn = async (): Promise<void> => {
    while (newest > noted || headRequested) {
      const [id, head, reportsHead] = [newest, audit.head, headRequested];
      headRequested = false;
      await audit.flush().catch((error: unknown) => {
        throw new Fault('audit_unwritable', reasonOf(error));
      });
      if (id > noted) send({ op: 'noted', id });
      noted = id;
      if (reportsHead) send({ op: 'head', head });
      if (reportsHead) reportedLines = head.lines;
    }
    running = null;
  };
  const begin = (): void => {
    if (running !== null) return;
    running = turn();
    running.catch(onFault);
  };
  return {
    /** Sends `noted` once the lines up to those of this command are on the disk. */
    note: (id: number): void => {
      newest = id;
      begin();
    },
    /** Reports the length of the log once all of it is on the disk, so that a log that is cut later is detected. */
    reportHead: (): void => {
      if (audit.head.lines === reportedLines) return;
      headRequested = true;
      begin();
    },
    /** Resolves when no flush is running. */
    idle: async (): Promise<void> => void (await running),
  };
}

/** Serves until standard input ends. Rejects with errors from which the process cannot recover. */
function serve(terms: StartTerms): Promise<void> {
  const reader = new FrameReader();
  const heads = new Map<string, LogHead>();
  const time = new AgreedTime();
  let isOpened = false;
  let signing: { readonly desk: ReturnType<typeof createDesk>; readonly disk: Disk } | null = null;
  return new Promise((resolve, reject) => {
    const guarded = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        reject(error);
      }
    };
    const open = async (command: Extract<ToSigner, { op: 'open' }>): Promise<void> => {
      isOpened = true;
      const keystoreKey = await unlock(terms, command);
      const signingFolder = orFault(() => openSigningFolder(terms, auditKey(keystoreKey, terms.keystore), heads, time));
      const disk = createDisk(signingFolder.audit, reject);
      signing = { desk: createDesk(terms, keystoreKey, signingFolder, disk, time), disk };
      send({ op: 'ready', logId: signingFolder.audit.logId });
      disk.reportHead();
      setInterval(() => disk.reportHead(), headMs).unref();
      setInterval(() => time.look(), lookEveryMs).unref();
      setInterval(() => guarded(() => orFault(() => signingFolder.renewPolicy())), policyMs).unref();
    };
    const take = (command: ToSigner): void => {
      if (command.op === 'head' && !isOpened && heads.size < maxHeads) return void heads.set(command.logId, command.head);
      if (command.op === 'open' && !isOpened) return void open(command).catch(reject);
      if (command.op === 'wallet' && signing !== null) return signing.desk.addWallet(command);
      if (command.op === 'seal' && signing !== null) return signing.desk.seal(command);
      if ((command.op === 'sign' || command.op === 'judge') && signing !== null) return signing.desk.take(command);
      throw new Error(`the command ${command.op} comes at a wrong time`);
    };
    process.stdin.on('data', (piece: Uint8Array) => {
      guarded(() => {
        for (const content of reader.push(piece)) take(readToSigner(content));
        signing?.desk.work();
      });
    });
    process.stdin.once('error', reject);
    process.stdin.once('end', () => {
      signing?.disk.reportHead();
      resolve(signing?.disk.idle());
    });
  });
}

// The gateway ends this process by closing its standard input, so signals to the whole process group are ignored. SIGUSR1 is ignored
// because it would open Node's debugger, through which the keys can be read.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(name, () => undefined);
// The gateway has ended, and nobody reads the answers.
process.stdout.on('error', () => process.exit(1));
try {
  const terms = JSON.parse(process.argv[2] ?? '') as StartTerms;
  const { passphraseFile, dataDir, folder: auditFolder } = terms;
  const files = { program: import.meta.filename, passphraseFile, dataDir, auditFolder };
  const unsafe = orFault(() => filesFault(files), 'unsafe_files');
  if (unsafe !== null) throw new Fault('unsafe_files', unsafe);
  await serve(terms);
} catch (error) {
  // Stop reading commands, so that nothing more is signed.
  process.stdin.destroy();
  if (!(error instanceof Fault)) throw error;
  send({ op: 'fault', fault: error.fault, what: error.message });
  process.exitCode = 1;
}
