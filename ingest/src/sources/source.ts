import type { EndpointState, SocketCounts } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import type { ConfirmedBlock } from './blocks/confirmed-block.ts';
import type { AccountState, Sighting } from './sighting.ts';

/**
 * Where sightings come from: logs by PubSub, whole blocks, or a recording. Several sources can report at once: the first sighting of a transaction
 * publishes, the others confirm, complete and fill. A source knows nothing about venues, pools or events. Single transactions and blocks that
 * are requested come from `rpc/` and `blocks/`, with every source.
 */
export interface Source {
  /** As in SOURCES. Its sightings name it. */
  readonly name: string;
  /** Its sightings are whole transactions. */
  readonly showsWhole: boolean;
  /** Reports to the sink until the signal is aborted. To be called once. */
  start(sink: SourceSink, signal: AbortSignal): void;
  health(): SourceHealth;
}

/** Receives what sources report. Every call is synchronous: a source may reuse its buffers afterwards. */
export interface SourceSink {
  /**
   * Whether a sighting of this transaction would add nothing. A source asks before it parses the body of a frame, and reports nothing
   * if the answer is true. A true answer is counted. `digest`: a value that differs if the contents do, among the reports of one source; null if the
   * source cannot compare them. `endpoint`: the number of the endpoint that reports it. A source of whole transactions at `confirmed` does not ask: each of its sightings is compared with what was published.
   */
  isRepeat(source: string, signature: string, slot: number, digest: number | string | null, endpoint?: number): boolean;
  sighting(sighting: Sighting): void;
  /** The source reports a transaction as failed. If it was reported as successful for the same slot, two banks disagree, or a source is wrong. */
  failed(signature: string, slot: number, source: string, endpoint?: number): void;
  account(state: AccountState): void;
  /** `parent` is null if the source does not know it. */
  slot(slot: number, parent: number | null): void;
  /** The confirmed block of a slot, with every signature, as a majority of the endpoints shows it. */
  block(slot: number, block: ConfirmedBlock): void;
  /** An endpoint confirmed a slot. Endpoints vote. An endpoint has the same number in every source, so it never votes twice. */
  confirmedSlot(endpoint: number, slot: number): void;
  /** The source sees the chain again after it did not. */
  resumed(): void;
}

/** What a source has received, apart from sightings. */
export const noCounts = () => ({
  accounts: 0,
  /** Transactions that failed. They are not used. */
  failed: 0,
  /** Announced under the placeholder signature. */
  placeholder: 0,
  /** Notifications in an unknown form, or of a slot that the chain cannot have reached. */
  malformed: 0,
  /** Notifications with an id that the endpoint never returned, or of a kind that was not requested. */
  unasked: 0,
  /** Slots of which an endpoint reported a second bank. */
  secondBanks: 0,
});
export type SourceCounts = ReturnType<typeof noCounts>;

export interface EndpointHealth extends SocketCounts {
  /** Name of the source that is connected to it. */
  readonly source: string;
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
  /** Slots of which it knows that it missed something. The comparison with the records of nodes fills them. */
  readonly holes: number;
  /** Times in which it saw nothing of the chain. */
  readonly blindPeriods: number;
  readonly endpoints: readonly EndpointHealth[];
  readonly counts: SourceCounts;
}

/** Several sources as one: each reports to the same sink. The health of all is that of the best of them. */
export class Sources implements Source {
  readonly name: string;
  /** In the order of the settings. */
  readonly all: readonly Source[];

  constructor(sources: readonly Source[]) {
    this.all = sources;
    this.name = sources.map(({ name }) => name).join(',');
  }

  /** Whether a source of whole transactions sees the chain. */
  get showsWhole(): boolean {
    return this.all.some((source) => source.showsWhole && source.health().endpointsUp > 0);
  }

  start(sink: SourceSink, signal: AbortSignal): void {
    for (const source of this.all) source.start(sink, signal);
  }

  health(): SourceHealth {
    const all = this.all.map((source) => source.health());
    const ages = all.flatMap(({ slotAgeMs }) => slotAgeMs ?? []);
    return {
      slot: Math.max(...all.map(({ slot }) => slot)),
      slotAgeMs: ages.length === 0 ? null : Math.min(...ages),
      endpointsUp: Math.max(...all.map(({ endpointsUp }) => endpointsUp)),
      holes: all.reduce((sum, { holes }) => sum + holes, 0),
      blindPeriods: all.reduce((sum, { blindPeriods }) => sum + blindPeriods, 0),
      endpoints: all.flatMap(({ endpoints }) => endpoints),
      counts: sumOf(all.map(({ counts }) => counts)),
    };
  }
}

function sumOf(all: readonly SourceCounts[]): SourceCounts {
  const sum = noCounts();
  for (const counts of all) for (const [name, count] of Object.entries(counts)) sum[name as keyof SourceCounts] += count;
  return sum;
}
