import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { WebSocket } from 'ws';
import { until } from '../support/gateway.ts';

interface StreamMessage {
  readonly op?: string;
  readonly topic?: string;
  readonly seq?: number;
  readonly positions?: Readonly<Record<string, { readonly epoch: string; readonly seq: number; readonly recovered?: boolean }>>;
  readonly reconnectWithinMs?: number;
}

const firstPauseMs = 50;

/** Written by hand because it measures close codes and pauses, and must see repeated frames. Follows one coin's trades, resumes with `since` whenever it is closed, and records what was missing or repeated. */
export class ResumingClient {
  lacking = 0;
  twice = 0;
  gaps = 0;
  readonly closeCodes: number[] = [];
  longestPauseMs = 0;
  readonly #url: string;
  readonly #key: string;
  readonly #mint: string;
  #socket: WebSocket;
  #position: { epoch: string; seq: number } | null = null;
  #closedAtMs: number | null = null;
  #waitMs = 0;
  #isOver = false;

  constructor(url: string, key: string, mint: string) {
    [this.#url, this.#key, this.#mint] = [url, key, mint];
    this.#socket = this.#connect();
  }

  /** Waits until the client is subscribed again after this number of closed connections. */
  async subscribedAfter(closes: number): Promise<void> {
    const isSubscribed = (): boolean => this.#position !== null && this.#closedAtMs === null;
    await until('a subscription', () => this.closeCodes.length >= closes && isSubscribed());
  }

  async reached(seq: number): Promise<void> {
    await until(`event ${seq}`, () => (this.#position?.seq ?? 0) >= seq);
  }

  close(): void {
    this.#isOver = true;
    this.#socket.terminate();
  }

  #connect(): WebSocket {
    const socket = new WebSocket(this.#url, { headers: { authorization: `Bearer ${this.#key}` } });
    socket.on('open', () => {
      const since = this.#position === null ? {} : { since: this.#position };
      socket.send(JSON.stringify({ id: 1, op: 'subscribe', channel: 'trades', mints: [this.#mint], ...since }));
    });
    socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString('utf8')) as StreamMessage));
    // The close that follows is evaluated.
    socket.on('error', () => socket.terminate());
    socket.on('close', (code) => this.#onClose(code));
    return socket;
  }

  #receive({ op, topic, seq = 0, positions, reconnectWithinMs }: StreamMessage): void {
    if (op === 'subscribed') {
      if (this.#closedAtMs !== null) this.longestPauseMs = Math.max(this.longestPauseMs, performance.now() - this.#closedAtMs);
      this.#closedAtMs = null;
      const reported = positions?.[tradesTopic(this.#mint)];
      if (this.#position === null && reported !== undefined) this.#position = { epoch: reported.epoch, seq: reported.seq };
    } else if (op === 'gap') this.gaps++;
    else if (op === 'draining') this.#waitMs = Math.random() * (reconnectWithinMs ?? 0);
    else if (topic !== undefined && this.#position !== null) {
      if (seq <= this.#position.seq) this.twice++;
      this.lacking += Math.max(0, seq - this.#position.seq - 1);
      this.#position.seq = Math.max(seq, this.#position.seq);
    }
  }

  #onClose(code: number): void {
    if (this.#isOver) return;
    this.closeCodes.push(code);
    this.#closedAtMs ??= performance.now();
    setTimeout(() => {
      if (!this.#isOver) this.#socket = this.#connect();
    }, this.#waitMs || firstPauseMs);
    this.#waitMs = 0;
  }
}
