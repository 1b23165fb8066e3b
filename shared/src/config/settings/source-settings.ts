import { inQuotes, listOf, type Fault, type Get } from '../fault.ts';

/** How ingest reads the chain. */
export const sourceNames = ['logs', 'blocks', 'block-subscribe', 'transaction-subscribe'] as const;
export type SourceName = (typeof sourceNames)[number];

/** The sources that SOURCES names; logs if it is not set. */
export function readSources(get: Get, fault: Fault): readonly SourceName[] {
  const names: readonly string[] = listOf('SOURCES', get, fault);
  for (const name of names) {
    if (!sourceNames.some((known) => known === name)) fault('SOURCES', `${inQuotes(name)} is not one of ${sourceNames.join(', ')}`);
  }
  const chosen = sourceNames.filter((name) => names.includes(name));
  return chosen.length === 0 ? ['logs'] : chosen;
}
