import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';
import { base64Of } from '@sluice/shared/solana/bytes.ts';
import { PassingMap } from '@sluice/shared/collections/passing-map.ts';
import type { Lane, SentMessage } from './lane.ts';
import type { Lanes } from './lanes.ts';

/** The same bytes go out again so often, until somebody has them in a block. */
const againEveryMs = 500;
/** How often it is looked which messages are due. */
const tickMs = 50;
/** Messages that are sent again and again at a time; further ones are sent in their first round alone. */
const maxHeld = 10_000;
/** Repeated sends that one tick begins on all lanes together, so that a tick never holds up the process. */
const maxAgainATick = 256;

export interface BroadcastMessage {
  readonly signature: string;
  readonly wire: Uint8Array;
  /** Null: until it is told to stop. */
  readonly lastValidBlockHeight: number | null;
  /** Its first round may never have left, so it goes out without a wait. */
  readonly atOnce?: boolean;
}

export interface Broadcaster {
  /**
   * Sends the same bytes again and again until `stop`, or until the last block of the message has passed. The first round
   * (`first-round.ts`) belongs to whoever stored the order. Here nobody knows whether it left, and a block engine gets a message once.
   */
  keepSending(message: BroadcastMessage): void;
  /** It is in a block, or its order has ended. */
  stop(signature: string): void;
  /** Messages being sent. */
  readonly held: number;
  readonly counters: { readonly overflowed: number; readonly outlived: number };
  close(): void;
}

export interface BroadcasterOptions {
  readonly lanes: Lanes;
  /** The newest block height that is known; null where none is. */
  readonly blockHeight: () => number | null;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

interface Held {
  readonly message: SentMessage;
  readonly again: readonly Lane[];
  readonly lastValidBlockHeight: number | null;
  dueMs: number;
}

/** Sends signed messages again and again until they are in a block. Holds only bytes; what became of them others find out. */
export function createBroadcaster({ lanes, blockHeight, clock = systemClock, signal: outer }: BroadcasterOptions): Broadcaster {
  const closing = new AbortController();
  const signal = AbortSignal.any([outer, closing.signal]);
  const held = new PassingMap<string, Held>();
  const counters = { overflowed: 0, outlived: 0 };
  let stop: (() => void) | null = null;

  function tick(): void {
    const nowMs = clock.steadyMs();
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
      for (const lane of one.again) lane.again(one.message);
    }
    if (held.size === 0) rest();
  }

  function rest(): void {
    stop?.();
    stop = null;
  }

  function keepSending({ signature, wire, lastValidBlockHeight, atOnce = false }: BroadcastMessage): void {
    if (signal.aborted || held.has(signature)) return;
    if (held.size >= maxHeld) {
      counters.overflowed++;
      return;
    }
    const message: SentMessage = { signature, wireBase64: base64Of(wire) };
    held.set(signature, {
      message,
      again: lanes.again(wire),
      lastValidBlockHeight,
      dueMs: clock.steadyMs() + (atOnce ? 0 : againEveryMs),
    });
    stop ??= clock.every(tickMs, tick);
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
    keepSending,
    stop(signature) {
      held.delete(signature);
    },
    close,
  };
}
