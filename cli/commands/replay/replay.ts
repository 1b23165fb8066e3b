import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import { ReplaySource, type Playback, type RecordedTransaction } from '@sluice/ingest/sources/replay/replay-source.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog, type Logger } from '@sluice/shared/runtime/log/log.ts';
import { isPoolNews } from '@sluice/shared/market/pools/pool-news.ts';
import { readVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { decodedVenueNames } from '@sluice/shared/wire/venues.ts';
import type { TransactionRecord } from '@sluice/simnet/chain.ts';
import { encodeTransaction } from '@sluice/simnet/rpc/encode-transaction.ts';
import { replayFile, type ReplayNode } from '@sluice/simnet/simnet.ts';
import { action, CommandError, flag, loadConfig, option, readInteger, UsageError } from '../../command-line/command.ts';
import { showProgress, withProgress } from '../../command-line/progress.ts';
import { exampleRecording } from './example.ts';
import { closeOnStop, Closers } from '../../start/lifecycle.ts';
import { eventLine } from '../watch/event-line.ts';
import { paintFor } from '../watch/paint.ts';
import { print, printError, printJson } from '../../command-line/terminal.ts';

const maxSpeed = 1000;
/** Ingest has finished when nothing has changed for this long. */
const quietMs = 1000;
const checkEveryMs = 50;
/** Symbols of tokens that are remembered for their trades. */
const maxSymbols = 10_000;

export const command = action({
  about: 'Replay recorded transactions.',
  args: {
    '[FILE…]':
      'recorded results of getTransaction, and accounts as getProgramAccounts returns them: one JSON object, a JSON array, or one object a line (.jsonl, or .jsonl.br if compressed with brotli). Default: 20 seconds of simnet and recorded transactions of all venues, which come with sluice',
  },
  options: {
    events: flag('decode the transactions in this process, print the events and exit'),
    speed: option('N', `1 is the recorded pace, 10 is ten times as fast, 0 is as fast as possible; at most ${maxSpeed}. Default: 1`),
    port: option('N', 'port of the node that serves the recording. Default: 0, any free port'),
  },
  json: 'print JSON; with --events one event a line',
  more: `Without --events it serves the recording like a Solana node, and prints the values of SOLANA_RPC_URL and SOLANA_WS_URL for it.
The replay begins when the first client subscribes. The node runs until Ctrl-C.`,
  examples: ['replay --events', 'replay recorded.json --speed 10 --events'],
  async run(values, positionals) {
    const speed = readSpeed(values.speed ?? '1');
    const port = readInteger('--port', values.port ?? '0', 0, 65_535);
    const config = loadConfig();
    const log = createLog({ level: process.env['LOG_LEVEL'] === undefined ? 'error' : config.logLevel, name: 'replay' });
    const closers = new Closers();
    const signal = closeOnStop(log, closers);
    const begin = values.events ? 'at-start' : 'at-subscription';
    const files = positionals.length === 0 ? [exampleRecording] : positionals;
    const read = () => replayFile(files, { speed, host: '127.0.0.1', port, log, signal, begin });
    const node = await withProgress('reading the recording', read).catch((error: unknown) => {
      throw new CommandError(`The recording cannot be replayed: ${reasonOf(error)}`, { cause: error });
    });
    closers.add('node', () => node.close());
    if (node.recording.records.length === 0) {
      await closers.closeAll(log);
      throw new CommandError(['No transaction could be read.', ...node.recording.reasons].join('\n  '));
    }
    for (const reason of node.recording.reasons) printError(`skipped: ${reason}`);
    if (!values.events) return serve(node, values.json);
    await printEvents(node, config, log, closers, signal, values.json);
    return 0;
  },
});

function reasonOf(error: unknown): string {
  if ((error as NodeJS.ErrnoException | null)?.code === 'EISDIR') return 'a folder is not a recording. Name its files.';
  return error instanceof Error ? error.message : String(error);
}

function readSpeed(text: string): number {
  const speed = /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(speed <= maxSpeed)) throw new UsageError(`--speed takes a number from 0 to ${maxSpeed}`);
  return speed;
}

