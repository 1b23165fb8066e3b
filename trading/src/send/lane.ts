import { RpcError, type Rpc } from '@sluice/shared/solana/rpc.ts';
import { isRecord } from '@sluice/shared/solana/json-forms.ts';
import { bytesFaults } from '../nodes/answer-forms.ts';
import { Semaphore } from '@sluice/shared/collections/semaphore.ts';

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
  readonly signature: string;
  /** The signed transaction, base64. */
  readonly wireBase64: string;
}

export interface LaneCounters {
  first: number;
  again: number;
  accepted: number;
  refused: number;
  unanswered: number;
  /** Answers with a wrong signature, or in an unknown form. */
  malformed: number;
  /** Repeated sends omitted because the lane was busy or paused. */
  skipped: number;
  /** First and repeated sends omitted because nothing may be sent at present. */
  withheld: number;
  /** First sends omitted because too many waited. */
  overflowed: number;
  /** Messages not sent on this lane because they carry no tip for it. */
  untipped: number;
}

export interface Lane {
  readonly name: string;
  /** Sends a message for the first time. Never rejects. */
  send(message: SentMessage): Promise<LaneAnswer>;
  /** Sends a message again, unless the lane is busy or paused. Does not report the result. */
  resend(message: SentMessage): void;
  /** Counts a message that this lane does not accept because it carries no tip. */
  passOver(): void;
  readonly counters: Readonly<LaneCounters>;
}

export interface LaneOptions {
  readonly name: string;
  readonly rpc: Rpc;
  /** Whether messages may be sent now. Checked just before each send. */
  readonly maySend: () => boolean;
  readonly signal: AbortSignal;
}

function isAlreadyProcessed(error: RpcError): boolean {
  return isRecord(error.data) && error.data['err'] === alreadyProcessed;
}

/** One way to send messages: an RPC endpoint, a block engine or a sender. Preflight is skipped, because the message was simulated before. */
export function createLane({ name, rpc, maySend, signal }: LaneOptions): Lane {
  const counters: LaneCounters = {
    first: 0,
    again: 0,
    accepted: 0,
    refused: 0,
    unanswered: 0,
    malformed: 0,
    skipped: 0,
    withheld: 0,
    overflowed: 0,
    untipped: 0,
  };
  const requests = new Semaphore(maxRunning);
  const sending = new Set<string>();
  let failures = 0;
  let pausedUntilMs = 0;

  function judge(error: unknown): LaneAnswer {
    if (!(error instanceof RpcError)) throw error;
    if (error.kind !== 'answer') return 'unanswered';
    if (isAlreadyProcessed(error)) return 'accepted';
    // Only these errors show that the bytes are invalid. After any other error, the node may have forwarded the message.
    return bytesFaults.has(error.code) ? 'refused' : 'unanswered';
  }

  function note(answer: LaneAnswer): void {
    counters[answer]++;
    if (answer === 'accepted') {
      failures = 0;
      pausedUntilMs = 0;
      return;
    }
    pausedUntilMs = performance.now() + Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures++, 10));
  }

  async function request({ signature, wireBase64 }: SentMessage): Promise<LaneAnswer> {
    sending.add(signature);
    try {
      const params = [wireBase64, { encoding: 'base64', skipPreflight: true, maxRetries: 0 }];
      const answer = await rpc.call('sendTransaction', params, signal).then((result): LaneAnswer => {
        if (result === signature) return 'accepted';
        counters.malformed++;
        return 'unanswered';
      }, judge);
      note(answer);
      return answer;
    } finally {
      sending.delete(signature);
    }
  }

  return {
    name,
    counters,
    async send(message) {
      if (requests.waiting >= maxWaiting) {
        counters.overflowed++;
        return 'unanswered';
      }
      return await requests.run(async () => {
        if (signal.aborted) return 'unanswered';
        if (!maySend()) {
          counters.withheld++;
          return 'unanswered';
        }
        counters.first++;
        return await request(message);
      });
    },
    passOver() {
      counters.untipped++;
    },
    resend(message) {
      if (!maySend()) {
        counters.withheld++;
        return;
      }
      if (!requests.hasRoom || performance.now() < pausedUntilMs || sending.has(message.signature)) {
        counters.skipped++;
        return;
      }
      counters.again++;
      void requests.run(() => request(message));
    },
  };
}
