import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { readWholeSighting } from '../rpc/whole-sighting.ts';
import type { Sighting } from '../sighting.ts';
import { noCounts, type Source, type SourceCounts, type SourceHealth, type SourceSink } from '../source.ts';

export interface RecordedBlock {
  readonly slot: number;
  readonly parentSlot: number;
  readonly transactions: readonly RecordedTransaction[];
}

export interface RecordedTransaction {
  readonly signature: string;
  readonly hasFailed: boolean;
  readonly logs: readonly string[];
  /** The transaction as `getTransaction` answers; null if the recording shows only its logs. */
  readonly answer: unknown;
}

/** Plays a recording, at its own pace. */
export interface Playback {
  /** Begins; to be called once. */
  start(listener: PlaybackListener): void;
  stop(): void;
}

export interface PlaybackListener {
  onBlock(block: RecordedBlock): void;
  onConfirmed(slot: number): void;
}

/**
 * Reports recorded blocks as whole sightings, or as logs if the recording has only logs. A simulated node needs no source of its own: it is read
 * by PubSub, like any node.
 */
export class ReplaySource implements Source {
  readonly name = 'replay';
  readonly showsWhole = false;
  readonly #playback: Playback;
  readonly #log: Logger;
  readonly #counts: SourceCounts = noCounts();
  #sink: SourceSink | null = null;
  #slot = 0;
  #slotAtMs: number | null = null;

  constructor(playback: Playback, log: Logger) {
    this.#playback = playback;
    this.#log = log;
  }

  start(sink: SourceSink, signal: AbortSignal): void {
    this.#sink = sink;
    signal.addEventListener('abort', () => this.#playback.stop(), { once: true });
    this.#playback.start({ onBlock: (block) => this.#readBlock(sink, block), onConfirmed: (slot) => sink.confirmedSlot(0, slot) });
  }

  health(): SourceHealth {
    return {
      slot: this.#slot,
      slotAgeMs: this.#slotAtMs === null ? null : Math.round(performance.now() - this.#slotAtMs),
      endpointsUp: this.#sink === null ? 0 : 1,
      holes: 0,
      blindPeriods: 0,
      endpoints: [],
      counts: { ...this.#counts },
    };
  }

  #readBlock(sink: SourceSink, { slot, parentSlot, transactions }: RecordedBlock): void {
    this.#slot = slot;
    this.#slotAtMs = performance.now();
    sink.slot(slot, parentSlot);
    for (const transaction of transactions) {
      if (transaction.hasFailed) this.#counts.failed++;
      else if (!sink.isRepeat(this.name, transaction.signature, slot, null)) {
        const sighting = this.#sightingOf(transaction, slot);
        if (sighting !== null) sink.sighting(sighting);
      }
    }
  }

  #sightingOf({ signature, logs, answer }: RecordedTransaction, slot: number): Sighting | null {
    const origin = { source: this.name, signature, slot, commitment: 'processed', receivedUs: nowUs() } as const;
    if (answer === null) return { kind: 'logs', ...origin, logs };
    const sighting = readWholeSighting(answer, { ...origin, late: false });
    if (sighting.kind === 'whole') return sighting;
    this.#counts.malformed++;
    this.#log.warn({ signature, reason: sighting.reason }, 'recorded_transaction_malformed');
    return null;
  }
}
