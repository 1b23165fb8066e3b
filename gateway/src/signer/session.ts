import { PassingMap } from '@sluice/shared/collections/passing-map.ts';
import type { StoredKeystore, StoredWallet } from '../store/wallet-table.ts';
import { startSigner } from './child.ts';
import { FrameError, FrameReader, encodeFrame } from './frames.ts';
import {
  readFromSigner,
  type FromSigner,
  type LogHead,
  type SignAnswer,
  type SignCommand,
  type SignerFault,
  type ToSigner,
} from './protocol.ts';
import type { StartTerms } from './start-terms.ts';

/** `ended`: the process ended, or said what nobody understands. */
export type SessionStart = { readonly ok: true } | { readonly ok: false; readonly reason: SignerFault | 'ended'; readonly what: string };

/** `fault`: the process itself could not bring it to the disk. */
export type Noted = 'noted' | 'ended' | 'fault';

/** One signing process from its start to its end. */
export interface SignerSession {
  readonly pid: number | null;
  readonly started: Promise<SessionStart>;
  readonly ended: Promise<void>;
  knows(publicKey: string): boolean;
  addWallet(wallet: Pick<StoredWallet, 'publicKey' | 'sealedSeed'>): void;
  /** Null: the process ended before it answered. */
  ask(request: Omit<SignCommand, 'id'>): Promise<SignAnswer | null>;
  /** Resolves once the disk has what the audit log says of the command, or the process ended without having told so. */
  noted(id: number): Promise<Noted>;
  /** What it is at is answered, then it ends. */
  end(): void;
  kill(): void;
}

export interface SessionOptions {
  readonly terms: StartTerms;
  readonly keystore: StoredKeystore;
  /** How far the log with this id is known to have come. */
  readonly headOf: (logId: string) => Promise<LogHead | null>;
  readonly onHead: (logId: string, head: LogHead) => void;
  readonly onDamagedWallet: (publicKey: string) => void;
}

export function startSession(options: SessionOptions): SignerSession {
  const { process: child, input, output } = startSigner(options.terms);
  const waiting = new PassingMap<number, (answer: SignAnswer | null) => void>();
  const notes = createNotes();
  const wallets = new Set<string>();
  const reader = new FrameReader();
  let nextId = 1;
  let logId = '';
  let resolveStarted: (outcome: SessionStart) => void = () => undefined;
  const started = new Promise<SessionStart>((resolve) => (resolveStarted = resolve));
  const kill = (): void => void child.kill('SIGKILL');
  const send = (command: ToSigner): void => void input.write(encodeFrame(command));
  const begin = async (id: string): Promise<void> => {
    logId = id;
    send({ op: 'begin', head: await options.headOf(id) });
  };
  const take = (message: FromSigner): void => {
    switch (message.op) {
      case 'unlocked':
        begin(message.logId).catch(kill);
        return;
      case 'ready':
        return resolveStarted({ ok: true });
      case 'fault':
        notes.end('fault');
        return resolveStarted({ ok: false, reason: message.fault, what: message.what });
      case 'head':
        return options.onHead(logId, message.head);
      case 'noted':
        return notes.told(message.id);
      case 'damaged_wallet':
        wallets.delete(message.publicKey);
        return options.onDamagedWallet(message.publicKey);
      case 'signed':
      case 'allowed':
      case 'refused':
      case 'busy':
        waiting.take(message.id)?.(message);
    }
  };
  output.on('data', (piece: Uint8Array) => {
    try {
      for (const content of reader.push(piece)) take(readFromSigner(content));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      kill();
    }
  });
  const ended = new Promise<void>((resolve) => {
    const end = (what: string): void => {
      resolveStarted({ ok: false, reason: 'ended', what });
      for (const give of waiting.values()) give(null);
      waiting.clear();
      notes.end('ended');
      resolve();
    };
    child.once('close', (code, signal) => end(signal ?? `exit code ${code}`));
    child.once('error', (error) => end(error.message));
  });
  // The process is gone, which `close` tells; what was being written is gone with it.
  input.on('error', kill);
  send({ op: 'open', salt: options.keystore.salt, proof: options.keystore.proof });
  return {
    pid: child.pid ?? null,
    started,
    ended,
    knows: (publicKey) => wallets.has(publicKey),
    addWallet: ({ publicKey, sealedSeed }) => {
      wallets.add(publicKey);
      send({ op: 'wallet', publicKey, sealedSeed });
    },
    ask: (request) =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve(null);
        const id = nextId++;
        waiting.set(id, resolve);
        send({ id, ...request });
      }),
    noted: notes.of,
    end: () => void input.end(),
    kill,
  };
}

/** How far the process has brought its log to the disk, and who waits for it. */
function createNotes() {
  const waiting = new PassingMap<number, (noted: Noted) => void>();
  let upTo = 0;
  let over: Exclude<Noted, 'noted'> | null = null;
  return {
    of: (id: number): Promise<Noted> => {
      if (id <= upTo) return Promise.resolve('noted');
      return over === null ? new Promise((resolve) => waiting.set(id, resolve)) : Promise.resolve(over);
    },
    told: (newest: number): void => {
      upTo = newest;
      for (const [id, give] of waiting.entries()) {
        if (id > upTo) continue;
        waiting.delete(id);
        give('noted');
      }
    },
    /** The first word counts. */
    end: (how: Exclude<Noted, 'noted'>): void => {
      over ??= how;
      for (const give of waiting.values()) give(over);
      waiting.clear();
    },
  };
}
