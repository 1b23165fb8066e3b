import { RpcError, type Rpc } from '@sluice/shared/solana/rpc.ts';
import { isRecord } from '@sluice/shared/solana/json-forms.ts';
import { createTurns } from '../nodes/turns.ts';

/** Requests under way on one lane. */
const maxRunning = 32;
/** First sends that wait for their turn on a lane; beyond it the lane is passed over (the others carry the message). */
const maxWaiting = 4_096;
/** A lane that fails is left alone by repeated sends for so long, doubled with each failure in a row. First sends always go. */
const firstRestMs = 200;
const maxRestMs = 5_000;

const signatureFault = -32003;
const alreadyProcessed = 'AlreadyProcessed';

/** `accepted`: the node took the message, or has it already. `refused`: it answered that it does not. `unanswered`: nobody knows. */
export type LaneAnswer = 'accepted' | 'refused' | 'unanswered';

export interface SentMessage {
  readonly signature: string;
  /** The signed bytes, base64. */
  readonly wireBase64: string;
}

export interface LaneCounters {
  first: number;
  again: number;
  accepted: number;
  refused: number;
  unanswered: number;
  /** Answers with another signature than that of the message, or of no known form. */
  malformed: number;
  /** Repeated sends left out because the lane was busy or resting. */
  skipped: number;
  /** Sends, first and repeated ones, left out because nothing may leave at present. */
  withheld: number;
  /** First sends that found no place. */
  overflowed: number;
  /** Messages that it was passed over for, as they carry no tip for it. */
  untipped: number;
}

export interface Lane {
  readonly name: string;
  /** Sends a message for the first time; resolves with what became of it. Never rejects. */
  send(message: SentMessage): Promise<LaneAnswer>;
  /** Sends it once more, where the lane has time for it. */
  again(message: SentMessage): void;
  /** It would not take this message: others carry it. */
  passOver(): void;
  readonly counters: Readonly<LaneCounters>;
}

export interface LaneOptions {
  readonly name: string;
  readonly rpc: Rpc;
  /** Whether messages may leave now; asked at the last moment. */
  readonly mayLeave: () => boolean;
  readonly signal: AbortSignal;
}

function isAlreadyProcessed(error: RpcError): boolean {
  return isRecord(error.data) && error.data['err'] === alreadyProcessed;
}

/** One way that messages leave by: an RPC endpoint, a block engine. Preflight is skipped: the very bytes were simulated before. */
export function createLane({ name, rpc, mayLeave, signal }: LaneOptions): Lane {
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
  const turns = createTurns(maxRunning, maxWaiting);
  const sending = new Set<string>();
  let failures = 0;
  let restUntilMs = 0;

  function judge(error: unknown): LaneAnswer {
    if (!(error instanceof RpcError)) throw error;
    if (error.kind !== 'answer') return 'unanswered';
    if (isAlreadyProcessed(error)) return 'accepted';
    // Only this says that the bytes are at fault; of any other error nobody knows what the node did before it.
    return error.code === signatureFault ? 'refused' : 'unanswered';
  }

  function note(answer: LaneAnswer): void {
    counters[answer]++;
    if (answer === 'accepted') {
      failures = 0;
      restUntilMs = 0;
      return;
    }
    restUntilMs = performance.now() + Math.min(maxRestMs, firstRestMs * 2 ** Math.min(failures++, 10));
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
      const give = await turns.take();
      if (give === null) {
        counters.overflowed++;
        return 'unanswered';
      }
      try {
        if (signal.aborted) return 'unanswered';
        if (!mayLeave()) {
          counters.withheld++;
          return 'unanswered';
        }
        counters.first++;
        return await request(message);
      } finally {
        give();
      }
    },
    passOver() {
      counters.untipped++;
    },
    again(message) {
      if (!mayLeave()) {
        counters.withheld++;
        return;
      }
      if (!turns.free || performance.now() < restUntilMs || sending.has(message.signature)) {
        counters.skipped++;
        return;
      }
      counters.again++;
      void turns.take().then((give) => request(message).finally(give));
    },
  };
}
