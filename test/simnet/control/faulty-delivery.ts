import type { Delivery, FrameWriter } from '../rpc/pubsub/delivery.ts';
import type { SubscriptionKind } from '../rpc/pubsub/subscription.ts';

/** Delayed frames of one connection. With more, the oldest is sent at once: the delay becomes shorter, and nothing is lost. */
const maxDelayedFrames = 100_000;

interface DelayedFrame {
  readonly frame: Buffer;
  readonly dueAtMs: number;
}

interface DelayLine {
  frames: DelayedFrame[];
  timer: NodeJS.Timeout | null;
}

export interface DeliveryCounts {
  readonly dropped: number;
  readonly stalled: number;
  readonly duplicated: number;
  readonly delayed: number;
}

/** Delivers the notifications of a faulty node: drops, withholds, repeats or delays them. */
export class FaultyDelivery implements Delivery {
  private readonly random: () => number;
  private readonly lines = new Map<FrameWriter, DelayLine>();
  private readonly counted = { dropped: 0, stalled: 0, duplicated: 0, delayed: 0 };
  dropShare = 0;
  /** The kinds that are dropped; null for all. */
  dropKinds: ReadonlySet<SubscriptionKind> | null = null;
  duplicateShare = 0;
  stalled = false;
  private lag = 0;

  constructor(random: () => number) {
    this.random = random;
  }

  get counts(): DeliveryCounts {
    return { ...this.counted };
  }

  get lagMs(): number {
    return this.lag;
  }

  /** With 0, waiting frames are sent at once. */
  setLag(ms: number): void {
    this.lag = ms;
    if (ms === 0) for (const [to, line] of this.lines) this.flush(to, line, Infinity);
  }

  deliver(to: FrameWriter, frame: Buffer, kind: SubscriptionKind): void {
    if (this.stalled) {
      this.counted.stalled++;
      return;
    }
    if (this.dropShare > 0 && (this.dropKinds === null || this.dropKinds.has(kind)) && this.random() < this.dropShare) {
      this.counted.dropped++;
      return;
    }
    this.pass(to, frame);
    if (this.duplicateShare > 0 && this.random() < this.duplicateShare) {
      this.counted.duplicated++;
      this.pass(to, frame);
    }
  }

  forget(to: FrameWriter): void {
    const line = this.lines.get(to);
    if (line !== undefined && line.timer !== null) clearTimeout(line.timer);
    this.lines.delete(to);
  }

  close(): void {
    for (const to of this.lines.keys()) this.forget(to);
  }

  private pass(to: FrameWriter, frame: Buffer): void {
    if (this.lag === 0) {
      to.write(frame);
      return;
    }
    let line = this.lines.get(to);
    if (line === undefined) {
      line = { frames: [], timer: null };
      this.lines.set(to, line);
    }
    this.counted.delayed++;
    line.frames.push({ frame, dueAtMs: performance.now() + this.lag });
    if (line.frames.length > maxDelayedFrames) this.flush(to, line, line.frames[0]?.dueAtMs ?? 0);
    this.arm(to, line);
  }

  private arm(to: FrameWriter, line: DelayLine): void {
    const [first] = line.frames;
    if (line.timer !== null || first === undefined) return;
    const send = (): void => {
      line.timer = null;
      this.flush(to, line, performance.now());
      this.arm(to, line);
    };
    line.timer = setTimeout(send, Math.max(1, Math.ceil(first.dueAtMs - performance.now())));
  }

  private flush(to: FrameWriter, line: DelayLine, nowMs: number): void {
    let sent = 0;
    for (const { frame, dueAtMs } of line.frames) {
      if (dueAtMs > nowMs) break;
      to.write(frame);
      sent++;
    }
    line.frames = line.frames.slice(sent);
  }
}
