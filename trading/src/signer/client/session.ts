import { TransientMap } from '@sluice/shared/collections/transient-map.ts';
import type { StoredKeystore, StoredWallet } from '@sluice/gateway/store/interfaces/wallet-table.ts';
import type { SignerLink } from './child.ts';
import { FrameError, FrameReader, encodeFrame } from '../wire/frames.ts';
import {
  readFromSigner,
  type FromSigner,
  type LogHead,
  type SealCommand,
  type SealedWallet,
  type SignAnswer,
  type SignCommand,
  type SignerFault,
  type ToSigner,
} from '../wire/protocol.ts';

/** `ended`: the process ended, or sent something that cannot be read. */
export type SessionStart = { readonly ok: true } | { readonly ok: false; readonly reason: SignerFault | 'ended'; readonly what: string };

/** `fault`: the process could not write it to the disk. */
export type Noted = 'noted' | 'ended' | 'fault';

/** The connection to one signing process, from its start to its end. */
export interface SignerSession {
  readonly pid: number | null;
  readonly started: Promise<SessionStart>;
  readonly ended: Promise<void>;
  knows(publicKey: string): boolean;
  addWallet(wallet: Pick<StoredWallet, 'publicKey' | 'sealedSeed'>): void;
  /** Null: the process ended before it answered. */
  seal(seed: Uint8Array | null): Promise<SealedWallet | null>;
  /** Null: the process ended before it answered. */
  ask(request: Omit<SignCommand, 'id'>): Promise<SignAnswer | null>;
  /** Resolves once the audit log's lines of the command are on the disk, or the process ended before it reported that. */
  noted(id: number): Promise<Noted>;
  /** Ends the process after it has answered its current commands. */
  end(): void;
  kill(): void;
}

export interface SessionOptions {
  /** Starts a process, or connects to one. */
  readonly link: () => SignerLink;
  readonly keystore: StoredKeystore;
  /** The recorded ends of all logs that must exist. */
  readonly heads: () => Promise<readonly ({ readonly logId: string } & LogHead)[]>;
  readonly onHead: (logId: string, head: LogHead) => void;
  readonly onDamagedWallet: (publicKey: string) => void;
}

/** Callers that wait for an answer, by the id of their command. */
type Answers<T> = TransientMap<number, (answer: T | null) => void>;

export function startSession(options: SessionOptions): SignerSession {
  const link = options.link();
  const { input, output } = link;
  const waiting: Answers<SignAnswer> = new TransientMap();
  const sealing: Answers<SealedWallet> = new TransientMap();
  const notes = createNotes();
  const wallets = new Set<string>();
  const reader = new FrameReader();
  let nextId = 1;
  let logId = '';
  let resolveStarted: (outcome: SessionStart) => void = () => undefined;
  const started = new Promise<SessionStart>((resolve) => (resolveStarted = resolve));
  const kill = (): void => link.kill();
  const send = (command: ToSigner): void => void input.write(encodeFrame(command));
  const request = <T>(answers: Answers<T>, command: Omit<SealCommand, 'id'> | Omit<SignCommand, 'id'>): Promise<T | null> =>
    new Promise((resolve) => {
      if (link.isOver()) return resolve(null);
      const id = nextId++;
      answers.set(id, resolve);
      send({ id, ...command });
    });
  const begin = async (): Promise<void> => {
    for (const { logId: id, lines, mac } of await options.heads()) send({ op: 'head', logId: id, head: { lines, mac } });
    send({ op: 'open', salt: options.keystore.salt, proof: options.keystore.proof });
  };
  const take = (message: FromSigner): void => {
    switch (message.op) {
      case 'ready':
        logId = message.logId;
        return resolveStarted({ ok: true });
      case 'fault':
        notes.end('fault');
        return resolveStarted({ ok: false, reason: message.fault, what: message.what });
      case 'head':
        return options.onHead(logId, message.head);
      case 'noted':
        return notes.reached(message.id);
      case 'damaged_wallet':
        wallets.delete(message.publicKey);
        return options.onDamagedWallet(message.publicKey);
      case 'sealed':
        sealing.take(message.id)?.({ publicKey: message.publicKey, sealedSeed: message.sealedSeed });
        return;
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
      for (const give of [...waiting.values(), ...sealing.values()]) give(null);
      waiting.clear();
      sealing.clear();
      notes.end('ended');
      resolve();
    };
    link.onEnd(end);
  });
  // The process has ended, which `close` reports. What was being written to it is lost.
  input.on('error', kill);
  begin().catch(kill);
  return {
    pid: link.pid,
    started,
    ended,
    knows: (publicKey) => wallets.has(publicKey),
    addWallet: ({ publicKey, sealedSeed }) => {
      wallets.add(publicKey);
      send({ op: 'wallet', publicKey, sealedSeed });
    },
    seal: (seed) => request(sealing, { op: 'seal', seed }),
    ask: (command) => request(waiting, command),
    noted: notes.of,
    end: () => void input.end(),
    kill,
  };
}

/** Up to which command the log is on the disk, and the callers that wait for it. */
function createNotes() {
  const waiting = new TransientMap<number, (noted: Noted) => void>();
  let upTo = 0;
  let over: Exclude<Noted, 'noted'> | null = null;
  return {
    of: (id: number): Promise<Noted> => {
      if (id <= upTo) return Promise.resolve('noted');
      return over === null ? new Promise((resolve) => waiting.set(id, resolve)) : Promise.resolve(over);
    },
    reached: (newest: number): void => {
      upTo = newest;
      for (const [id, give] of waiting.entries()) {
        if (id > upTo) continue;
        waiting.delete(id);
        give('noted');
      }
    },
    /** The first report counts. */
    end: (how: Exclude<Noted, 'noted'>): void => {
      over ??= how;
      for (const give of waiting.values()) give(over);
      waiting.clear();
    },
  };
}
