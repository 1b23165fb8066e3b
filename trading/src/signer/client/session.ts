import { TransientMap } from '@sluice/shared/runtime/collections/transient-map.ts';
import type { StoredKeystore, StoredWallet } from '@sluice/gateway/store/sql/tables/wallets.ts';
import type { SignerLink } from './child.ts';
import { FrameError, FrameReader, encodeFrame } from '../wire/frames.ts';
import { readFromSigner } from '../wire/protocol.ts';
import type { FromSigner, LogHead, SealCommand, SealedWallet, SignAnswer, SignCommand, SignerFault, ToSigner } from '../wire/protocol.ts';

/** `ended`: the process ended, or sent something that cannot be read. */
export type SessionStart = { readonly ok: true } | { readonly ok: false; readonly reason: SignerFault | 'ended'; readonly what: string };

/** `fault`: the process could not write it to the disk. */
export type Noted = 'noted' | 'ended' | 'fault';

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

/** The connection to one signing process, from its start to its end. */
export class SignerSession {
  readonly started: Promise<SessionStart>;
  readonly ended: Promise<void>;
  readonly #options: SessionOptions;
  readonly #link: SignerLink;
  readonly #signing: Answers<SignAnswer> = new TransientMap();
  readonly #sealing: Answers<SealedWallet> = new TransientMap();
  readonly #notes = new Notes();
  readonly #wallets = new Set<string>();
  readonly #reader = new FrameReader();
  #nextId = 1;
  #logId = '';
  #resolveStarted: (outcome: SessionStart) => void = () => undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#link = options.link();
    this.started = new Promise((resolve) => (this.#resolveStarted = resolve));
    this.ended = new Promise((resolve) => {
      this.#link.onEnd((what) => {
        this.#giveUp(what);
        resolve();
      });
    });
    const kill = (): void => this.kill();
    this.#link.output.on('data', (piece: Uint8Array) => this.#read(piece));
    // The process has ended, which `close` reports. What was being written to it is lost.
    this.#link.input.on('error', kill);
    this.#begin().catch(kill);
  }

  get pid(): number | null {
    return this.#link.pid;
  }

  knows(publicKey: string): boolean {
    return this.#wallets.has(publicKey);
  }

  addWallet({ publicKey, sealedSeed }: Pick<StoredWallet, 'publicKey' | 'sealedSeed'>): void {
    this.#wallets.add(publicKey);
    this.#send({ op: 'wallet', publicKey, sealedSeed });
  }

  /** Null: the process ended before it answered. */
  seal(seed: Uint8Array | null): Promise<SealedWallet | null> {
    return this.#request(this.#sealing, { op: 'seal', seed });
  }

  /** Null: the process ended before it answered. */
  ask(command: Omit<SignCommand, 'id'>): Promise<SignAnswer | null> {
    return this.#request(this.#signing, command);
  }

  /** Resolves once the audit log's lines of the command are on the disk, or the process ended before it reported that. */
  noted(id: number): Promise<Noted> {
    return this.#notes.of(id);
  }

  /** Ends the process after it has answered its current commands. */
  end(): void {
    this.#link.input.end();
  }

  kill(): void {
    this.#link.kill();
  }

  async #begin(): Promise<void> {
    const { heads, keystore } = this.#options;
    for (const { logId, lines, mac } of await heads()) this.#send({ op: 'head', logId, head: { lines, mac } });
    this.#send({ op: 'open', salt: keystore.salt, proof: keystore.proof });
  }

  #send(command: ToSigner): void {
    this.#link.input.write(encodeFrame(command));
  }

  #request<T>(answers: Answers<T>, command: Omit<SealCommand, 'id'> | Omit<SignCommand, 'id'>): Promise<T | null> {
    return new Promise((resolve) => {
      if (this.#link.isOver()) return resolve(null);
      const id = this.#nextId++;
      answers.set(id, resolve);
      this.#send({ id, ...command });
    });
  }

  #read(piece: Uint8Array): void {
    try {
      for (const content of this.#reader.push(piece)) this.#take(readFromSigner(content));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.kill();
    }
  }

  #take(message: FromSigner): void {
    switch (message.op) {
      case 'ready':
        this.#logId = message.logId;
        return this.#resolveStarted({ ok: true });
      case 'fault':
        this.#notes.end('fault');
        return this.#resolveStarted({ ok: false, reason: message.fault, what: message.what });
      case 'head':
        return this.#options.onHead(this.#logId, message.head);
      case 'noted':
        return this.#notes.reached(message.id);
      case 'damaged_wallet':
        this.#wallets.delete(message.publicKey);
        return this.#options.onDamagedWallet(message.publicKey);
      case 'sealed':
        this.#sealing.take(message.id)?.({ publicKey: message.publicKey, sealedSeed: message.sealedSeed });
        return;
      case 'signed':
      case 'allowed':
      case 'refused':
      case 'busy':
        this.#signing.take(message.id)?.(message);
    }
  }

  #giveUp(what: string): void {
    this.#resolveStarted({ ok: false, reason: 'ended', what });
    for (const give of [...this.#signing.values(), ...this.#sealing.values()]) give(null);
    this.#signing.clear();
    this.#sealing.clear();
    this.#notes.end('ended');
  }
}

/** Up to which command the log is on the disk, and the callers that wait for it. */
class Notes {
  readonly #waiting = new TransientMap<number, (noted: Noted) => void>();
  #upTo = 0;
  #over: Exclude<Noted, 'noted'> | null = null;

  of(id: number): Promise<Noted> {
    if (id <= this.#upTo) return Promise.resolve('noted');
    return this.#over === null ? new Promise((resolve) => this.#waiting.set(id, resolve)) : Promise.resolve(this.#over);
  }

  reached(newest: number): void {
    this.#upTo = newest;
    for (const [id, give] of this.#waiting.entries()) {
      if (id > newest) continue;
      this.#waiting.delete(id);
      give('noted');
    }
  }

  /** The first report counts. */
  end(how: Exclude<Noted, 'noted'>): void {
    this.#over ??= how;
    for (const give of this.#waiting.values()) give(this.#over);
    this.#waiting.clear();
  }
}
