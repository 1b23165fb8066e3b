import type { FaultKind, Frame, Witness } from './resuming-client.ts';
import { SeqSet } from './seq-set.ts';
import { idOf, TopicLog, walk, type Part } from './topic-log.ts';

/** One client's run through one topic, from its start or from a gap of unknown length. */
interface Way {
  readonly part: Part;
  epoch: string;
  /** Its first frame comes after this one. After a gap of unknown length it is null until a frame arrives. */
  after: number | null;
  frames: number;
  sum: number;
  seqs: SeqSet;
  /** A gap reported that frames in between are lost. */
  lacks: boolean;
}

export interface JudgeOptions {
  /** The filter of clients that use one. */
  readonly passes: (event: Frame['event']) => boolean;
  readonly partOf: (client: string) => Part;
  /**
   * Events that the chain emitted this long before a Redis lost its memory may be lost with it. The default is the time that reading them
   * again may take.
   */
  readonly declaredBeforeMs?: number | undefined;
  /** Called once for each frame of a log, when the first client receives it. */
  readonly onLearned?: (learned: Learned) => void;
}

/** The frame under one number, as a client received it. */
export interface Learned extends LogEnd {
  /** `<type> <id>`. */
  readonly key: string;
}

export interface LogEnd {
  readonly topic: string;
  readonly epoch: string;
  readonly seq: number;
}

/** What the chain emitted on each topic and did not retract: `<type> <id>` of every event, and when. */
export type Emitted = ReadonlyMap<string, ReadonlyMap<string, number>>;

const maxFaults = 100;
/** Lines that describe what led to the faults. */
const maxEvidence = 20_000;
/** Frames of a log that are printed on either side of a wrong one. */
const shownBeside = 12;
/** Ids that one fault lists. */
const namedIds = 3;
/** Events that the chain emitted this long before and after a Redis lost its memory may be lost with it. Clients received a gap. */
const declaredBeforeMs = 30_000;
const declaredAfterMs = 5_000;

/** Compares all clients' streams with each other while they arrive, and at the end with what the chain emitted. */
export class Judge implements Witness {
  /** The faults, one sentence each; the first hundred. */
  readonly faults: string[] = [];
  /** The frames behind the faults: missing or repeated frames, with those next to them. */
  readonly evidence: string[] = [];
  readonly counts: Record<FaultKind, number> = { gap: 0, double: 0, other: 0 };
  /** Gaps that were reported, by reason. */
  readonly gaps = new Map<string, number>();
  deliveries = 0;
  /** Retractions that clients received. */
  retractions = 0;
  readonly #startedAtMs = performance.now();
  readonly #options: JudgeOptions;
  /** By topic, in the order of the epochs. */
  readonly #logs = new Map<string, Map<string, TopicLog>>();
  /** By client, then by topic. */
  readonly #ways = new Map<string, Map<string, Way>>();
  /** Id of a trade to its mint. */
  readonly #mintOf = new Map<string, string>();
  readonly #forgotAtMs: number[] = [];
  /** New epochs that may still be reported without a loss, one for each start of a Redis; and all that were reported. */
  #epochsToCome = 0;
  readonly #epochsReported = new Set<string>();
  readonly #epochsAllowed = new Set<string>();
  #publishedAgain = 0;
  readonly #ends = new Map<string, number>();

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** Events that were published in one epoch and again in a later one, by the last judgement. */
  get publishedAgain(): number {
    return this.#publishedAgain;
  }

