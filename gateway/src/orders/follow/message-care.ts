import type { Clock } from '@sluice/shared/clock/clock.ts';
import type { Broadcaster } from '../send/broadcaster.ts';
import type { Followed } from './followed-orders.ts';
import type { LandedReader } from '../evidence/landed-reader.ts';
import type { Finding, Landing } from '../evidence/tracked-order.ts';

export interface MessageCareOptions {
  readonly broadcaster: Pick<Broadcaster, 'keepSending' | 'stop'>;
  readonly reader: Pick<LandedReader, 'read'>;
  /** The stored `quote` of an order, JSON; null where there is none, or the store does not answer. Never rejects. */
  readonly quoteOf: (orderId: string) => Promise<string | null>;
  /** `reading` of the order was set. */
  readonly onRead: (followed: Followed) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Sees to the messages of orders: until somebody has one in a block it is sent again, always the same bytes; then what it did is read. */
export interface MessageCare {
  /** What was found out about its message. One that never left (`mayLeave` false) stays here. */
  attend(followed: Followed, finding: Pick<Finding, 'broadcast' | 'read'>, mayLeave: boolean): void;
  /** No order that is followed has this message any more. */
  drop(signature: string): void;
  /** Resolves when nothing is read any more; it is to be called when `signal` has fired. */
  ended(): Promise<void>;
}

export function createMessageCare({ broadcaster, reader, quoteOf, onRead, clock, signal }: MessageCareOptions): MessageCare {
  const reads = new Set<Promise<void>>();

  function setSending(followed: Followed, wanted: boolean): void {
    if (followed.sending === wanted) return;
    followed.sending = wanted;
    const { signature, lastValidBlockHeight, order } = followed;
    if (!wanted) broadcaster.stop(signature);
    else if (order.signedBytes !== null)
      broadcaster.keepSending({ signature, wire: order.signedBytes, lastValidBlockHeight, atOnce: followed.isTakenUp });
  }

  async function readLanded(followed: Followed, landing: Landing): Promise<void> {
    const being = { landing, sinceMs: clock.steadyMs() };
    followed.beingRead = being;
    const { signature, order } = followed;
    const quoteJson = landing.err === null ? null : await quoteOf(order.id);
    const landed = { signature, ...landing, terms: order.terms, quoteJson, isLightning: order.kind === 'lightning' };
    const reading = await reader.read(landed, signal);
    if (reading === null || followed.beingRead !== being) return;
    followed.reading = reading;
    followed.beingRead = null;
    onRead(followed);
  }

  function read(followed: Followed, landing: Landing): void {
    const known = followed.beingRead?.landing;
    if (known?.slot === landing.slot && (known.err === null) === (landing.err === null)) return;
    const one = readLanded(followed, landing);
    reads.add(one);
    void one.finally(() => reads.delete(one));
  }

  return {
    attend(followed, finding, mayLeave) {
      setSending(followed, finding.broadcast === 'send' && mayLeave);
      if (finding.read !== null) read(followed, finding.read);
    },
    drop: (signature) => broadcaster.stop(signature),
    ended: async () => void (await Promise.all(reads)),
  };
}
