import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { Continuity } from './continuity.ts';
import { failedContents, isOther, type Contents } from '../pipeline/decode.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { SolUsdFeed } from '../pipeline/sol-usd.ts';
import type { AccountState, Sighting } from '../sources/sighting.ts';
import type { ConfirmedBlock } from '../sources/blocks/confirmed-block.ts';
import type { SourceSink } from '../sources/source.ts';

/** Transactions whose first report is remembered: a minute of the busiest programs. */
const maxReports = 20_000;
/** Later reports of one transaction that are remembered. */
const maxLater = 8;
/** Between two warnings about a source. */
const warnEveryMs = 10_000;

export const noSightingCounts = () => ({
  /** Successful transactions seen for the first time. */
  new: 0,
  /** Seen before by another endpoint, subscription or source. */
  repeated: 0,
  /** Seen before, but not completely or without any event: decoded once more. */
  decodedAgain: 0,
  /** Seen before in another slot: it landed on two forks, or an endpoint is wrong. */
  otherSlot: 0,
  /** Seen before in the same slot, with other contents: two banks executed it, or a source is wrong. */
  otherContents: 0,
  /** Of a slot that is known to have died, or of a bank of the slot that was replaced. */
  deadSlot: 0,
});

/** What a source reported, compared with the others. */
const noLead = () => ({
  /** Transactions that it reported first. */
  first: 0,
  /** Of these, transactions that another source reported later, and the time between the two in all. */
  confirmed: 0,
  leadMs: 0,
  /** Transactions that it reported with other contents than the endpoints agree on. */
  contradicted: 0,
  /** The same by the number of the endpoint, from 1. */
  byEndpoint: {} as Record<number, number>,
  warnedAtMs: Number.NEGATIVE_INFINITY,
});

interface Reporter {
  readonly source: string;
  /** Its number among the endpoints of all sources; null if the source does not name it. */
  readonly endpoint: number | null;
}

/** The first report of a transaction for its slot. */
interface FirstReport extends Reporter {
  readonly slot: number;
  readonly atMs: number;
  /** The first digest of each source. */
  readonly digests: Record<string, number | string>;
  /** Whether another source reported it too. */
  isConfirmed: boolean;
  /** Later reports with other contents, or with facts that the first does not show. */
  later: (Reporter & Contents)[] | null;
}

export interface RouterParts {
  readonly pipeline: Pick<Pipeline, 'confirmed' | 'see' | 'seen' | 'isOpen' | 'compare' | 'takeNew' | 'takeAgain' | 'takeAccount'>;
  readonly continuity: Pick<Continuity, 'slot' | 'block' | 'confirmed' | 'contested' | 'isDead' | 'seenElsewhere' | 'resumed'>;
  readonly solUsd: Pick<SolUsdFeed, 'has' | 'take'>;
  readonly log: Logger;
}

/** Passes on what sources report: new sightings to the pipeline, slots to continuity, accounts to the pipeline or the SOL price. */
export class SightingRouter implements SourceSink {
  readonly counts = noSightingCounts();
  readonly #reports = new Recent<FirstReport>(maxReports);
  readonly #leads = new Map<string, ReturnType<typeof noLead>>();
  readonly #parts: RouterParts;

  constructor(parts: RouterParts) {
    this.#parts = parts;
  }

  /** By name of the source. */
  lead(source: string) {
    let lead = this.#leads.get(source);
    if (lead === undefined) this.#leads.set(source, (lead = noLead()));
    return lead;
  }

  isRepeat(source: string, signature: string, slot: number, digest: number | string | null, endpoint?: number): boolean {
    const { pipeline } = this.#parts;
    const first = pipeline.seen.peek(signature);
    const mayDiffer = this.#note({ source, endpoint: endpoint ?? null }, signature, slot, digest);
    if (first !== slot || mayDiffer || pipeline.isOpen(signature)) return false;
    this.counts.repeated++;
    return true;
  }

