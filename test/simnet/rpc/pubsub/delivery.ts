import type { SubscriptionKind } from './subscription.ts';

/** The end of a connection that frames are written to. */
export interface FrameWriter {
  write(frame: Buffer): void;
}

/** Delivers notifications to one connection. The plain implementation writes them at once; a faulty one may not. */
export interface Delivery {
  deliver(to: FrameWriter, frame: Buffer, kind: SubscriptionKind): void;
  /** The connection was closed. */
  forget(to: FrameWriter): void;
}

export const plainDelivery: Delivery = {
  deliver: (to, frame) => to.write(frame),
  forget: () => undefined,
};