  /** Mints that were traded. */
  get mints(): readonly string[] {
    return [...new Set(this.#mintOf.values())];
  }

  /** A Redis lost its memory: from now on a gap may be reported, and what was lost with it is not missed. */
  forgot(): void {
    this.#forgotAtMs.push(performance.now());
  }

  /** A Redis starts again with all its data: its log continues in a new epoch, and nothing is lost. */
  restarted(): void {
    this.#epochsToCome++;
  }

  onFollow(client: string, topic: string, { epoch, seq }: { readonly epoch: string; readonly seq: number }): void {
    const ways = this.#ways.get(client) ?? new Map<string, Way>();
    this.#ways.set(client, ways);
    ways.set(topic, { part: this.#options.partOf(client), epoch, after: seq, frames: 0, sum: 0, seqs: new SeqSet(), lacks: false });
  }

  onFrame(client: string, { topic, epoch, seq, event }: Frame): void {
    this.deliveries++;
    const key = `${event.type} ${event.id}`;
    const { mint } = event;
    if (event.type === 'retract') this.retractions++;
    else if (topic === 'trades' && typeof mint === 'string' && !this.#mintOf.has(event.id)) this.#mintOf.set(event.id, mint);
    const log = this.#learn({ topic, epoch, seq, key }, client);
    if (this.#options.passes(event)) log.pass(seq);
    const way = this.#way(client, topic);
    if (way === null) return;
    if (way.epoch !== epoch) this.#fault('other', `${client}: ${topic}: a frame of ${epoch}, but the client is in ${way.epoch}`);
    way.after ??= seq - 1;
    way.frames++;
    way.sum += seq;
    way.seqs.add(seq);
  }

  onGap(client: string, { topic, from, to, reason, epoch }: Parameters<Witness['onGap']>[1]): void {
    this.gaps.set(reason, (this.gaps.get(reason) ?? 0) + 1);
    if (reason === 'epoch' && !this.#epochsReported.has(epoch)) {
      this.#epochsReported.add(epoch);
      if (this.#epochsToCome > 0) {
        this.#epochsToCome--;
        this.#epochsAllowed.add(epoch);
      }
    }
    if (this.#forgotAtMs.length === 0 && !(this.#epochsAllowed.has(epoch) && reason === 'epoch'))
      this.#fault('gap', `${client}: ${topic}: a gap was reported (${reason}) at ${this.#sinceStartMs()} ms, and no Redis lost its memory`);
    const way = this.#way(client, topic);
    if (way === null) return;
    if (to !== null && epoch === way.epoch) way.lacks = true;
    else {
      const after = to !== null && to < from ? to : null;
      Object.assign(way, { epoch, after, frames: 0, sum: 0, seqs: new SeqSet(), lacks: to !== null && after === null });
    }
  }

  onFault(client: string, kind: FaultKind, what: string): void {
    this.#fault(kind, `${client}: ${what}`);
  }

  /** What clients of another process received. */
  learn(source: string, learned: Learned): void {
    this.#learn(learned, source);
  }

  /** Number of frames in all logs, each counted once. */
  get frames(): number {
    let frames = 0;
    for (const logs of this.#logs.values()) for (const { entries } of logs.values()) frames += entries.size;
    return frames;
  }

  /** Where each log ends, as far as any client received it. */
  get ends(): readonly LogEnd[] {
    return [...this.#logs].flatMap(([topic, logs]) => [...logs].map(([epoch, { last: seq }]) => ({ topic, epoch, seq })));
  }

  /** Where logs end for clients of another process: the clients here must get as far. */
  expectEnds(ends: readonly LogEnd[]): void {
    for (const { topic, epoch, seq } of ends) this.#ends.set(`${topic} ${epoch}`, seq);
  }

  /** Whether every client has all frames of its part of the logs since its start. */
  isCaughtUp(): boolean {
    for (const [client, ways] of this.#ways) for (const [topic, way] of ways) if (this.#lack(client, topic, way) !== null) return false;
    return true;
  }

  /** Reports what each client lacks as faults. */
  judgeClients(): void {
    for (const [client, ways] of this.#ways) {
      for (const [topic, way] of ways) {
        const lack = this.#lack(client, topic, way);
        if (lack === null) continue;
        this.#fault(lack.kind, lack.text);
        this.#show(lack.text, this.#lackingFrames(topic, way));
      }
    }
  }

  /** The final judgement: what each client lacks, and what the logs lack or have too much compared with what was emitted. */
  judge(emitted: Emitted): readonly string[] {
    this.judgeClients();
    if (this.#forgotAtMs.length === 0) this.#judgeMints();
    for (const topic of this.#logs.keys()) {
      const { doubled, wrong, publishedAgain: times } = this.#walk(topic);
      for (const { text, log, seqs } of doubled) {
        this.#fault('double', `${topic}: ${text}`);
        this.#show(
          text,
          seqs.flatMap((seq) => log.excerpt(Math.max(log.first, seq - shownBeside), Math.min(log.last, seq + shownBeside))),
        );
      }
      for (const what of wrong) this.#fault('other', `${topic}: ${what}`);
      this.#publishedAgain += times;
    }
    for (const [topic, ids] of emitted) this.#judgeTopic(topic, ids);
    return this.faults;
  }

  /** Checks that everything that was emitted is in the logs, and nothing else. */
  isWhole(emitted: Emitted): boolean {
    return [...emitted].every(([topic, ids]) => {
      const { valid } = this.#walk(topic);
      return this.#missing(valid, ids).length === 0 && this.#invented(valid, ids).length === 0;
    });
  }

  /** Whether everything that was emitted up to a time was published, except what a Redis may have lost. */
  hasAll(emitted: Emitted, untilMs: number): boolean {
    return [...emitted].every(([topic, ids]) => {
      const { valid } = this.#walk(topic);
      return [...ids].every(([key, atMs]) => atMs > untilMs || valid.has(key) || this.#isDeclared(atMs));
    });
  }

  #judgeTopic(topic: string, ids: ReadonlyMap<string, number>): void {
    const { valid } = this.#walk(topic);
    const missing = this.#missing(valid, ids);
    if (missing.length > 0) {
      const [first, last] = [missing[0]!, missing.at(-1)!].map((id) => Math.round(ids.get(id)! - this.#startedAtMs));
      this.#fault('gap', `${topic}: nobody received ${list(missing)}, from ${first} to ${last} ms`, missing.length);
      this.#show(
        `${topic}: emitted, and never received`,
        missing.map((key) => `${key} ${unixTime(ids.get(key)!)}`),
      );
    }
    const invented = this.#invented(valid, ids);
    if (invented.length > 0)
      this.#fault('other', `${topic}: is in the log, and never happened or died: ${list(invented)}`, invented.length);
  }

  #missing(valid: ReadonlySet<string>, ids: ReadonlyMap<string, number>): string[] {
    return [...ids].flatMap(([key, atMs]) => (valid.has(key) || this.#isDeclared(atMs) ? [] : [key]));
  }

  #invented(valid: ReadonlySet<string>, ids: ReadonlyMap<string, number>): string[] {
    // The retraction of an event may have been lost, too.
    if (this.#forgotAtMs.length > 0) return [];
    const prefix = `${typeOf(ids)} `;
    return [...valid].filter((key) => key.startsWith(prefix) && !ids.has(key));
  }

  #isDeclared(atMs: number): boolean {
    const { declaredBeforeMs: beforeMs = declaredBeforeMs } = this.#options;
    return this.#forgotAtMs.some((forgotMs) => atMs > forgotMs - beforeMs && atMs < forgotMs + declaredAfterMs);
  }

  /** The trades of a mint have their own numbers: there are as many as among all trades. */
  #judgeMints(): void {
    const counts = new Map<string, number>();
    for (const log of this.#logsOf('trades')) {
      for (const key of log.entries.values()) {
        const mint = this.#mintOf.get(idOf(key)) ?? '';
        counts.set(mint, (counts.get(mint) ?? 0) + 1);
      }
    }
    for (const [topic, logs] of this.#logs) {
      const mint = /^trades:(.+)$/.exec(topic)?.[1];
      if (mint === undefined) continue;
      // Numbers continue in the next epoch.
      for (const { last } of [...logs.values()].slice(-1)) {
        const expected = counts.get(mint) ?? 0;
        if (last < expected) this.#fault('gap', `${topic}: ends at ${last}, and ${expected} trades happened`);
        if (last > expected) this.#fault('double', `${topic}: ends at ${last}, and ${expected} trades happened`);
      }
    }
  }

  #lack(client: string, topic: string, way: Way): { readonly kind: FaultKind; readonly text: string } | null {
    const { part, epoch, after, frames, sum, lacks } = way;
    const log = this.#logs.get(topic)?.get(epoch);
    const end = this.#ends.get(`${topic} ${epoch}`) ?? 0;
    if (end > (after ?? 0) && end > (log?.last ?? 0))
      return { kind: 'gap', text: `${client}: ${topic}: ${epoch} goes to ${end}, and no other client has more than ${log?.last ?? 0}` };
    if (after === null || log === undefined) return null;
    const expected = log.tally(part, after);
    const text = `${client}: ${topic}: has ${frames} of ${expected.frames} frames after ${after} in ${epoch}`;
    if (frames > expected.frames) return { kind: 'double', text };
    if (lacks) return null;
    if (frames < expected.frames) return { kind: 'gap', text };
    return sum === expected.sum ? null : { kind: 'gap', text: `${text}, and they are not the same` };
  }

  #learn({ topic, epoch, seq, key }: Learned, source: string): TopicLog {
    const logs = this.#logs.get(topic) ?? new Map<string, TopicLog>();
    this.#logs.set(topic, logs);
    const log = logs.get(epoch) ?? new TopicLog();
    logs.set(epoch, log);
    const known = log.entries.get(seq);
    if (known === undefined) {
      log.add(seq, key);
      this.#options.onLearned?.({ topic, epoch, seq, key });
    } else if (known !== key) this.#fault('other', `${source}: ${topic}: ${seq} is ${key}, and ${known} for another`);
    return log;
  }

  /** Where each log begins and ends, and when its frames arrived. */
  describeLogs(): readonly string[] {
    return [...this.#logs].flatMap(([topic, logs]) =>
      [...logs].map(([epoch, log]) => {
        const times = [log.first, log.last].map((seq) => unixTime((log.learnedAtMs.get(seq) ?? 0) - performance.timeOrigin));
        return `${topic} ${epoch}: ${log.first} (${times[0]}) to ${log.last} (${times[1]}), ${log.entries.size} frames`;
      }),
    );
  }

  #lackingFrames(topic: string, { part, epoch, after, seqs }: Way): string[] {
    const log = this.#logs.get(topic)?.get(epoch);
    if (log === undefined || after === null) return [];
    return log.missing(part, after, (seq) => seqs.has(seq)).flatMap((seq) => log.excerpt(seq, seq));
  }

  #show(what: string, lines: readonly string[]): void {
    this.evidence.push(what, ...lines.map((line) => `    ${line}`));
    if (this.evidence.length > maxEvidence) this.evidence.length = maxEvidence;
  }

  #walk(topic: string): ReturnType<typeof walk> {
    return walk(this.#logsOf(topic));
  }

  #logsOf(topic: string): readonly TopicLog[] {
    return [...(this.#logs.get(topic)?.values() ?? [])];
  }

  #sinceStartMs(): number {
    return Math.round(performance.now() - this.#startedAtMs);
  }

  #way(client: string, topic: string): Way | null {
    const found = this.#ways.get(client)?.get(topic);
    if (found === undefined) this.#fault('other', `${client} received a frame of ${topic}, which it does not follow`);
    return found ?? null;
  }

  #fault(kind: FaultKind, what: string, times = 1): void {
    this.counts[kind] += times;
    if (this.faults.length < maxFaults) this.faults.push(what);
  }
}

function unixTime(atMs: number): string {
  return new Date(performance.timeOrigin + atMs).toISOString();
}

/** All events that the chain emits on one topic have one type. Other events of the topic come from elsewhere. */
function typeOf(ids: ReadonlyMap<string, number>): string {
  const [first = ''] = ids.keys();
  return first.slice(0, first.indexOf(' '));
}

function list(ids: readonly string[]): string {
  return `${ids.slice(0, namedIds).join(', ')}${ids.length > namedIds ? ` and ${ids.length - namedIds} more` : ''}`;
}
