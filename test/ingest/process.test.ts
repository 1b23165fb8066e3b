import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { decodedVenueNames } from '@sluice/shared/wire/venues.ts';
import { nodeArguments } from '../support/command-line.ts';
import { startRedis } from '../support/servers/redis.ts';
import { recordingLog } from './harness.ts';
import { until } from '../support/until.ts';
import { keyOf, signatureOf, tradeEventBytes } from './pump-frames.ts';
import { routedTradeLogs } from './log-frames.ts';
import { startScriptedNode } from './scripted-node.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Child {
  /** All of stderr so far. */
  text(): string;
  readonly lines: Record<string, unknown>[];
  readonly exit: Promise<unknown[]>;
  signal(name: NodeJS.Signals): void;
}

/** The ingest process with these settings and no others. */
function run(settings: Record<string, string>): Child {
  const env = { PATH: process.env['PATH'] ?? '', ...settings };
  const child = spawn(process.execPath, nodeArguments('ingest/src/main.ts'), {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
  });
  const lines: Record<string, unknown>[] = [];
  let rest = '';
  let all = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    all += text;
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part.startsWith('{')) lines.push(JSON.parse(part) as Record<string, unknown>);
  });
  const exit = once(child, 'close');
  closers.push(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exit;
  });
  return { text: () => all, lines, exit, signal: (name) => void child.kill(name) };
}

/** Names of the settings that the process reports before it ends. */
function faultsOf(child: Child): string[] {
  expect(child.text()).toMatch(/^These settings are wrong:$/m);
  return Array.from(child.text().matchAll(/^ {2}([A-Z_]+): /gm), ([, name]) => name!);
}

describe('the ingest process', () => {
  it('publishes a trade from a node to Redis, and ends at SIGTERM', async () => {
    const [redis, node] = [await startRedis(), await startScriptedNode()];
    closers.push(
      () => redis.stop(),
      () => node.close(),
    );
    const bus = await createBus({ redisUrls: [redis.url], log: recordingLog([]) });
    closers.push(() => bus.close());
    const events: StreamEvent[] = [];
    const subscriber = await bus.subscriber();
    await subscriber.start({
      onEntry: (entry) => void events.push(...eventsOfEntry(entry)),
      onLost: () => undefined,
    });
    const child = run({ REDIS_URL: redis.url, SOLANA_RPC_URL: node.httpUrl, SOLANA_WS_URL: node.wsUrl });
    await until('subscribed', () =>
      [...node.subscriptions.values()].some((subscriptions) => subscriptions.size === 16 + decodedVenueNames.length),
    );
    const event = tradeEventBytes({
      mint: keyOf('coin'),
      trader: keyOf('trader'),
      side: 'sell',
      solAmount: 5n,
      tokenAmount: 7n,
      virtualSol: 31_000_000_000n,
      virtualToken: 1_038_387_096_774_194n,
      timestamp: 1_791_485_924,
    });
    node.logs(signatureOf('a'), routedTradeLogs(event));
    await until('published', () => events.length === 2);
    expect(events.map(({ id }) => id)).toEqual([`${signatureOf('a')}:3.0`, `${signatureOf('a')}:3.0.price`]);
    child.signal('SIGTERM');
    expect(await child.exit).toEqual([0, null]);
    expect(child.lines.at(-1)).toMatchObject({ msg: 'ingest_ended' });
  });

  it('reports every wrong setting at once and does not start', async () => {
    const child = run({ LOG_LEVEL: 'loud', PORT: '99999' });
    expect(await child.exit).toEqual([1, null]);
    expect(faultsOf(child)).toEqual(expect.arrayContaining(['LOG_LEVEL', 'PORT']));
  });

  it('requires a chain and a bus', async () => {
    const child = run({});
    expect(await child.exit).toEqual([1, null]);
    expect(faultsOf(child)).toEqual(['SOLANA_RPC_URL', 'REDIS_URL']);
  });

  it('reports that Redis is unavailable, and ends', async () => {
    const child = run({ REDIS_URL: 'redis://127.0.0.1:1', SOLANA_RPC_URL: 'http://127.0.0.1:1' });
    expect(await child.exit).toEqual([1, null]);
    expect(child.text()).toMatch(/^REDIS_URL: Redis at 127\.0\.0\.1:1 cannot be reached/m);
  });
});
