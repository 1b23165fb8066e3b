import type { Socket } from 'node:net';

/** Bytes of one HTTP request body (`MAX_REQUEST_BODY_SIZE` of a node). */
export const maxBodyBytes = 50 * 1024;
const headEnd = '\r\n\r\n';

/** One request as it arrived. */
export interface Post {
  readonly body: string;
  /** When its head was read, by `performance.now()`. */
  readonly beganAtMs: number;
}

/** Length of the body after the head of a plain JSON post to any path but `/control`; null for any other request. */
function bodyLengthOf(head: string): number | null {
  const [first = '', ...lines] = head.split('\r\n');
  const path = /^POST (\/[^ ?]*)[^ ]* HTTP\/1\.1$/.exec(first)?.[1];
  if (path === undefined || path === '/control') return null;
  let length: number | null = null;
  let isJson = false;
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (colon < 1 || /[^\w-]/.test(name) || name === 'transfer-encoding' || name === 'expect' || name === 'upgrade') return null;
    if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return null;
    if (name === 'content-type') isJson = value.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
    if (name !== 'content-length') continue;
    if (length !== null || !/^\d{1,5}$/.test(value)) return null;
    length = Number(value);
  }
  return isJson && length !== null && length <= maxBodyBytes ? length : null;
}

/**
 * Reads JSON posts from a socket, one after the other. Nearly all requests to a node are of this kind, and this costs a fraction of what
 * `node:http` costs. At the first request of another kind, the socket and what was read of it are given to `onOther` permanently.
 */
export class PostReader {
  readonly #socket: Socket;
  readonly #onPost: (post: Post, done: () => void) => void;
  readonly #onOther: () => void;
  #read: Buffer | null = null;
  #beganAtMs: number | null = null;
  #isBusy = false;

  /** `onPost` calls `done` when it has written its answer. Then the next request is read. */
  constructor(socket: Socket, onPost: (post: Post, done: () => void) => void, onOther: () => void) {
    this.#socket = socket;
    this.#onPost = onPost;
    this.#onOther = onOther;
  }

  start(): void {
    this.#socket.on('data', this.#onData).on('end', this.#onEnd);
  }

  readonly #onData = (piece: Buffer): void => {
    this.#read = this.#read === null ? piece : Buffer.concat([this.#read, piece]);
    // A client that sends another request before it is answered waits.
    if (this.#isBusy) this.#socket.pause();
    else this.#next();
  };

  readonly #onEnd = (): void => {
    this.#socket.end();
  };

  #next(): void {
    while (!this.#isBusy && this.#read !== null) {
      const end = this.#read.indexOf(headEnd);
      const length = end === -1 ? null : bodyLengthOf(this.#read.toString('latin1', 0, end));
      if (length === null) return this.#leave(this.#read);
      this.#beganAtMs ??= performance.now();
      const from = end + headEnd.length;
      const to = from + length;
      if (this.#read.length < to) return;
      const post = { body: this.#read.toString('utf8', from, to), beganAtMs: this.#beganAtMs };
      this.#read = this.#read.length === to ? null : this.#read.subarray(to);
      this.#beganAtMs = null;
      this.#isBusy = true;
      this.#onPost(post, this.#done);
    }
  }

  readonly #done = (): void => {
    this.#isBusy = false;
    if (this.#socket.isPaused()) {
      this.#socket.resume();
      this.#next();
    }
  };

  #leave(read: Buffer): void {
    const socket = this.#socket;
    this.#read = null;
    socket.off('data', this.#onData).off('end', this.#onEnd).pause();
    socket.unshift(read);
    this.#onOther();
    process.nextTick(() => socket.resume());
  }
}
