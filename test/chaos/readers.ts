import { fork, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Judge, Learned, LogEnd } from './judge.ts';
import type { FaultKind, Subscription } from './resuming-client.ts';

/** What a process of readers is told. */
export type ReadersOrder =
  | {
      readonly kind: 'follow';
      readonly hosts: readonly string[];
      readonly apiKey: string;
      readonly seed: string;
      readonly readers: readonly { readonly name: string; readonly subscriptions: readonly Subscription[] }[];
    }
  | { readonly kind: 'forgot' }
  | { readonly kind: 'restarted' }
  /** Where logs end by what others were told; `final` makes faults of what is missing. */
  | { readonly kind: 'judge'; readonly ends: readonly LogEnd[]; readonly final: boolean };

export interface ReadersReport {
  readonly readers: number;
  readonly isFollowing: boolean;
  readonly isCaughtUp: boolean;
  readonly deliveries: number;
  readonly retractions: number;
  readonly resumes: number;
  readonly gaps: Readonly<Record<string, number>>;
  readonly closes: Readonly<Record<string, number>>;
  readonly awayMs: readonly number[];
  /** So far, without what a judgement adds. */
  readonly counts: Readonly<Record<FaultKind, number>>;
  readonly faults: readonly string[];
  /** With the last judgement: what its faults rest on, and what happened to each of its readers. */
  readonly evidence: readonly string[];
  readonly rssBytes: number;
  readonly cpuSeconds: number;
}

/** What it tells: what its readers learned first, its state from time to time, and the answer to `judge`. */
export type ReadersTelling =
  | { readonly kind: 'learned'; readonly learned: readonly Learned[] }
  | { readonly kind: 'state' | 'answer'; readonly report: ReadersReport };

const program = join(import.meta.dirname, 'readers-child.ts');
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const answerWithinMs = 60_000;

/** A process full of light clients. Each frame of a log that one of them is the first to receive is told to the judge here. */
export class Readers {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #judge: Judge;
  #report: ReadersReport | null = null;
  #onAnswer: ((report: ReadersReport) => void) | null = null;
  #wanted = 0;
  #over = false;

  constructor(name: string, judge: Judge) {
    this.#name = name;
    this.#judge = judge;
    this.#child = fork(program, [], { execArgv: ['--import', tsx] });
    this.#child.on('message', (message) => this.#take(message as ReadersTelling));
    this.#child.once('exit', (code, signal) => {
      if (!this.#over) judge.onFault(name, 'other', `ended with ${code ?? signal}`);
    });
  }

  /** All that were asked for are connected, and every subscription is answered. */
  get isFollowing(): boolean {
    return this.#report?.readers === this.#wanted && this.#report.isFollowing;
  }

  /** Its newest state. */
  get report(): ReadersReport | null {
    return this.#report;
  }

  follow(order: Omit<Extract<ReadersOrder, { kind: 'follow' }>, 'kind'>): void {
    this.#wanted += order.readers.length;
    this.#send({ kind: 'follow', ...order });
  }

  forgot(): void {
    this.#send({ kind: 'forgot' });
  }

  restarted(): void {
    this.#send({ kind: 'restarted' });
  }

  /** Its streams judged by themselves and by where the logs end; null where it does not answer. */
  async judge(ends: readonly LogEnd[], { final }: { readonly final: boolean }): Promise<ReadersReport | null> {
    const answered = new Promise<ReadersReport | null>((resolve) => {
      const timer = setTimeout(resolve, answerWithinMs, null);
      this.#onAnswer = (report) => {
        clearTimeout(timer);
        resolve(report);
      };
    });
    this.#send({ kind: 'judge', ends, final });
    return answered;
  }

  close(): void {
    this.#over = true;
    this.#child.kill('SIGKILL');
  }

  #take(telling: ReadersTelling): void {
    if (telling.kind === 'learned') {
      for (const learned of telling.learned) this.#judge.learn(this.#name, learned);
      return;
    }
    this.#report = telling.report;
    if (telling.kind === 'answer') this.#onAnswer?.(telling.report);
  }

  #send(order: ReadersOrder): void {
    if (this.#child.connected) this.#child.send(order);
  }
}
