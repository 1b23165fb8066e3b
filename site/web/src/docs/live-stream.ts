import { Store } from '../state/store.ts';
import { apiKey, caller, sendAs } from './credentials.tsx';

export interface Line {
  readonly id: number;
  readonly atMs: number;
  readonly way: 'sent' | 'received';
  readonly text: string;
}

export interface Status {
  readonly state: 'closed' | 'opening' | 'open';
  /** Why it is closed; empty if nothing is wrong. */
  readonly why: string;
}

/** The newest messages; older ones are forgotten. */
const maxLines = 200;
const maxLineChars = 4_000;
/** A busy stream has hundreds of messages a second. The page shows them in steps. */
const showEveryMs = 200;

/** One connection to the stream as it is on the wire. The client library would hide replies, heartbeats and closes. */
export class LiveStream {
  readonly status = new Store<Status>({ state: 'closed', why: '' });
  /** Newest first. */
  readonly lines = new Store<readonly Line[]>([]);
  /** Messages received since the console was opened, shown or not. */
  readonly received = new Store(0);
  readonly isPaused = new Store(false);
  readonly showsHeartbeats = new Store(false);
  #socket: WebSocket | null = null;
  #waiting: Line[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;
  #nextId = 0;
  #received = 0;

  /** Connects with a ticket of the session, with the key as the first message, or without either. */
  async open(): Promise<void> {
    this.status.set({ state: 'opening', why: '' });
    try {
      const query = caller() === 'session' ? `?ticket=${encodeURIComponent(await ticket())}` : '';
      this.#connect(`${location.origin.replace(/^http/, 'ws')}/api/data${query}`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#socket?.close();
    this.#socket = null;
    this.status.set({ state: 'closed', why: '' });
  }

  /** `shown`: what the list has instead of a secret. */
  send(text: string, shown = text): void {
    this.#socket?.send(text);
    this.#add('sent', shown);
  }

  clear(): void {
    this.#waiting = [];
    this.lines.set([]);
  }

  #connect(url: string): void {
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.addEventListener('open', () => {
      if (this.#socket !== socket) return;
      this.status.set({ state: 'open', why: '' });
      if (caller() === 'key') this.send(JSON.stringify({ op: 'auth', key: apiKey() }), '{"op":"auth","key":"…"}');
    });
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket === socket) this.#onMessage(String(data));
    });
    socket.addEventListener('close', ({ code, reason }) => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      // Browsers do not say why a handshake was refused.
      this.status.set({ state: 'closed', why: `${code} ${reason}`.trim() });
    });
  }

  #onMessage(text: string): void {
    this.#received++;
    this.#showSoon();
    if (this.isPaused.value || (!this.showsHeartbeats.value && /^\{[^{]*"op":"heartbeat"/.test(text))) return;
    this.#add('received', text);
  }

  #add(way: Line['way'], text: string): void {
    const shown = text.length > maxLineChars ? `${text.slice(0, maxLineChars)} … ${text.length - maxLineChars} more characters` : text;
    this.#waiting.push({ id: this.#nextId++, atMs: Date.now(), way, text: shown });
    if (this.#waiting.length > maxLines) this.#waiting.shift();
    this.#showSoon();
  }

  #showSoon(): void {
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.received.set(this.#received);
      if (this.#waiting.length === 0) return;
      this.lines.set([...this.#waiting.toReversed(), ...this.lines.value].slice(0, maxLines));
      this.#waiting = [];
    }, showEveryMs);
  }
}

async function ticket(): Promise<string> {
  const answer = await sendAs('/api/ws-ticket', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  const { ticket: given, error } = (await answer.json()) as { readonly ticket?: string; readonly error?: { readonly message: string } };
  if (given === undefined) throw new Error(error?.message ?? `HTTP ${answer.status}`);
  return given;
}
