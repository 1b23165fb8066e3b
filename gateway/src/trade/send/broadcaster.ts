import { base64Of } from '@sluice/shared/solana/bytes.ts';
import { PassingMap } from '@sluice/shared/collections/passing-map.ts';
import { firstRound, type FirstRound } from './first-round.ts';
import type { Lane, SentMessage } from './lane.ts';
import type { Lanes } from './lanes.ts';

/** The same bytes go out again so often, until somebody has them in a block. */
const againEveryMs = 500;
/** How often it is looked which messages are due. */
const tickMs = 50;
/** Messages that are sent again and again at a time; further ones go out once, and their followers see to them. */
const maxHeld = 10_000;
/** Repeated sends that one tick begins on all lanes together, so that a tick never holds up the process. */
const maxAgainATick = 256;

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
  /** Goes on sending a message whose first round somebody else sees to. */
  keepSending(message: BroadcastMessage): void;
  /** It is in a block, or its order has ended. */
  stop(signature: string): void;
  /** Messages being sent. */
  readonly held: number;
  readonly counters: { readonly messages: number; readonly overflowed: number; readonly outlived: number };
  close(): void;
}

export interface BroadcasterOptions {
  readonly lanes: Lanes;
  /** The newest block height that is known; null where none is. */
  readonly blockHeight: () => number | null;
  readonly signal: AbortSignal;
}

interface Held {
  readonly message: SentMessage;
  readonly again: readonly Lane[];
  readonly lastValidBlockHeight: number | null;
  /** Null: somebody else saw to it. */
  readonly first: Promise<FirstRound> | null;
  dueMs: number;
}

/** Sends signed messages by all lanes until they are in a block. Holds only bytes; what became of them others find out. */
export function createBroadcaster({ lanes, blockHeight, signal: outer }: BroadcasterOptions): Broadcaster {
  const closing = new AbortController();
  const signal = AbortSignal.any([outer, closing.signal]);
  const held = new PassingMap<string, Held>();
  const counters = { messages: 0, overflowed: 0, outlived: 0 };
  let timer: NodeJS.Timeout | null = null;

  function tick(): void {
    const nowMs = performance.now();
    const height = blockHeight();
    let begun = 0;
    for (const [signature, one] of held.entries()) {
      if (height !== null && one.lastValidBlockHeight !== null && height > one.lastValidBlockHeight) {
        held.delete(signature);
        counters.outlived++;
        continue;
      }
      if (one.dueMs > nowMs) continue;
      if (begun >= maxAgainATick) break;
      // To the end of the line: the next tick goes on with those that this one did not reach.
      held.delete(signature);
      one.dueMs = nowMs + againEveryMs;
      held.set(signature, one);
      begun += one.again.length;
      for (const lane of one.again) lane.again(one.message, nowMs);
    }
    if (held.size === 0) rest();
  }

  function rest(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  function hold({ signature, wire, lastValidBlockHeight }: BroadcastMessage, first: Held['first']): void {
    if (signal.aborted) return;
    if (held.size >= maxHeld) {
      counters.overflowed++;
      return;
    }
    const message: SentMessage = { signature, wireBase64: base64Of(wire) };
    held.set(signature, { message, again: lanes.again(wire), lastValidBlockHeight, first, dueMs: performance.now() + againEveryMs });
    timer ??= setInterval(tick, tickMs);
  }

  const close = (): void => {
    closing.abort();
    held.clear();
    rest();
  };
  outer.addEventListener('abort', close, { once: true });

  return {
    counters,
    get held() {
      return held.size;
    },
    async send(message) {
      const { signature, wire } = message;
      const known = held.get(signature)?.first ?? null;
      if (known !== null) return await known;
      counters.messages++;
      const first = firstRound(signature, wire, lanes);
      hold(message, first);
      return await first;
    },
    keepSending(message) {
      if (!held.has(message.signature)) hold(message, null);
    },
    stop(signature) {
      held.delete(signature);
    },
    close,
  };
}
