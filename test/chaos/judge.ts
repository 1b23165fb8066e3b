import type { Frame, Witness } from './resuming-client.ts';

/** What stands under the numbers of one topic in one epoch: the same for everybody, or there is a fault. */
interface Log {
  /** By `seq`. */
  readonly ids: Map<number, string>;
  readonly seqs: Map<string, number>;
  /** How many of them pass the filter that clients use. */
  passing: number;
  last: number;
}

/** What one client has of one topic in one epoch. */
interface Share {
  frames: number;
  last: number;
}

/** One client's way through one topic. */
interface Way {
  /** Its first frame is the one after. */
  readonly after: number;
  readonly epochs: Map<string, Share>;
  gaps: number;
}

export interface JudgeOptions {
  /** The filter of those clients that use one. */
  readonly passes: (event: Frame['event']) => boolean;
  readonly isFiltered: (client: string) => boolean;
}

/** What the chain emitted on each topic: `<type> <id>` of every event, and when. */
export type Emitted = ReadonlyMap<string, ReadonlyMap<string, number>>;

const maxFaults = 100;
/** Ids that one fault names. */
const namedIds = 3;

/** Holds all clients' streams against each other as they come, and against what the chain emitted at the end. */
export class Judge implements Witness {
  /** What must not be, in words; the first hundred. */
  readonly faults: string[] = [];
  /** Gaps that were told, by reason. */
  readonly gaps = new Map<string, number>();
  /** Trades on the topic of all trades, by mint. */
  readonly mints = new Map<string, number>();
  deliveries = 0;
  readonly #startedAtMs = performance.now();
  readonly #options: JudgeOptions;
  /** `<topic> <epoch>` to what stands there. */
  readonly #logs = new Map<string, Log>();
  /** `<client> <topic>` to its way. */
  readonly #ways = new Map<string, Way>();

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  onFollow(client: string, topic: string, seq: number): void {
    this.#ways.set(`${client} ${topic}`, { after: seq, epochs: new Map(), gaps: 0 });
  }

  onFrame(client: string, { topic, epoch, seq, event }: Frame): void {
    this.deliveries++;
    const log = this.#log(topic, epoch);
    const id = `${event.type} ${event.id}`;
    const known = log.ids.get(seq);
    if (known === undefined) {
      const before = log.seqs.get(id);
      if (before !== undefined) this.#fault(`${client}: ${topic}: ${id} stands at ${before} and at ${seq}`);
      log.ids.set(seq, id);
      log.seqs.set(id, seq);
      log.last = Math.max(log.last, seq);
      if (this.#options.passes(event)) log.passing++;
      if (topic === 'trades') this.#countMint(String(event['mint']));
    } else if (known !== id) this.#fault(`${client}: ${topic}: ${seq} is ${id}, and ${known} for another`);
    const { epochs } = this.#way(client, topic);
    const share = epochs.get(epoch) ?? { frames: 0, last: 0 };
    epochs.set(epoch, share);
    share.frames++;
    share.last = Math.max(share.last, seq);
  }

  onGap(client: string, { topic, reason }: Parameters<Witness['onGap']>[1]): void {
    this.gaps.set(reason, (this.gaps.get(reason) ?? 0) + 1);
    this.#way(client, topic).gaps++;
  }

  onFault(client: string, what: string): void {
    this.#fault(`${client}: ${what}`);
  }

  /** Every client that was told of no gap has all that the longest log of a topic has, from where it began. */
  isCaughtUp(): boolean {
    return [...this.#ways].every(([name, way]) => this.#lack(name, way) === null);
  }

  /** The last word: what each client lacks, and what the logs lack or have too much of what was emitted. */
  judge(emitted: Emitted): readonly string[] {
    for (const [name, way] of this.#ways) {
      const lack = this.#lack(name, way);
      if (lack !== null) this.#fault(lack);
    }
    if (this.gaps.size === 0) this.#judgeMints();
    for (const [topic, ids] of emitted) {
      const told = this.#idsOf(topic);
      const missing = [...ids.keys()].filter((id) => !told.has(id));
      const invented = [...told].filter((id) => id.startsWith(`${typeOf(ids)} `) && !ids.has(id));
      if (missing.length > 0 && this.gaps.size === 0) {
        const [first, last] = [missing[0]!, missing.at(-1)!].map((id) => Math.round(ids.get(id)! - this.#startedAtMs));
        this.#fault(`${topic}: nobody was told of ${list(missing)}, from ${first} to ${last} ms`);
      }
      if (invented.length > 0) this.#fault(`${topic}: never happened: ${list(invented)}`);
    }
    return this.faults;
  }

  /** Ids of a topic that somebody was told of. */
  told(topic: string): number {
    return this.#idsOf(topic).size;
  }

  /** A mint's trades are numbered by themselves: as many as there are among all trades. */
  #judgeMints(): void {
    for (const [key, { last }] of this.#logs) {
      const mint = /^trades:(\S+) /.exec(key)?.[1];
      const trades = mint === undefined ? last : (this.mints.get(mint) ?? 0);
      if (trades !== last) this.#fault(`${key}: ends at ${last}, and ${trades} trades happened`);
    }
  }

  #lack(name: string, { after, epochs, gaps }: Way): string | null {
    const [client = '', topic = ''] = name.split(' ');
    for (const [key, log] of this.#logs) {
      if (!key.startsWith(`${topic} `)) continue;
      const share = epochs.get(key.slice(topic.length + 1)) ?? { frames: 0, last: 0 };
      const isFiltered = this.#options.isFiltered(client);
      const wanted = isFiltered ? log.passing : log.last - after;
      if (gaps === 0 && share.frames !== wanted)
        return `${client}: ${topic}: has ${share.frames} of ${wanted} frames after ${after}, without a gap`;
      if (share.frames > wanted) return `${client}: ${topic}: has ${share.frames} frames where there are ${wanted}`;
    }
    return null;
  }

  #countMint(mint: string): void {
    this.mints.set(mint, (this.mints.get(mint) ?? 0) + 1);
  }

  #idsOf(topic: string): ReadonlySet<string> {
    return new Set([...this.#logs].flatMap(([key, { seqs }]) => (key.startsWith(`${topic} `) ? [...seqs.keys()] : [])));
  }

  #log(topic: string, epoch: string): Log {
    const key = `${topic} ${epoch}`;
    const found = this.#logs.get(key) ?? { ids: new Map(), seqs: new Map(), passing: 0, last: 0 };
    this.#logs.set(key, found);
    return found;
  }

  #way(client: string, topic: string): Way {
    const found = this.#ways.get(`${client} ${topic}`);
    if (found === undefined) throw new Error(`${client} does not follow ${topic}`);
    return found;
  }

  #fault(what: string): void {
    if (this.faults.length < maxFaults) this.faults.push(what);
  }
}

/** All events that the chain emits on one topic are of one type; what is told beside them comes from elsewhere. */
function typeOf(ids: ReadonlyMap<string, number>): string {
  const [first = ''] = ids.keys();
  return first.slice(0, first.indexOf(' '));
}

function list(ids: readonly string[]): string {
  return `${ids.slice(0, namedIds).join(', ')}${ids.length > namedIds ? ` and ${ids.length - namedIds} more` : ''}`;
}
