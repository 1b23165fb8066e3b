import { TriggerLog, type TriggerLogParts } from '@sluice/followers/triggers/trigger-log.ts';
import type { TriggerTable } from '@sluice/gateway/store/sql/tables/triggers/triggers.ts';
import type { TermWatch } from './engine.ts';

export interface LogWatchParts extends Pick<TriggerLogParts, 'bus' | 'readPrices' | 'log'> {
  readonly table: Pick<TriggerTable, 'checkpoint' | 'saveCheckpoint'>;
  readonly paper: boolean;
  readonly nowMs: () => number;
}

/** Watches conditions on the log, from the checkpoint in the store on. */
export function openLogWatch({ bus, readPrices, log, table, paper, nowMs }: LogWatchParts, term: number, onMet: () => void): TermWatch {
  return new TriggerLog({
    bus,
    checkpoint: () => table.checkpoint(paper),
    save: (position, watermarks) => table.saveCheckpoint(term, position, watermarks),
    readPrices,
    onMet,
    unixMs: nowMs,
    log,
  });
}
