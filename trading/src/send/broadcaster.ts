import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';
import { TransientMap } from '@sluice/shared/runtime/collections/transient-map.ts';
import type { BundlePlace } from '@sluice/gateway/store/order-model/order.ts';
import type { Lane, SentBundle, SentMessage } from './lane.ts';
import type { Lanes } from './lanes.ts';

/** The same bytes are sent again at this interval, until they are in a block. */
const resendEveryMs = 500;
/** The same on the block engine, which accepts one request a second from a caller, and must have room for the first sends of other orders. */
const blockEngineEveryMs = 2_000;
/** How often it checks which messages are due. */
const tickMs = 50;
/** Most messages that are resent at a time. Further ones are sent in their first round only. */
const maxHeld = 10_000;
/** Most sends that one tick begins, over all lanes, so that a tick does not block the event loop. */
const maxResendsATick = 256;

export interface BroadcastMessage {
  readonly signature: string;
  readonly wire: Uint8Array;
  /** Null: until `stop`. */
  readonly lastValidBlockHeight: number | null;
  /** Only the block engine may have it. */
  readonly blockEngineOnly?: boolean;
  /** It is sent with the others of its bundle, as soon as all of them are here, and never alone. */
  readonly bundle?: BundlePlace;
  /** Sends without waiting for the interval, because the first round may never have been sent. */
  readonly atOnce?: boolean;
}

export interface BroadcasterOptions {
  readonly lanes: Lanes;
  /** The newest known block height; null if none is known. */
  readonly blockHeight: () => number | null;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

interface Held {
  readonly message: SentMessage | SentBundle;
  readonly lanes: readonly Lane[];
  readonly lastValidBlockHeight: number | null;
  readonly everyMs: number;
  dueMs: number;
}

/** The messages of a bundle that are to be sent, by their places. It is sent while it has all of them. */
type Parts = Map<number, BroadcastMessage>;

/** Sends signed messages repeatedly. It knows only their bytes; the follower finds out whether they landed and calls `stop`. */
export class Broadcaster {
  readonly counters = { overflowed: 0, outlived: 0 };
  readonly #options: BroadcasterOptions;
  readonly #clock: Clock;
  readonly #held = new TransientMap<string, Held>();
  /** By the id of the bundle. */
  readonly #bundles = new Map<string, Parts>();
  /** By the signature of a message. */
  readonly #bundleOf = new Map<string, BundlePlace>();
  #isClosed: boolean;
  #stopTicking: (() => void) | null = null;

  constructor(options: BroadcasterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#isClosed = options.signal.aborted;
    options.signal.addEventListener('abort', () => this.close(), { once: true });
  }

  /** Messages that are sent repeatedly now. */
  get held(): number {
    return this.#held.size;
  }

  /**
   * Sends the same bytes repeatedly until `stop`, or until the last valid block of the message has passed. Unless it is the only lane of the
   * message, the block engine's lane belongs to the first round (`first-round.ts`), which the code that stores the order sends.
   */
  keepSending(message: BroadcastMessage): void {
    const { signature, wire, lastValidBlockHeight, blockEngineOnly = false, bundle, atOnce = false } = message;
    if (this.#isClosed || this.#held.has(signature)) return;
    if (this.#held.size + this.#bundleOf.size >= maxHeld) {
      this.counters.overflowed++;
      return;
    }
    if (bundle !== undefined) return this.#gather(bundle, message);
    const everyMs = blockEngineOnly ? blockEngineEveryMs : resendEveryMs;
    const lanes = this.#options.lanes.resendLanes(wire, blockEngineOnly);
    this.#hold({ message: { signature, wireBase64: base64Of(wire) }, lanes, lastValidBlockHeight, everyMs, atOnce });
  }

  /** Call when the message is in a block, or its order has ended. The others of its bundle are then not sent any more either. */
  stop(signature: string): void {
    const place = this.#bundleOf.get(signature);
    this.#held.delete(place?.id ?? signature);
    if (place === undefined) return;
    this.#bundleOf.delete(signature);
    const parts = this.#bundles.get(place.id);
    parts?.delete(place.index);
    if (parts?.size === 0) this.#bundles.delete(place.id);
  }

  close(): void {
    this.#isClosed = true;
    this.#held.clear();
    this.#bundles.clear();
    this.#bundleOf.clear();
    this.#rest();
  }

  #hold({ atOnce, ...held }: Omit<Held, 'dueMs'> & { readonly atOnce: boolean }): void {
    const { message, lanes, lastValidBlockHeight, everyMs } = held;
    const dueMs = this.#clock.steadyMs() + (atOnce ? 0 : everyMs);
    this.#held.set(message.signature, { message, lanes, lastValidBlockHeight, everyMs, dueMs });
    this.#stopTicking ??= this.#clock.every(tickMs, () => this.#tick());
  }

  #gather(place: BundlePlace, message: BroadcastMessage): void {
    const { id, index, count } = place;
    this.#bundleOf.set(message.signature, place);
    const known: Parts = this.#bundles.get(id) ?? new Map();
    this.#bundles.set(id, known.set(index, message));
    const { bundles } = this.#options.lanes;
    if (known.size < count || bundles === null || this.#held.has(id)) return;
    const parts = [...known].sort(([a], [b]) => a - b).map(([, part]) => part);
    const heights = parts.flatMap(({ lastValidBlockHeight: height }) => (height === null ? [] : [height]));
    this.#hold({
      message: { signature: id, bundle: parts.map(({ wire }) => base64Of(wire)) },
      lanes: [bundles],
      lastValidBlockHeight: heights.length === 0 ? null : Math.min(...heights),
      everyMs: blockEngineEveryMs,
      atOnce: parts.some(({ atOnce = false }) => atOnce),
    });
  }

  #tick(): void {
    const nowMs = this.#clock.steadyMs();
    const height = this.#options.blockHeight();
    const held = this.#held;
    let sent = 0;
    for (const [signature, one] of held.entries()) {
      if (height !== null && one.lastValidBlockHeight !== null && height > one.lastValidBlockHeight) {
        held.delete(signature);
        this.counters.outlived++;
        continue;
      }
      if (one.dueMs > nowMs) continue;
      if (sent >= maxResendsATick) break;
      // Moves it to the end, so that the next tick begins with those that this one did not reach.
      held.delete(signature);
      one.dueMs = nowMs + one.everyMs;
      held.set(signature, one);
      sent += one.lanes.length;
      for (const lane of one.lanes) lane.resend(one.message);
    }
    if (held.size === 0) this.#rest();
  }

  #rest(): void {
    this.#stopTicking?.();
    this.#stopTicking = null;
  }
}
