import { openWallet, unlockKeystore } from '../custody/keystore.ts';
import { readPassphraseFile } from '../custody/passphrase-file.ts';
import type { Keypair } from '@sluice/shared/solana/keypair.ts';
import { auditKey } from './audit-chain.ts';
import { auditLogId, openAuditLog, type AuditLog } from './audit-log.ts';
import { daySpend } from './day-spend.ts';
import { FrameReader, encodeFrame } from './frames.ts';
import { maxQueued, readToSigner, type FromSigner, type LogHead, type SignCommand, type SignerFault, type ToSigner } from './protocol.ts';
import { answerAll, type SigningParts } from './signing.ts';
import type { StartTerms } from './start-terms.ts';

/**
 * The signing process. It holds the unlocked wallets, reads commands on standard input and answers on standard output; it opens no
 * connection, runs no code but the project's own and Node's, and ends when its gateway does.
 */

/** Wallets held at once: as many as a keystore has. */
const maxWallets = 10_000;
/** How often the gateway is told how far the audit log has come, milliseconds. */
const headMs = 1_000;

/** What cannot be mended here: told to the gateway, and the end. */
class Fault extends Error {
  readonly fault: SignerFault;

  constructor(fault: SignerFault, what: string) {
    super(what);
    this.fault = fault;
  }
}

function tell(message: FromSigner): void {
  process.stdout.write(encodeFrame(message));
}

async function unlock(terms: StartTerms, { salt, proof }: Extract<ToSigner, { op: 'open' }>): Promise<Uint8Array> {
  const passphrase = orFault('passphrase_unreadable', () => readPassphraseFile(terms.passphraseFile));
  if (passphrase === null) throw new Fault('passphrase_unreadable', 'the file is empty');
  const key = await unlockKeystore(terms.keystore, { salt, proof }, passphrase);
  if (key === null) throw new Fault('wrong_passphrase', 'the passphrase does not unlock the keystore');
  return key;
}

/** Runs `work`; what it throws is this fault. */
function orFault<T>(fault: SignerFault, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Fault ? error : new Fault(fault, error instanceof Error ? error.message : String(error));
  }
}

function openLog(terms: StartTerms, key: Uint8Array, head: LogHead | null): Pick<SigningParts, 'audit' | 'spend'> {
  const spend = daySpend();
  const opened = orFault('audit_unwritable', () =>
    openAuditLog(terms.auditFile, key, head, (entry) => {
      if (entry.event !== 'decision' || entry.wallet === null || entry.lamports === null) return;
      spend.add(entry.wallet, BigInt(entry.lamports), entry.atMs);
    }),
  );
  if (!opened.ok) throw new Fault('audit_damaged', `line ${opened.line} ${opened.reason}`);
  const { maxOrderLamports, maxDayLamports } = terms;
  opened.log.add({ event: 'start', maxOrderLamports, maxDayLamports, atMs: Date.now() });
  orFault('audit_unwritable', () => {
    opened.log.write();
    opened.log.sync();
  });
  return { audit: opened.log, spend };
}

/** Takes commands as they come; those that came together share one write of the audit log, and one turn of the disk. */
function createDesk(terms: StartTerms, keystoreKey: Uint8Array, log: Pick<SigningParts, 'audit' | 'spend'>) {
  const wallets = new Map<string, Keypair>();
  let queue: SignCommand[] = [];
  const parts: SigningParts = {
    ...log,
    wallets,
    limits: { maxOrderLamports: BigInt(terms.maxOrderLamports), maxDayLamports: BigInt(terms.maxDayLamports) },
    maxHaltAgeMs: terms.maxHaltAgeMs,
    nowMs: () => Date.now(),
    nowNs: () => process.hrtime.bigint(),
  };
  const work = (): void => {
    const commands = queue;
    queue = [];
    const answers = orFault('audit_unwritable', () => answerAll(commands, parts));
    for (const answer of answers) tell(answer);
    const last = answers.findLast(({ op }) => op === 'signed');
    if (last === undefined) return;
    orFault('audit_unwritable', () => parts.audit.sync());
    tell({ op: 'noted', id: last.id });
  };
  return {
    addWallet: ({ publicKey, sealedSeed }: Extract<ToSigner, { op: 'wallet' }>): void => {
      const keypair = wallets.size < maxWallets ? openWallet(keystoreKey, terms.keystore, { publicKey, sealedSeed }) : null;
      if (keypair === null) tell({ op: 'damaged_wallet', publicKey });
      else wallets.set(publicKey, keypair);
    },
    take: (command: SignCommand): void => {
      if (queue.length >= maxQueued) return tell({ op: 'busy', id: command.id });
      queue.push(command);
    },
    work,
  };
}

/** Tells the gateway now and then, and at the end, where the log stands, so that a log that was cut later is seen. */
function tellHeads(audit: AuditLog): () => void {
  let told = 0;
  const look = (): void => {
    const { head } = audit;
    if (head.lines === told) return;
    told = head.lines;
    // What is told once must be there for good.
    orFault('audit_unwritable', () => audit.sync());
    tell({ op: 'head', head });
  };
  setInterval(look, headMs).unref();
  look();
  return look;
}

async function serve(terms: StartTerms): Promise<void> {
  const reader = new FrameReader();
  let keystoreKey: Uint8Array | null = null;
  let chainKey: Uint8Array | null = null;
  let desk: ReturnType<typeof createDesk> | null = null;
  let tellHead = (): void => undefined;
  for await (const piece of process.stdin) {
    for (const content of reader.push(piece as Uint8Array)) {
      const command = readToSigner(content);
      if (command.op === 'open' && keystoreKey === null) {
        const key = await unlock(terms, command);
        keystoreKey = key;
        chainKey = auditKey(key, terms.keystore);
        const logId = orFault('audit_unwritable', () =>
          auditLogId(terms.auditFile, auditKey(key, terms.keystore), terms.keystore, Date.now()),
        );
        tell({ op: 'unlocked', logId });
      } else if (command.op === 'begin' && keystoreKey !== null && chainKey !== null && desk === null) {
        const log = openLog(terms, chainKey, command.head);
        desk = createDesk(terms, keystoreKey, log);
        tell({ op: 'ready' });
        tellHead = tellHeads(log.audit);
      } else if (command.op === 'wallet' && desk !== null) desk.addWallet(command);
      else if ((command.op === 'sign' || command.op === 'judge') && desk !== null) desk.take(command);
      else throw new Error(`the command ${command.op} comes at a wrong time`);
    }
    desk?.work();
  }
  tellHead();
}

// The gateway ends this process by closing its standard input; a signal to the whole group is not for it. Whoever may send SIGUSR1
// would otherwise open Node's debugger, and read the keys.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(name, () => undefined);
// Nobody reads the answers any more: the gateway is gone.
process.stdout.on('error', () => process.exit(1));
try {
  await serve(JSON.parse(process.argv[2] ?? '') as StartTerms);
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  tell({ op: 'fault', fault: error.fault, what: error.message });
  process.exitCode = 1;
}
