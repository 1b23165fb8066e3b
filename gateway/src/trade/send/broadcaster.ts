import { createRpc } from '@sluice/shared/solana/rpc.ts';
import type { PaidLane } from '../tips.ts';
import { createLane, type Lane, type LaneAnswer, type LaneCounters, type SentMessage } from './lane.ts';
import type { SendNode } from './nodes.ts';

/** The same bytes go out again so often, until somebody has them in a block. */
const againEveryMs = 500;
/** How often it is looked which messages are due. */
const tickMs = 50;
/** Messages that are sent again and again at a time; further ones go out once, and their followers see to them. */
const maxHeld = 10_000;
/** Repeated sends that one tick begins on all lanes together, so that a tick never holds up the process. */
const maxAgainATick = 256;
/** Time for an answer to a message sent. */
const timeoutMs = 2_500;
const maxAnswerBytes = 64 * 1024;

/**
 * What the first round came to. `accepted`: at least one lane took the message. `refused`: every lane answered that its bytes are
 * at fault. `unanswered`: neither; it may land, or not.
 */
export interface FirstRound {
  readonly kind: LaneAnswer;
  /** The lane that took it first; null where none did. */
  readonly by: string | null;
}

export interface BroadcastMessage {
  readonly signature: string;
  readonly wire: Uint8Array;
  /** Null: until it is told to stop. */
  readonly lastValidBlockHeight: number | null;
}

export interface Broadcaster {
  /**
   * Sends the message on all lanes at once and goes on sending the same bytes until `stop`, or until its last block has passed.
   * Resolves with the first lane that took it, or when all have answered. A message that is being sent already is not begun anew:
   * its first round is told again.
   * Never rejects.
   */
  send(message: BroadcastMessage): Promise<FirstRound>;
  /** It is in a block, or its order has ended. */
  stop(signature: string): void;
  /** Messages being sent. */
  readonly held: number;
  readonly counters: { readonly messages: number; readonly overflowed: number; readonly outlived: number };
  readonly lanes: readonly { readonly name: string; readonly counters: Readonly<LaneCounters> }[];
  close(): void;
}

export interface BroadcasterOptions {
  readonly nodes: readonly SendNode[];
  /** Addresses of a Jito block engine's and a Helius Sender's `sendTransaction`; both want a tip within the message. */
  readonly jitoUrl: string | null;
  readonly senderUrl: string | null;
  /** Which of those two take a transaction; the others are passed over. */
  readonly tippedLanes: (wire: Uint8Array) => ReadonlySet<PaidLane>;
  /** The newest block height that is known; null where none is. */
  readonly blockHeight: () => number | null;
  /** Whether messages may leave now. Those that may not stay held, and leave when they may again, if they can still land. */
  readonly mayLeave: () => boolean;
  readonly signal: AbortSignal;
}

class NotAccepted extends Error {}

interface Held {
  readonly message: SentMessage;
  readonly again: readonly Lane[];
  readonly lastValidBlockHeight: number | null;
  readonly first: Promise<FirstRound>;
  dueMs: number;
}

interface Lanes {
  readonly nodes: readonly Lane[];
  readonly paid: readonly { readonly name: PaidLane; readonly lane: Lane }[];
}

function lanesOf({ nodes, jitoUrl, senderUrl, mayLeave }: BroadcasterOptions, signal: AbortSignal): Lanes {
  const paid = (name: PaidLane, url: string | null): Lanes['paid'] =>
    url === null ? [] : [{ name, lane: createLane({ name, rpc: createRpc([url], { timeoutMs, maxAnswerBytes }), mayLeave, signal }) }];
  return {
    nodes: nodes.map(({ name, rpc }) => createLane({ name, rpc, mayLeave, signal })),
    paid: [...paid('sender', senderUrl), ...paid('jito', jitoUrl)],
  };
}

/** By which lanes a message goes, at first and again. */
function lanesFor(
  wire: Uint8Array,
  { nodes, paid }: Lanes,
  { tippedLanes }: BroadcasterOptions,
): { readonly all: readonly Lane[]; readonly again: readonly Lane[] } {
  if (paid.length === 0) return { all: nodes, again: nodes };
  const tipped = tippedLanes(wire);
  const all = [...nodes];
  // A block engine takes one request a second of a caller: repeated sends would keep out the next order's first one.
  const again = [...nodes];
  for (const { name, lane } of paid) {
    if (!tipped.has(name)) {
      lane.passOver();
      continue;
    }
    all.push(lane);
    if (name !== 'jito') again.push(lane);
  }
  return { all, again };
}

/** Sends signed messages by all lanes until they are in a block. Holds only bytes; what became of them others find out. */
export function createBroadcaster(options: BroadcasterOptions): Broadcaster {
  const closing = new AbortController();
  const signal = AbortSignal.any([options.signal, closing.signal]);
  const lanes = lanesOf(options, signal);
  const held = new Map<string, Held>();
  const counters = { messages: 0, overflowed: 0, outlived: 0 };
  let timer: NodeJS.Timeout | null = null;

  function tick(): void {
    const nowMs = performance.now();
    const height = options.blockHeight();
    let begun = 0;
    for (const [signature, one] of held) {
      if (height !== null && one.lastValidBlockHeight !== null && height > one.lastValidBlockHeight) {
        held.delete(signature);
        counters.outlived++;
        continue;
      }
      if (one.dueMs > nowMs) continue;
      if (begun >= maxAgainATick) break;
      // To the end of the line: the next tick goes on with those that this one did not reach.
      held.delete(signature);
      held.set(signature, { ...one, dueMs: nowMs + againEveryMs });
      begun += one.again.length;
      for (const lane of one.again) lane.again(one.message, nowMs);
    }
    if (held.size === 0) rest();
  }

  function rest(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  function hold(one: Held): void {
    if (signal.aborted) return;
    if (held.size >= maxHeld) {
      counters.overflowed++;
      return;
    }
    held.set(one.message.signature, one);
    timer ??= setInterval(tick, tickMs);
  }

  async function firstRound(message: SentMessage, all: readonly Lane[]): Promise<FirstRound> {
    const answers = all.map(async (lane) => ({ lane, answer: await lane.send(message) }));
    const accepted = answers.map(async (one) => {
      const { lane, answer } = await one;
      return answer === 'accepted' ? lane.name : Promise.reject(new NotAccepted());
    });
    try {
      return { kind: 'accepted', by: await Promise.any(accepted) };
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      const told = await Promise.all(answers);
      const refused = told.length > 0 && told.every(({ answer }) => answer === 'refused');
      return { kind: refused ? 'refused' : 'unanswered', by: null };
    }
  }

  const close = (): void => {
    closing.abort();
    held.clear();
    rest();
  };
  options.signal.addEventListener('abort', close, { once: true });

  return {
    counters,
    lanes: [...lanes.nodes, ...lanes.paid.map(({ lane }) => lane)],
    get held() {
      return held.size;
    },
    async send({ signature, wire, lastValidBlockHeight }) {
      const known = held.get(signature);
      if (known !== undefined) return await known.first;
      const message: SentMessage = { signature, wireBase64: Buffer.from(wire).toString('base64') };
      counters.messages++;
      const { all, again } = lanesFor(wire, lanes, options);
      const first = firstRound(message, all);
      hold({ message, again, lastValidBlockHeight, first, dueMs: performance.now() + againEveryMs });
      return await first;
    },
    stop(signature) {
      held.delete(signature);
    },
    close,
  };
}