async function serve(node: ReplayNode, json: boolean): Promise<number> {
  const { rpcUrl, wsUrl, recording } = node;
  if (json) printJson({ rpcUrl, wsUrl, transactions: recording.records.length, refused: recording.refused, simulated: true });
  else print(`${recording.records.length} recorded transactions.\n\n  SOLANA_RPC_URL=${rpcUrl}\n  SOLANA_WS_URL=${wsUrl}\n`);
  const report = await finished(node);
  if (json) printJson({ finished: true, ...report });
  else printError(`replayed ${report.transactions} transactions in ${report.blocks} blocks; press Ctrl-C to exit`);
  return 0;
}

async function printEvents(
  node: ReplayNode,
  settings: Config,
  log: Logger,
  closers: Closers,
  signal: AbortSignal,
  json: boolean,
): Promise<void> {
  // Whole transactions are read, so no venue costs a request of its own.
  const config: Config = {
    ...settings,
    venues: decodedVenueNames,
    rpc: { httpUrls: [node.rpcUrl], wsUrls: [node.wsUrl] },
    redisUrls: null,
  };
  const bus = await createBus({ redisUrls: null, log });
  closers.add('bus', () => bus.close());
  const subscriber = await bus.subscriber();
  const paint = paintFor(process.stdout);
  const symbols = new Map<string, string>();
  let count = 0;
  await subscriber.start({
    onEntry: (entry) => {
      if (readVerdict(entry) !== null || isPoolNews(entry)) return;
      count++;
      const { event } = entry;
      if (json) return printJson(event);
      if (event.type === 'newToken' && symbols.size < maxSymbols) symbols.set(event.mint, event.symbol);
      print(eventLine(event, paint, { symbolOf: (mint) => symbols.get(mint) ?? null }));
    },
    onLost: ({ from, to, reason }) => printError(`events ${from} to ${to} were lost: ${reason}`),
  });
  const source = new ReplaySource(playbackOf(node), log);
  const ingest = await startIngest({ config, bus, source, log, signal });
  closers.add('ingest', () => ingest.close());
  const report = await (process.stdout.isTTY ? node.finished : finished(node));
  await whenQuiet(ingest, () => count, signal);
  await closers.closeAll(log);
  printError(`${count} events from ${report.transactions} transactions`);
}

/** The end of the replay. Until then, a terminal shows how far it is. */
async function finished({ chain, recording, finished: end }: ReplayNode): ReplayNode['finished'] {
  const { length } = recording.records;
  let played = 0;
  const unlisten = chain.listen({ onFrozen: ({ transactions }) => void (played += transactions.length) });
  const stop = showProgress(() => (played === 0 ? 'waiting for a client to subscribe' : `replayed ${played} of ${length} transactions`));
  try {
    return await end;
  } finally {
    stop();
    unlisten();
  }
}

/** Plays the recording to a source in this process. The node still answers the RPC requests of ingest. */
function playbackOf({ chain }: ReplayNode): Playback {
  return {
    start: (listener) => {
      chain.listen({
        onFrozen: ({ slot, parentSlot, transactions }) =>
          listener.onBlock({ slot, parentSlot, transactions: transactions.map(recordedTransaction) }),
        onConfirmed: (slot) => listener.onConfirmed(slot),
      });
      chain.start();
    },
    stop: () => chain.stop(),
  };
}

function recordedTransaction(record: TransactionRecord): RecordedTransaction {
  const { signature, err, logs, slot, blockTime } = record;
  const encoded = encodeTransaction(record, 'json', 1);
  const answer = encoded.ok ? { slot, blockTime: blockTime > 0 ? blockTime : null, ...Object(encoded.value) } : null;
  return { signature, hasFailed: err !== null, logs, answer };
}

/** Resolves when no event waits in ingest and none came for a while. */
function whenQuiet(ingest: Ingest, count: () => number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let last = -1;
    let quietSinceMs = performance.now();
    const timer = setInterval(() => {
      const { pipeline, publisher } = ingest.stats();
      const isBusy = pipeline.waiting > 0 || publisher.buffered > 0 || count() !== last;
      last = count();
      if (isBusy) quietSinceMs = performance.now();
      if (!signal.aborted && performance.now() - quietSinceMs < quietMs) return;
      clearInterval(timer);
      resolve();
    }, checkEveryMs);
  });
}
