/**
 * `oversized`: longer than any frame of its kind. `protocol`: not a WebSocket frame. `deep`: too deeply nested. `malformed`: not JSON-RPC
 * of a node, or a slot notification with an impossible slot. `content`: another notification without its content, or with an impossible
 * slot. `unasked`: a notification without a subscription. `flood`: more than the subscriptions can cause. `deaf`: the endpoint does not read.
 */
export type FrameFault = 'oversized' | 'protocol' | 'deep' | 'malformed' | 'content' | 'unasked' | 'flood' | 'deaf';

/** The weight of each fault. A frame that breaks the connection forces a new one, and a flood cannot be an accident. */
const weights: Readonly<Record<FrameFault, number>> = {
  oversized: 3,
  protocol: 3,
  deep: 1,
  malformed: 1,
  content: 1,
  unasked: 1,
  flood: 8,
  deaf: 8,
};
/** An endpoint is dropped if the weights of its faults reach this sum. One is forgiven every `forgivenAfterMs`. */
export const maxFaults = 8;
const forgivenAfterMs = 10_000;
/** How long a dropped endpoint is not used. The time doubles with each drop, until the endpoint was used for `heldMs` without a drop. */
export const firstDropMs = 5_000;
const maxDropMs = 600_000;
const heldMs = 600_000;
/** Allowances are averaged over this time, because a process that was suspended receives everything that waited. */
const burstSeconds = 4;

/** Pings and pongs in a second. Nodes send one in several seconds. */
const controlFramesPerSecond = 8;

/** What the subscriptions of a connection may cause in a second. */
export interface FrameAllowance {
  readonly bytesPerSecond: number;
  readonly framesPerSecond: number;
}

/** Counts the faults of one endpoint over all of its connections. Times are milliseconds of one clock. */
export class FrameFaults {
  readonly #allowance: FrameAllowance | null;
  #faults = 0;
  #faultsAtMs = 0;
  #drops = 0;
  #droppedUntilMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #frames = 0;
  #framesAtMs = 0;
  #controlFrames = 0;
  #controlAtMs = 0;

  constructor(allowance: FrameAllowance | null) {
    this.#allowance = allowance;
  }

  /** Counts a fault. Returns true if the endpoint must be dropped for it. */
  note(fault: FrameFault, nowMs: number): boolean {
    this.#faults = Math.max(0, this.#faults - (nowMs - this.#faultsAtMs) / forgivenAfterMs) + weights[fault];
    this.#faultsAtMs = nowMs;
    return this.#faults > maxFaults - 1;
  }

  /** Counts a frame. Returns true if there were more, or longer ones, than allowed. */
  isFlood(bytes: number, nowMs: number): boolean {
    if (this.#allowance === null) return false;
    const { bytesPerSecond, framesPerSecond } = this.#allowance;
    const seconds = (nowMs - this.#framesAtMs) / 1_000;
    this.#framesAtMs = nowMs;
    this.#bytes = Math.max(0, this.#bytes - seconds * bytesPerSecond) + bytes;
    this.#frames = Math.max(0, this.#frames - seconds * framesPerSecond) + 1;
    return this.#bytes > bytesPerSecond * burstSeconds || this.#frames > framesPerSecond * burstSeconds;
  }

  /** Counts a ping or a pong. Returns true if there were more than a node has reason to send. */
  isControlFlood(nowMs: number): boolean {
    const seconds = (nowMs - this.#controlAtMs) / 1_000;
    this.#controlAtMs = nowMs;
    this.#controlFrames = Math.max(0, this.#controlFrames - seconds * controlFramesPerSecond) + 1;
    return this.#controlFrames > controlFramesPerSecond * burstSeconds;
  }

  /** Records that the endpoint is dropped, and resets its faults. Returns how long it must not be used. */
  drop(nowMs: number): number {
    this.#drops = nowMs - this.#droppedUntilMs > heldMs ? 0 : this.#drops;
    const droppedForMs = Math.min(maxDropMs, firstDropMs * 2 ** Math.min(this.#drops++, 10));
    this.#droppedUntilMs = nowMs + droppedForMs;
    this.#faults = this.#bytes = this.#frames = this.#controlFrames = 0;
    return droppedForMs;
  }
}
