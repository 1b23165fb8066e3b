import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Broadcaster } from '../send/broadcaster.ts';
import type { Followed } from './followed-orders.ts';
import type { LandedReader } from './evidence/landed-reader.ts';
import type { OrderFinding, Landing } from './evidence/tracked-order.ts';

export interface MessageActionsOptions {
  readonly broadcaster: Pick<Broadcaster, 'keepSending' | 'stop'>;
  readonly reader: Pick<LandedReader, 'read'>;
  /** The stored `quote` of an order, as JSON; null if there is none or the store does not answer. Never rejects. */
  readonly quoteOf: (orderId: string) => Promise<string | null>;
  /** Called after `reading` of the order was set. */
  readonly onRead: (followed: Followed) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type MessageActions = ReturnType<typeof createMessageActions>;

/** Sends the message of an order repeatedly until it is in a block, and then reads what the transaction did. */
export function createMessageActions({ broadcaster, reader, quoteOf, onRead, clock, signal }: MessageActionsOptions) {
  const reads = new Set<Promise<void>>();

  function setSending(followed: Followed, sending: boolean): void {
    if (followed.sending === sending) return;
    followed.sending = sending;
    const { signature, lastValidBlockHeight, order } = followed;
    if (!sending) broadcaster.stop(signature);
    else if (order.signedBytes !== null) {
      const blockEngineOnly = order.terms?.blockEngineOnly === true;
      broadcaster.keepSending({ signature, wire: order.signedBytes, lastValidBlockHeight, blockEngineOnly, atOnce: followed.isFromStore });
    }
  }

  async function readLanded(followed: Followed, landing: Landing): Promise<void> {
    const being = { landing, sinceMs: clock.steadyMs() };
    followed.beingRead = being;
    const { signature, order } = followed;
    const quoteJson = landing.err === null ? null : await quoteOf(order.id);
    const { terms, signedBytes, kind } = order;
    const landed = { signature, ...landing, terms, signedBytes, quoteJson, isLightning: kind === 'lightning' };
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
    /** Starts what the finding demands. */
    act(followed: Followed, finding: Pick<OrderFinding, 'broadcast' | 'read'>): void {
      setSending(followed, finding.broadcast === 'send');
      if (finding.read !== null) read(followed, finding.read);
    },
    /** Call when no followed order has this message any more. */
    drop: (signature: string): void => broadcaster.stop(signature),
    /** Resolves when all reads have ended. Call it after `signal` has fired. */
    ended: async (): Promise<void> => void (await Promise.all(reads)),
  };
}
