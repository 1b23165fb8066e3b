import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { Continuity } from './continuity.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { SolUsdFeed } from '../pipeline/sol-usd.ts';
import type { AccountState, Sighting, WholeSighting } from '../sources/sighting.ts';
import type { ConfirmedBlock } from '../sources/blocks/confirmed-block.ts';
import type { SourceSink } from '../sources/source.ts';

/** Transactions whose first report is remembered: a minute of the busiest programs. */
const maxReports = 20_000;
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
  /** Transactions that it reported first, and with other contents than the endpoints agree on. */
  contradicted: 0,
  warnedAtMs: Number.NEGATIVE_INFINITY,
});

/** The first report of a transaction for its slot. */
interface FirstReport {
  readonly slot: number;
  readonly source: string;
  /** Its number among the endpoints of all sources; null if the source does not name it. */
  readonly endpoint: number | null;
  readonly atMs: number;
  /** Null if the source cannot compare. */
  digest: number | null;
  /** Whether another source reported it too. */
  isConfirmed: boolean;
}

export interface RouterParts {
  readonly pipeline: Pick<Pipeline, 'confirmed' | 'see' | 'seen' | 'isOpen' | 'contradicts' | 'takeNew' | 'takeAgain' | 'takeAccount'>;
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

  isRepeat(source: string, signature: string, slot: number, digest: number | null, endpoint: number | null = null): boolean {
    const { pipeline } = this.#parts;
    const first = pipeline.seen.peek(signature);
    // Of a new transaction there is nothing to compare.
    if (first === undefined) this.#begin(source, signature, slot, digest, endpoint);
    else this.#compare(source, signature, slot, digest, endpoint);
    if (first !== slot || pipeline.isOpen(signature)) return false;
    this.counts.repeated++;
    return true;
  }

  /** Two banks of one slot may execute a transaction in another order. */
  #compare(source: string, signature: string, slot: number, digest: number | null, endpoint: number | null): void {
    const known = this.#reports.peek(signature);
    if (known?.slot !== slot) this.#begin(source, signature, slot, digest, endpoint);
    else if (known.source !== source) this.#confirm(known);
    else if (known.digest === null) known.digest = digest;
    else if (digest !== null && known.digest !== digest) this.#contest(signature, slot, null);
  }

  #begin(source: string, signature: string, slot: number, digest: number | null, endpoint: number | null): void {
    this.#reports.set(signature, { slot, source, endpoint, atMs: performance.now(), digest, isConfirmed: false });
  }

  #confirm(report: FirstReport): void {
    if (report.isConfirmed) return;
    report.isConfirmed = true;
    const lead = this.lead(report.source);
    lead.confirmed++;
    lead.leadMs += performance.now() - report.atMs;
  }

  #contest(signature: string, slot: number, found: WholeSighting | null): void {
    this.counts.otherContents++;
    this.#parts.continuity.contested(signature, slot, found);
  }

  sighting(sighting: Sighting): void {
    const { pipeline, continuity } = this.#parts;
    const { signature, slot } = sighting;
    if (continuity.isDead(slot, signature)) {
      this.counts.deadSlot++;
      return;
    }
    this.#compare(sighting.source, signature, slot, null, null);
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
      if (sighting.kind === 'whole' && pipeline.contradicts(sighting)) this.#contradict(sighting);
    }
  }

  failed(signature: string, slot: number): void {
    if (this.#parts.pipeline.seen.peek(signature) === slot) this.#contest(signature, slot, null);
  }

  /** The transaction was published with other contents. What is confirmed wins. */
  #contradict(sighting: WholeSighting): void {
    const { signature, slot, commitment } = sighting;
    this.#contest(signature, slot, commitment === 'processed' ? null : sighting);
  }

  /** What was published of the transaction is not what the endpoints agree on: its first report was false, or of another bank. */
  contradicted(signature: string, slot: number): void {
    const report = this.#reports.peek(signature);
    if (report === undefined) return;
    const { source, endpoint } = report;
    const lead = this.lead(source);
    const total = ++lead.contradicted;
    if (performance.now() - lead.warnedAtMs < warnEveryMs) return;
    lead.warnedAtMs = performance.now();
    this.#parts.log.warn({ source, endpoint: endpoint === null ? null : endpoint + 1, signature, slot, total }, 'source_contradicted');
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
