import { subscriptionAtTail } from '@sluice/shared/solana/pubsub/frame-shape.ts';
import type { Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { LogsSighting } from '../sighting.ts';
import type { FeedEndpoint, PubSubFeed } from './feed.ts';
import { digestLines, logsSubscription, readLogsHead, readLogsLines, readLogsNotification } from './logs.ts';

/** Log lines of transactions. Repeats of other endpoints are dropped before they are parsed. */
export class LogsFeed implements PubSubFeed {
  readonly name = 'logs';
  readonly showsWhole = false;
  readonly method = 'logsNotification';
  readonly subscriptions: readonly Subscription[];
  readonly #textPrefixes: readonly string[];

  /** `textPrefixes`: beginnings of the `Program log: ` lines that a venue reads, with that part. Other text is left out of sightings. */
  constructor(programs: readonly string[], textPrefixes: readonly string[]) {
    this.subscriptions = programs.map(logsSubscription);
    this.#textPrefixes = textPrefixes;
  }

  /** Reads a notification in the form that nodes write; nearly all traffic is of this kind. */
  takeFrame(frame: Buffer, receivedUs: number, from: FeedEndpoint): boolean {
    const head = readLogsHead(frame);
    if (head === null) return false;
    from.checkAsked(subscriptionAtTail(frame));
    const { signature, slot } = head;
    if (head.failed) {
      from.counts.failed++;
      from.sink.failed(signature, slot, this.name, from.index);
      return true;
    }
    if (!from.isPossible(slot)) {
      from.malformed();
      return true;
    }
    if (from.sink.isRepeat(this.name, signature, slot, digestLines(frame, head), from.index)) return true;
    const logs = readLogsLines(frame, head, this.#textPrefixes);
    if (logs === null) return false;
    from.sink.sighting(this.#sightingOf(signature, slot, logs, receivedUs, from));
    return true;
  }

  takeNotification(params: unknown, receivedUs: number, from: FeedEndpoint): void {
    const outcome = readLogsNotification(params);
    if (outcome === 'malformed' || (typeof outcome !== 'string' && !from.isPossible(outcome.slot))) from.malformed();
    else if (typeof outcome === 'string') from.counts[outcome]++;
    else if (!from.sink.isRepeat(this.name, outcome.signature, outcome.slot, null, from.index)) {
      from.sink.sighting(this.#sightingOf(outcome.signature, outcome.slot, outcome.logs, receivedUs, from));
    }
  }

  #sightingOf(signature: string, slot: number, logs: readonly string[], receivedUs: number, from: FeedEndpoint): LogsSighting {
    return { kind: 'logs', source: this.name, endpoint: from.index, signature, slot, commitment: 'processed', receivedUs, logs };
  }
}
