import type { SubscriptionKind } from './subscription.ts';

/** The end of a connection that frames are written to. */
export interface FrameWriter {
  write(frame: Buffer): void;
}

/** The way of a notification to one connection. The plain one writes it at once; a misbehaving one may not. */
export interface Delivery {
  deliver(to: FrameWriter, frame: Buffer, kind: SubscriptionKind): void;
  /** The connection is gone. */
  forget(to: FrameWriter): void;
}

export const plainDelivery: Delivery = {
  deliver: (to, frame) => to.write(frame),
  forget: () => undefined,
};
