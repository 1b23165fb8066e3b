import { nodeTextOf, shownText, type NodeText } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { DecodeFault } from './pipeline/decode.ts';
import { LayoutWatch } from './pipeline/layout-watch.ts';
import type { IngestStats } from './stats.ts';

/** Each kind of fault is logged at most once in this time. */
const faultEveryMs = 10_000;
/** Kinds of faults with a line of their own: by venue, kind, and discriminator or reason. Further ones share a line of their venue and kind. */
const maxFaults = 64;

interface FaultLine {
  newest: DecodeFault;
  since: number;
  total: number;
  loggedAtMs: number;
}

/** Something that was not published, and will not be. */
export interface Loss {
  readonly kind: 'events' | 'transaction';
  readonly reason: string;
  readonly events: number;
  readonly signature: string;
  readonly slot: number;
  readonly pool: string | null;
}

interface LossLine {
  readonly kind: Loss['kind'];
  readonly reason: string;
  count: number;
  events: number;
  readonly signatures: string[];
  readonly pools: Set<string>;
}

/** Signatures and pools that one line names. The line counts all. */
const maxNamed = 50;

/** Logs, at a bounded rate, what could not be decoded and what was lost. */
export class Report {
  readonly #log: Logger;
  readonly #faults = new Map<string, FaultLine>();
  readonly #losses = new Map<string, LossLine>();
  readonly #layouts = new LayoutWatch();
  #dropped = 0;
  #malformedFrames = 0;
  readonly #textsOf: readonly NodeText[];

  /** `nodes`: the addresses of the nodes whose answers it reports. */
  constructor(log: Logger, nodes: readonly string[]) {
    this.#log = log;
    this.#textsOf = nodes.map(nodeTextOf);
  }

  /** The newest fault of each kind, with their number. */
  get faults(): readonly (DecodeFault & { readonly total: number })[] {
    return [...this.#faults.values()].map(({ newest, total }) => ({ ...this.#shown(newest), total }));
  }

  /** Venues whose events have changed their layout. */
  get changedVenues(): readonly string[] {
    return this.#layouts.changed;
  }

  /** A sample may be a text: some programs write their events as text, and a node can put any bytes into an event. */
  #shown(fault: DecodeFault): DecodeFault {
    const text = Buffer.from(fault.sampleBase64, 'base64').toString('latin1');
    const isSecret = this.#textsOf.some((textOf) => textOf(text) !== shownText(text));
    return isSecret ? { ...fault, sampleBase64: '(hidden)' } : fault;
  }

  note(fault: DecodeFault): void {
    const name = `${fault.venue} ${fault.kind} ${fault.detail}`;
    const line = this.#faults.get(name) ?? this.#newLine(this.#faults.size < maxFaults ? name : `${fault.venue} ${fault.kind}`, fault);
    line.newest = fault;
    line.since++;
    line.total++;
  }

  #newLine(name: string, newest: DecodeFault): FaultLine {
    const line = this.#faults.get(name) ?? { newest, since: 0, total: 0, loggedAtMs: Number.NEGATIVE_INFINITY };
    this.#faults.set(name, line);
    return line;
  }

  /** Losses are counted where they happen. Here they are collected for the log. */
  lose({ kind, reason, events, signature, pool }: Loss): void {
    const name = `${kind} ${reason}`;
    let line = this.#losses.get(name);
    if (line === undefined) this.#losses.set(name, (line = { kind, reason, count: 0, events: 0, signatures: [], pools: new Set() }));
    line.count++;
    line.events += events;
    if (line.signatures.length < maxNamed) line.signatures.push(signature);
    if (pool !== null && line.pools.size < maxNamed) line.pools.add(pool);
  }

  /** Called once a second, and at the end. */
  write(stats: IngestStats): void {
    this.#writeLosses();
    const nowMs = performance.now();
    this.#layouts.take(stats.venues, nowMs);
    for (const line of this.#faults.values()) {
      if (line.since === 0 || nowMs - line.loggedAtMs < faultEveryMs) continue;
      this.#log.warn({ ...this.#shown(line.newest), count: line.since, total: line.total }, 'undecodable_events');
      line.since = 0;
      line.loggedAtMs = nowMs;
    }
    const { dropped, buffered } = stats.publisher;
    if (dropped > this.#dropped) this.#log.error({ events: dropped - this.#dropped, total: dropped, buffered }, 'events_dropped');
    this.#dropped = dropped;
    const malformed = stats.notifications.malformed + stats.endpoints.reduce((sum, endpoint) => sum + endpoint.malformedFrames, 0);
    if (malformed > this.#malformedFrames) {
      this.#log.warn({ frames: malformed - this.#malformedFrames, total: malformed }, 'malformed_frames');
      this.#malformedFrames = malformed;
    }
  }

  #writeLosses(): void {
    for (const { kind, reason, count, events, signatures, pools } of this.#losses.values()) {
      if (kind === 'transaction') this.#log.error({ reason, transactions: count, signatures }, 'transactions_lost');
      else this.#log.warn({ reason, events, signatures, pools: [...pools] }, 'events_lost');
    }
    this.#losses.clear();
  }
}
