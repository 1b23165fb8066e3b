/**
 * `oversized`: longer than any frame of its kind. `protocol`: no frame of WebSocket. `deep`, `malformed`: no JSON-RPC of a node.
 * `content`: a notification that does not tell what it should, or tells a slot that cannot be. `unasked`: a notification of no subscription. `flood`: more than the subscriptions can bring about. `deaf`: it does not read.
 */
export type FrameFault = 'oversized' | 'protocol' | 'deep' | 'malformed' | 'content' | 'unasked' | 'flood' | 'deaf';

/** What a fault counts. A frame that breaks the connection costs a new one, and floods cannot be an accident. */
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
/** An endpoint whose faults come to so many is dropped; each is forgiven after `forgivenAfterMs`. */
export const maxFaults = 8;
const forgivenAfterMs = 10_000;
/** How long an endpoint that was dropped is left alone; twice as long each time, until it held for `heldMs`. */
export const firstRestMs = 5_000;
const maxRestMs = 600_000;
const heldMs = 600_000;
/** Allowances are counted over so long: a process that stood still finds what came meanwhile. */
const burstSeconds = 4;

/** Pings and pongs in a second. Nodes send one in several seconds. */
const controlFramesPerSecond = 8;

/** What the subscriptions of a connection may bring about in a second. */
export interface FrameAllowance {
  readonly bytesPerSecond: number;
  readonly framesPerSecond: number;
}

/** How one endpoint keeps to the form of its frames, over all of its connections. Times are milliseconds of one clock. */
export class FrameFaults {
  readonly #allowance: FrameAllowance | null;
  #faults = 0;
  #faultsAtMs = 0;
  #rests = 0;
  #restedUntilMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #frames = 0;
  #framesAtMs = 0;
  #controlFrames = 0;
  #controlAtMs = 0;

  constructor(allowance: FrameAllowance | null) {
    this.#allowance = allowance;
  }

  /** Counts a fault; true where the endpoint is to be dropped for it. */
  note(fault: FrameFault, nowMs: number): boolean {
    this.#faults = Math.max(0, this.#faults - (nowMs - this.#faultsAtMs) / forgivenAfterMs) + weights[fault];
    this.#faultsAtMs = nowMs;
    return this.#faults > maxFaults - 1;
  }

  /** Counts a frame; true where there were more, or longer ones, than allowed. */
  isFlood(bytes: number, nowMs: number): boolean {
    if (this.#allowance === null) return false;
    const { bytesPerSecond, framesPerSecond } = this.#allowance;
    const seconds = (nowMs - this.#framesAtMs) / 1_000;
    this.#framesAtMs = nowMs;
    this.#bytes = Math.max(0, this.#bytes - seconds * bytesPerSecond) + bytes;
    this.#frames = Math.max(0, this.#frames - seconds * framesPerSecond) + 1;
    return this.#bytes > bytesPerSecond * burstSeconds || this.#frames > framesPerSecond * burstSeconds;
  }

  /** Counts a ping or a pong; true where there were more than a node has reason to send. */
  isControlFlood(nowMs: number): boolean {
    const seconds = (nowMs - this.#controlAtMs) / 1_000;
    this.#controlAtMs = nowMs;
    this.#controlFrames = Math.max(0, this.#controlFrames - seconds * controlFramesPerSecond) + 1;
    return this.#controlFrames > controlFramesPerSecond * burstSeconds;
  }

  /** The endpoint is dropped. Answers how long it is left alone, and begins anew with its faults. */
  rest(nowMs: number): number {
    this.#rests = nowMs - this.#restedUntilMs > heldMs ? 0 : this.#rests;
    const restMs = Math.min(maxRestMs, firstRestMs * 2 ** Math.min(this.#rests++, 10));
    this.#restedUntilMs = nowMs + restMs;
    this.#faults = this.#bytes = this.#frames = this.#controlFrames = 0;
    return restMs;
  }
}
