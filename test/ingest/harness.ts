import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { pricePools, venues } from '@sluice/venues/registry.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { Pipeline } from '../../ingest/src/pipeline/pipeline.ts';
import { SolUsdFeed, type SolUsd } from '@sluice/ingest/pipeline/sol-usd.ts';
import { AccountFetcher } from '../../ingest/src/sources/rpc/account-fetcher.ts';
import { TransactionFetcher } from '../../ingest/src/sources/rpc/transaction-fetcher.ts';
import type { OutgoingPool, PublishableEvent } from '../../ingest/src/publisher/outgoing.ts';
import type { DecodeFault } from '../../ingest/src/pipeline/decode.ts';
import type { Loss } from '../../ingest/src/report.ts';
import { accountAnswers } from './scripted-node.ts';

/** A log line: its constant event name, its level and its data. */
export interface LogLine {
  readonly name: string;
  readonly level: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Harness {
  readonly pipeline: Pipeline;
  /** Published events in order. */
  readonly events: StreamEvent[];
  /** Opened pools in order. */
  readonly opened: OutgoingPool[];
  readonly faults: DecodeFault[];
  readonly losses: Loss[];
  readonly lines: LogLine[];
  readonly calls: { readonly method: string; readonly params: readonly unknown[] }[];
  readonly solUsd: SolUsdFeed;
}

/** A log that stores its lines. */
export function recordingLog(lines: LogLine[], bound: LogLine['data'] = {}): Logger {
  const at =
    (level: string) =>
    (data: unknown, name?: string): void =>
      void lines.push(
        typeof data === 'string'
          ? { name: data, level, data: bound }
          : { name: name ?? '', level, data: { ...bound, ...(data as object) } },
      );
  const log = { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
  return { ...log, child: (more: object) => recordingLog(lines, { ...bound, ...more }) } as unknown as Logger;
}

/** The pipeline with accounts and answers that the test chooses; its output is recorded. */
export function createHarness(
  options: {
    readonly accounts?: ReadonlyMap<string, unknown>;
    readonly answer?: (method: string, params: readonly unknown[]) => unknown;
    readonly simulated?: boolean;
    readonly venues?: readonly Venue[];
    readonly solUsd?: SolUsd;
    readonly giveUpAfterMs?: number;
    /** As if a source of whole transactions ran. */
    readonly expectsWhole?: boolean;
    readonly clock?: Clock;
    /** Receives the events instead of `events`. */
    readonly publish?: (event: PublishableEvent) => void;
  } = {},
): Harness {
  const events: StreamEvent[] = [];
  const faults: DecodeFault[] = [];
  const losses: Loss[] = [];
  const opened: OutgoingPool[] = [];
  const lines: LogLine[] = [];
  const calls: { method: string; params: readonly unknown[] }[] = [];
  const fromAccounts = accountAnswers(options.accounts ?? new Map());
  async function answerOf(method: string, params: readonly unknown[]): Promise<unknown> {
    const answered = await options.answer?.(method, params);
    if (answered !== undefined) return answered;
    const answer = fromAccounts(method, params);
    if (answer === 'silence' || 'error' in answer) throw new Error('not answered');
    return answer.result;
  }
  /** One endpoint: its answer counts, whether `accept` accepts it or not. */
  const rpc: Rpc = {
    call: async (method, params, _signal, accept) => {
      calls.push({ method, params });
      const answer = await answerOf(method, params);
      void accept?.(answer);
      return answer;
    },
  };
  const log = recordingLog(lines);
  const { signal } = new AbortController();
  const solUsd = new SolUsdFeed(rpc, pricePools, log, signal);
  solUsd.current = options.solUsd ?? null;
  const pipeline = new Pipeline({
    venues: options.venues ?? venues,
    simulated: options.simulated ?? false,
    solUsd,
    accounts: new AccountFetcher(rpc, signal),
    transactions: new TransactionFetcher(rpc, options.giveUpAfterMs === undefined ? {} : { giveUpAfterMs: options.giveUpAfterMs }),
    expectsWhole: () => options.expectsWhole === true,
    ...(options.clock !== undefined && { clock: options.clock }),
    log,
    signal,
    publish: options.publish ?? ((event) => void events.push(event)),
    onPool: (pool) => void opened.push(pool),
    onFault: (fault) => void faults.push(fault),
    onLoss: (loss) => void losses.push(loss),
  });
  return { pipeline, events, opened, faults, losses, lines, calls, solUsd };
}
