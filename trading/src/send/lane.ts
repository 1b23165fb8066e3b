import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { bytesFaults } from '../nodes/answer-forms.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';

/** Most requests at a time on one lane. */
const maxRunning = 32;
/** Most first sends that wait on a lane. Further messages skip this lane; the other lanes send them. */
const maxWaiting = 4_096;
/** After a failure, a lane omits repeated sends for this long; the time doubles with each failure in a row. First sends are not affected. */
const firstPauseMs = 200;
const maxPauseMs = 5_000;

const alreadyProcessed = 'AlreadyProcessed';

/** `accepted`: the node accepted the message, or has it already. `refused`: the node answered that its bytes are invalid. `unanswered`: neither. */
export type LaneAnswer = 'accepted' | 'refused' | 'unanswered';

export interface SentMessage {
  /** Of the transaction; of a bundle, its id. */
  readonly signature: string;
  /** The signed transaction, base64. */
  readonly wireBase64: string;
}

/** The transactions of a bundle, base64, which a block engine lands together or not at all. */
export interface SentBundle extends Pick<SentMessage, 'signature'> {
  readonly bundle: readonly string[];
}

type Sent = SentMessage | SentBundle;

export type LaneCounters = Lane['counters'];

export interface LaneOptions {
  readonly name: string;
  readonly rpc: Rpc;
  /** Whether messages may be sent now. Checked just before each send. */
  readonly maySend: () => boolean;
  readonly signal: AbortSignal;
}

/** One way to send messages: an RPC endpoint, a block engine or a sender. Preflight is skipped, because the message was simulated before. */
export class Lane {
  readonly name: string;
  readonly counters = {
    first: 0,
    again: 0,
    accepted: 0,
    refused: 0,
    unanswered: 0,
    /** Answers with a wrong signature, or in an unknown form. */
    malformed: 0,
    /** Repeated sends omitted because the lane was busy or paused. */
    skipped: 0,
    /** First and repeated sends omitted because nothing may be sent at present. */
    withheld: 0,
    /** First sends omitted because too many waited. */
    overflowed: 0,
    /** Messages not sent on this lane because they carry no tip for it. */
    untipped: 0,
  };
  readonly #options: LaneOptions;
  readonly #requests = new Semaphore(maxRunning);
  readonly #sending = new Set<string>();
  #failures = 0;
  #pausedUntilMs = 0;

  constructor(options: LaneOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Sends a message for the first time. Never rejects. */
  async send(message: Sent): Promise<LaneAnswer> {
    if (this.#requests.waiting >= maxWaiting) {
      this.counters.overflowed++;
      return 'unanswered';
    }
    return await this.#requests.run(async () => {
      if (this.#options.signal.aborted || !this.#maySend()) return 'unanswered';
      this.counters.first++;
      return await this.#request(message);
    });
  }

  /** Sends a message again, unless the lane is busy or paused. Does not report the result. */
  resend(message: Sent): void {
    if (!this.#maySend()) return;
    if (!this.#requests.hasRoom || performance.now() < this.#pausedUntilMs || this.#sending.has(message.signature)) {
      this.counters.skipped++;
      return;
    }
    this.counters.again++;
    void this.#requests.run(() => this.#request(message));
  }

  /** Counts a message that this lane does not accept because it carries no tip. */
  passOver(): void {
    this.counters.untipped++;
  }

  #maySend(): boolean {
    const maySend = this.#options.maySend();
    if (!maySend) this.counters.withheld++;
    return maySend;
  }

  async #request(message: Sent): Promise<LaneAnswer> {
    const { rpc, signal } = this.#options;
    const { signature } = message;
    this.#sending.add(signature);
    try {
      const [method, params] = callOf(message);
      const answer = await rpc.call(method, params, signal).then((result): LaneAnswer => {
        // A block engine that names a bundle otherwise has it all the same.
        if (result === signature || ('bundle' in message && typeof result === 'string')) return 'accepted';
        this.counters.malformed++;
        return 'unanswered';
      }, answerOf);
      this.#note(answer);
      return answer;
    } finally {
      this.#sending.delete(signature);
    }
  }

  #note(answer: LaneAnswer): void {
    this.counters[answer]++;
    if (answer === 'accepted') {
      this.#failures = 0;
      this.#pausedUntilMs = 0;
      return;
    }
    this.#pausedUntilMs = performance.now() + Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#failures++, 10));
  }
}

function callOf(message: Sent): readonly [method: string, params: readonly unknown[]] {
  if ('bundle' in message) return ['sendBundle', [message.bundle, { encoding: 'base64' }]];
  return ['sendTransaction', [message.wireBase64, { encoding: 'base64', skipPreflight: true, maxRetries: 0 }]];
}

function answerOf(error: unknown): LaneAnswer {
  if (!(error instanceof RpcError)) throw error;
  if (error.kind !== 'answer') return 'unanswered';
  if (isRecord(error.data) && error.data['err'] === alreadyProcessed) return 'accepted';
  // Only these errors show that the bytes are invalid. After any other error, the node may have forwarded the message.
  return bytesFaults.has(error.code) ? 'refused' : 'unanswered';
}
