import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { TriggerAdvanceOutcome, TriggerTable } from '@sluice/gateway/store/sql/tables/triggers/triggers.ts';
import { isEnded, type StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { familyParts, type FamilyPart } from '../life/family.ts';
import type { LifeStep, TriggerEvent } from '../life/life.ts';
import type { LiveTrigger, OpenTriggers } from '../life/open-triggers.ts';

/** Changes of one transaction. What exceeds it goes into the next one. */
const maxParts = 500;
/** Pause after a failure of the store. */
const storePauseMs = 250;

export interface TriggerWriterOptions {
  readonly table: Pick<TriggerTable, 'advanceAll' | 'byId'>;
  readonly term: number;
  readonly open: OpenTriggers;
  readonly nowMs: () => number;
  /** A change is stored. */
  readonly onStored: (live: LiveTrigger, step: LifeStep) => void;
  /** The store has a trigger in a state that this process does not know: its last write was not answered, or its owner cancelled it. */
  readonly onFound: (live: LiveTrigger) => void;
  /** Another process has the role. */
  readonly onFenced: () => void;
  readonly publish: (trigger: StoredTrigger) => void;
  readonly log: Pick<Logger, 'error'>;
  readonly signal: AbortSignal;
}

interface Job {
  readonly live: LiveTrigger;
  readonly event: TriggerEvent;
  /** The event turned out to change nothing. */
  readonly onDropped: (() => void) | undefined;
}

/** Stores what happens to triggers, in order for each of them and many in one transaction. */
export class TriggerWriter {
  readonly #options: TriggerWriterOptions;
  #queue: Job[] = [];
  /** Null while nothing is queued or being written. */
  #running: Promise<void> | null = null;
  /** After an error that is not the store's, jobs are written one by one, so that only the one that causes it is dropped. */
  #oneByOne = 0;

  constructor(options: TriggerWriterOptions) {
    this.#options = options;
  }

  get queued(): number {
    return this.#queue.length;
  }

  note(live: LiveTrigger, event: TriggerEvent, onDropped?: () => void): void {
    if (this.#options.signal.aborted) return;
    this.#queue.push({ live, event, onDropped });
    this.#running ??= Promise.resolve()
      .then(() => this.#run())
      .finally(() => (this.#running = null));
  }

  /** Resolves when nothing is being written. */
  idle(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0 && !this.#options.signal.aborted) await this.#round();
  }

  async #round(): Promise<void> {
    const { table, term, signal, onFenced, log } = this.#options;
    const atMs = this.#options.nowMs();
    const { jobs, parts } = this.#next(atMs);
    const written = parts.filter(({ step }) => Object.keys(step.change).length > 0);
    for (const part of parts) if (!written.includes(part)) this.#options.onStored(part.live, part.step);
    if (written.length === 0) return;
    const advances = written.map(({ live: { trigger }, step: { change } }) => ({ id: trigger.id, version: trigger.version, change, atMs }));
    try {
      const outcomes = await table.advanceAll(term, advances);
      if (outcomes === 'fenced') return onFenced();
      for (const [index, outcome] of outcomes.entries()) this.#stored(written[index]!, outcome);
      this.#oneByOne = Math.max(0, this.#oneByOne - 1);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) {
        log.error({ err: error, triggers: written.length }, 'trigger_change_failed');
        // What a single job causes is a fault of this program: repeating it would hold up all others.
        if (jobs.length === 1) return jobs[0]!.onDropped?.();
        this.#oneByOne = jobs.length;
      }
      this.#queue.unshift(...jobs);
      await pause(storePauseMs, signal);
      await this.#readAgain(written);
    }
  }

  /** Jobs for the next transaction, each trigger in one of them. Of the others, none overtakes an earlier one of its trigger. */
  #next(atMs: number): { readonly jobs: readonly Job[]; readonly parts: readonly FamilyPart[] } {
    const { open } = this.#options;
    const later: Job[] = [];
    const jobs: Job[] = [];
    const parts: FamilyPart[] = [];
    const touched = new Set<LiveTrigger>();
    for (const [at, job] of this.#queue.entries()) {
      if (parts.length >= maxParts || (this.#oneByOne > 0 && jobs.length === 1)) {
        later.push(...this.#queue.slice(at));
        break;
      }
      const { live, event, onDropped } = job;
      const isKnown = open.get(live.trigger.id) === live;
      const family = touched.has(live) || !isKnown ? [] : familyParts(live, event, atMs, open);
      if (touched.has(live) || family.some((part) => touched.has(part.live))) later.push(job);
      else if (family.length === 0) onDropped?.();
      else {
        jobs.push(job);
        parts.push(...family.slice(0, maxParts));
        for (const part of family.slice(maxParts)) later.push({ live: part.live, event: part.event, onDropped: undefined });
      }
      touched.add(live);
      for (const part of family) touched.add(part.live);
    }
    this.#queue = later;
    return { jobs, parts };
  }

  #stored({ live, event, step }: FamilyPart, outcome: TriggerAdvanceOutcome): void {
    const { open, publish, onStored, onFound, log } = this.#options;
    if (outcome.kind === 'no_such_trigger') {
      log.error({ triggerId: live.trigger.id }, 'trigger_missing');
      open.forget(live);
      return;
    }
    open.adopt(outcome.trigger);
    if (outcome.kind === 'advanced') {
      publish(outcome.trigger);
      onStored(live, step);
    } else if (isEnded(outcome.trigger.state)) onFound(live);
    // Its owner asked to cancel it meanwhile.
    else this.note(live, event);
  }

  /** After a write that was not answered: what the store has decides. */
  async #readAgain(parts: readonly FamilyPart[]): Promise<void> {
    const { table, open, signal, publish, onFound, log } = this.#options;
    for (const { live } of parts) {
      while (!signal.aborted) {
        try {
          const stored = await table.byId(live.trigger.id);
          if (stored !== null && stored.version > live.trigger.version && open.adopt(stored) !== null) {
            publish(stored);
            onFound(live);
          }
          break;
        } catch (error) {
          if (!(error instanceof StoreUnavailableError)) log.error({ err: error }, 'trigger_read_failed');
          await pause(storePauseMs, signal);
        }
      }
    }
  }
}
