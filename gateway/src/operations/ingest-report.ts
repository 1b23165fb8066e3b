import { venueNames } from '@sluice/shared/wire/venues.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { BusStatus } from '@sluice/shared/bus/bus.ts';
import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import {
  maxEndpoints,
  maxFeeds,
  maxIngestNameChars,
  maxSourceNameChars,
  maxSources,
  maxVersionChars,
  sourceStates,
  type statusEndpoint,
} from '@sluice/shared/wire/rest/operations/operations.ts';

type Status = AnswerOf<typeof statusEndpoint>;
type Report = BusStatus['value'];

const maxHostChars = 253;

/**
 * What the leading ingest process reports of the chain; null if none leads. Other processes write the reports, perhaps of another version. So
 * a field of another form is null here.
 */
export function chainStatus(ingests: readonly BusStatus[]): Status['chain'] {
  const leader = ingests.find(({ value }) => value['leads'] === true);
  if (leader === undefined) return null;
  const { name, value } = leader;
  const continuity = recordIn(value, 'continuity');
  return {
    ingest: name.slice(0, maxIngestNameChars),
    version: textIn(value, 'version', maxVersionChars),
    venues: venuesIn(value),
    slot: slotIn(value, 'slot'),
    slotAgeMs: countIn(value, 'slotAgeMs'),
    watermark: slotIn(continuity, 'watermark'),
    solUsd: solUsdIn(value),
    gaps: countsIn(recordIn(continuity, 'gaps'), 'filled', 'lostTransactions', 'lostSlots'),
    sources: recordsIn(value, 'sources')
      .slice(0, maxFeeds)
      .map((source) => ({
        name: textIn(source, 'name', maxSourceNameChars) ?? '',
        ...countsIn(source, 'first', 'holes', 'contradicted'),
        leadMs: amountIn(source, 'leadMs'),
      })),
    forks: { deadSlots: countIn(recordIn(continuity, 'slots'), 'dead'), retracted: countIn(recordIn(value, 'publisher'), 'retracted') },
  };
}

/**
 * The nodes that each ingest process follows, by process. All nodes of the leading process are behind the chain by at least `lagSlots`, even the
 * newest of them.
 */
export function sourceStatuses(ingests: readonly BusStatus[], lagSlots: number): Status['sources'] {
  return ingests
    .flatMap(({ name, value }) => {
      const behind = value['leads'] === true ? lagSlots : 0;
      return recordsIn(value, 'endpoints').map((endpoint) => sourceStatus(name, endpoint, behind));
    })
    .slice(0, maxSources);
}

function sourceStatus(ingest: string, endpoint: Report, lagSlots: number): Status['sources'][number] {
  const index = countIn(endpoint, 'index');
  const slotsBehind = slotIn(endpoint, 'slot') === null ? null : countIn(endpoint, 'slotsBehind');
  return {
    ingest: ingest.slice(0, maxIngestNameChars),
    endpoint: index === null || index >= maxEndpoints ? null : index + 1,
    host: textIn(endpoint, 'host', maxHostChars),
    state: sourceStates.find((state) => state === endpoint['state']) ?? 'down',
    slotsBehind: slotsBehind === null ? null : Math.min(Number.MAX_SAFE_INTEGER, slotsBehind + lagSlots),
    ...countsIn(endpoint, 'connects', 'faults'),
  };
}

function recordsIn(value: Report, name: string): readonly Report[] {
  const found = value[name];
  return Array.isArray(found) ? (found as readonly unknown[]).filter(isRecord) : [];
}

function amountIn(value: Report, name: string): number | null {
  const found = value[name];
  return typeof found === 'number' && Number.isFinite(found) && found >= 0 ? found : null;
}

function solUsdIn(value: Report): NonNullable<Status['chain']>['solUsd'] {
  const solUsd = recordIn(value, 'solUsd');
  const { price } = solUsd;
  const [slot, ageMs] = [slotIn(solUsd, 'slot'), countIn(solUsd, 'ageMs')];
  if (typeof price !== 'number' || !(price > 0) || !Number.isFinite(price) || slot === null || ageMs === null) return null;
  return { price, slot, ageMs };
}

/** A process reads no venue before it knows its chain. */
function venuesIn(value: Report): NonNullable<Status['chain']>['venues'] {
  const counts = recordIn(value, 'venues');
  const read = venueNames.filter((name) => name in counts);
  return read.length === 0 ? null : read;
}

function recordIn(value: Report, name: string): Report {
  const found = value[name];
  return isRecord(found) ? found : {};
}

/** A number that is slightly below 0, such as the distance of a node that is ahead, is 0. */
function countIn(value: Report, name: string): number | null {
  const found = value[name];
  return typeof found === 'number' && Number.isFinite(found) ? Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(found))) : null;
}

function countsIn<Name extends string>(value: Report, ...names: readonly Name[]): Readonly<Record<Name, number | null>> {
  return Object.fromEntries(names.map((name) => [name, countIn(value, name)])) as Record<Name, number | null>;
}

/** Slot 0 means that none is known. */
function slotIn(value: Report, name: string): number | null {
  const slot = countIn(value, name);
  return slot === 0 ? null : slot;
}

function textIn(value: Report, name: string, maxChars: number): string | null {
  const found = value[name];
  return typeof found === 'string' && found.length <= maxChars ? found : null;
}
