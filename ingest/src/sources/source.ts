import type { EndpointState, SocketCounts } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import type { Commitment } from '@sluice/shared/wire/events.ts';
import type { AccountState, Sighting } from './sighting.ts';

/**
 * Where sightings come from: PubSub, or a recording. A source knows nothing about venues, pools or events. Single transactions and blocks that
 * are requested come from `rpc/` and `blocks/`, with every source.
 */
export interface Source {
  readonly name: string;
  readonly capabilities: SourceCapabilities;
  /** Reports to the sink until the signal is aborted. To be called once. */
  start(sink: SourceSink, signal: AbortSignal): void;
  health(): SourceHealth;
}

export interface SourceCapabilities {
  /** What a sighting shows: the log lines of a transaction, or all of it. */
  readonly shows: Sighting['kind'];
  /** Commitments of its sightings. A source without `processed` never shows a fork that dies. */
  readonly commitments: readonly Commitment[];
  /** Reports each slot with its parent. */
  readonly slots: boolean;
  /** Reports which slots are confirmed. */
  readonly confirmedSlots: boolean;
  /** Reports changed accounts. */
  readonly accounts: boolean;
  /** Delivers the transactions of a block together, in the order of the block. */
  readonly blocks: boolean;
}

/** Receives what sources report. Every call is synchronous: a source may reuse its buffers afterwards. */
export interface SourceSink {
  /**
   * Whether a sighting of this transaction would add nothing. A source asks before it parses the body of a frame, and reports nothing
   * if the answer is true. A true answer is counted.
   */
  isRepeat(signature: string, slot: number): boolean;
  sighting(sighting: Sighting): void;
  account(state: AccountState): void;
  /** `parent` is null if the source does not know it. */
  slot(slot: number, parent: number | null): void;
  /** An endpoint confirmed a slot. Endpoints vote, so each needs its own number. */
  confirmedSlot(endpoint: number, slot: number): void;
  /** The source sees the chain again after it did not. */
  resumed(): void;
}

/** What a source has received, apart from sightings. */
export interface SourceCounts {
  accounts: number;
  /** Transactions that failed. They are not used. */
  failed: number;
  /** Announced under the placeholder signature. */
  placeholder: number;
  /** Notifications in an unknown form, or of a slot that the chain cannot have reached. */
  malformed: number;
  /** Notifications with an id that the endpoint never returned, or of a kind that was not requested. */
  unasked: number;
}

export interface EndpointHealth extends SocketCounts {
  readonly index: number;
  /** The part of its host name that may be shown (`shownHost`). */
  readonly host: string | null;
  readonly state: EndpointState;
  readonly slot: number;
  readonly slotsBehind: number;
}

export interface SourceHealth {
  /** Newest slot that the source reported; 0 before the first. */
  readonly slot: number;
  /** Time since it reported a newer slot; null before the first. */
  readonly slotAgeMs: number | null;
  /** Endpoints that report; a source without endpoints counts as one. */
  readonly endpointsUp: number;
  /** Times in which it saw nothing of the chain. */
  readonly blindPeriods: number;
  readonly endpoints: readonly EndpointHealth[];
  readonly counts: SourceCounts;
}
