import { noCounts, type Source, type SourceCounts, type SourceHealth, type SourceSink } from './source.ts';

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
