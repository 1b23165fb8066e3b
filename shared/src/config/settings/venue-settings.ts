import type { VenueName } from '../../venues/names.ts';
import { venues } from '../../venues/registry.ts';
import { listOf, inQuotes, type Fault, type Get } from '../fault.ts';

/** The venues that VENUES names; all if it is not set. */
export function readVenues(get: Get, fault: Fault): readonly VenueName[] {
  const all = venues.map(({ name }) => name);
  const names: readonly string[] = listOf('VENUES', get, fault);
  for (const name of names) {
    if (!all.some((known) => known === name)) fault('VENUES', `${inQuotes(name)} is not one of ${all.join(', ')}`);
  }
  return names.length === 0 ? all : all.filter((name) => names.includes(name));
}