  /** Whether the report may have other contents than those before. Two banks of one slot may execute a transaction in another order. */
  #note(reporter: Reporter, signature: string, slot: number, digest: number | string | null): boolean {
    const { source, endpoint } = reporter;
    const known = this.#reports.peek(signature);
    if (known?.slot !== slot) {
      const digests = digest === null ? {} : { [source]: digest };
      this.#reports.set(signature, { slot, source, endpoint, atMs: performance.now(), digests, isConfirmed: false, later: null });
      return false;
    }
    if (known.source !== source) this.#confirm(known);
    if (digest === null) return false;
    const before = known.digests[source];
    known.digests[source] ??= digest;
    return before !== digest;
  }

  #confirm(report: FirstReport): void {
    if (report.isConfirmed) return;
    report.isConfirmed = true;
    const lead = this.lead(report.source);
    lead.confirmed++;
    lead.leadMs += performance.now() - report.atMs;
  }

  /** A report has other contents than what was published, or than the first whole report. */
  #contest(signature: string, slot: number): void {
    this.counts.otherContents++;
    this.#parts.continuity.contested(signature, slot);
  }

  sighting(sighting: Sighting): void {
    const { pipeline, continuity } = this.#parts;
    const { signature, slot } = sighting;
    if (continuity.isDead(slot, signature)) {
      this.counts.deadSlot++;
      return;
    }
    const reporter = { source: sighting.source, endpoint: sighting.endpoint ?? null };
    this.#note(reporter, signature, slot, null);
    const firstSlot = pipeline.see(signature, slot);
    if (firstSlot === null) {
      this.counts.new++;
      this.lead(sighting.source).first++;
      pipeline.takeNew(sighting);
    } else if (firstSlot !== slot) {
      this.counts.otherSlot++;
      continuity.seenElsewhere(sighting);
    } else if (pipeline.isOpen(signature)) {
      this.counts.decodedAgain++;
      pipeline.takeAgain(sighting);
    } else {
      this.counts.repeated++;
      const found = pipeline.compare(sighting);
      if (found === null) return;
      this.#add(signature, { ...reporter, ...found });
      if (found.isOther) this.#contest(signature, slot);
    }
  }

  failed(signature: string, slot: number, source: string, endpoint: number | null = null): void {
    if (this.#parts.pipeline.seen.peek(signature) !== slot) return;
    this.#add(signature, { source, endpoint, ...failedContents });
    this.#contest(signature, slot);
  }

  #add(signature: string, report: Reporter & Contents): void {
    const first = this.#reports.peek(signature);
    if (first !== undefined && (first.later ??= []).length < maxLater) first.later.push(report);
  }

  /** Endpoints agreed on a transaction. Reports with other contents were false, or of another bank. */
  agreed(signature: string, slot: number, truth: Contents, published: Contents | undefined): void {
    const first = this.#reports.peek(signature);
    if (first === undefined) return;
    if (published !== undefined && isOther(published, truth)) this.contradicted(first, signature, slot);
    for (const report of first.later ?? []) if (isOther(report, truth)) this.contradicted(report, signature, slot);
    first.later = null;
  }

  /** A report was not what the endpoints agree on. */
  contradicted({ source, endpoint }: Reporter, signature: string, slot: number): void {
    const lead = this.lead(source);
    const total = ++lead.contradicted;
    const number = endpoint === null ? null : endpoint + 1;
    if (number !== null) lead.byEndpoint[number] = (lead.byEndpoint[number] ?? 0) + 1;
    if (performance.now() - lead.warnedAtMs < warnEveryMs) return;
    lead.warnedAtMs = performance.now();
    this.#parts.log.warn({ source, endpoint: number, signature, slot, total }, 'source_contradicted');
  }

  account(state: AccountState): void {
    if (this.#parts.solUsd.has(state.address)) this.#parts.solUsd.take(state);
    else this.#parts.pipeline.takeAccount(state);
  }

  slot(slot: number, parent: number | null): void {
    this.#parts.continuity.slot(slot, parent);
  }

  confirmedSlot(endpoint: number, slot: number): void {
    this.#parts.continuity.confirmed(endpoint, slot);
    this.#parts.pipeline.confirmed(slot);
  }

  block(slot: number, block: ConfirmedBlock): void {
    this.#parts.continuity.block(slot, block);
  }

  resumed(): void {
    this.#parts.continuity.resumed();
  }
}
