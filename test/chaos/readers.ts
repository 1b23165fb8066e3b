import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { loaderOptions } from '../loader/options.ts';
import type { Judge, Learned, LogEnd } from './judge.ts';
import type { FaultKind, Subscription } from './resuming-client.ts';

/** Messages to a process of readers. */
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
  /** Where logs end for other clients; with `final`, missing frames are faults. */
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
  readonly disconnectedMs: readonly number[];
  /** So far, without what a judgement adds. */
  readonly counts: Readonly<Record<FaultKind, number>>;
  readonly faults: readonly string[];
  /** With the last judgement: the frames behind its faults, and what happened to each of its readers. */
  readonly evidence: readonly string[];
  readonly rssBytes: number;
  readonly cpuSeconds: number;
}

/** Messages from the process: what its readers received first, its state from time to time, and the answer to `judge`. */
export type ReadersMessage =
  | { readonly kind: 'learned'; readonly learned: readonly Learned[] }
  | { readonly kind: 'state' | 'answer'; readonly report: ReadersReport };

const program = join(import.meta.dirname, 'readers-child.ts');
const answerWithinMs = 60_000;

/** A process with many light clients. When one of them is the first to receive a frame of a log, the frame is passed to the judge here. */
export class Readers {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #judge: Judge;
  #report: ReadersReport | null = null;
  #onAnswer: ((report: ReadersReport) => void) | null = null;
  #requested = 0;
  #over = false;

  constructor(name: string, judge: Judge) {
    this.#name = name;
    this.#judge = judge;
    this.#child = fork(program, [], { execArgv: [...loaderOptions] });
    this.#child.on('message', (message) => this.#receive(message as ReadersMessage));
    this.#child.once('exit', (code, signal) => {
      if (!this.#over) judge.onFault(name, 'other', `ended with ${code ?? signal}`);
    });
  }

  /** Whether all requested clients are connected and every subscription is answered. */
  get isFollowing(): boolean {
    return this.#report?.readers === this.#requested && this.#report.isFollowing;
  }

  /** Its newest state. */
  get report(): ReadersReport | null {
    return this.#report;
  }

  follow(order: Omit<Extract<ReadersOrder, { kind: 'follow' }>, 'kind'>): void {
    this.#requested += order.readers.length;
    this.#send({ kind: 'follow', ...order });
  }

  forgot(): void {
    this.#send({ kind: 'forgot' });
  }

  restarted(): void {
    this.#send({ kind: 'restarted' });
  }

  /** Judges its streams by themselves and by where the logs end; null if it does not answer. */
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

  #receive(message: ReadersMessage): void {
    if (message.kind === 'learned') {
      for (const learned of message.learned) this.#judge.learn(this.#name, learned);
      return;
    }
    this.#report = message.report;
    if (message.kind === 'answer') this.#onAnswer?.(message.report);
  }

  #send(order: ReadersOrder): void {
    if (this.#child.connected) this.#child.send(order);
  }
}
