import { bufferOf } from '@sluice/shared/codec/bytes.ts';
import { EventView } from '@sluice/shared/codec/event-view.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { nodeFlags } from '../../support/command-line.ts';
import { makeKey, openEmbeddedStore } from '../../support/keys.ts';
import { startRedis } from '../../support/servers/redis.ts';
import { leaveServerCore, startServer, type Server } from './stream-rig.ts';
import { end } from '../children.ts';

/** A server of the stream, and the function that sends events to it. */
export interface Subject {
  readonly server: Server;
  /** The address for clients. */
  readonly path: string;
  readonly publish: (entries: readonly BusEntry[]) => void;
  readonly stop: () => Promise<void>;
}

/** One Redis, one store with one key, and servers that start one after the other. */
export interface Stage {
  readonly key: string;
  /** With the product's flags of Node.js, or with others. */
  readonly startGateway: (flags?: readonly string[], settings?: NodeJS.ProcessEnv) => Promise<Subject>;
  /** The smallest forwarder; it receives the topic at this index of each entry. */
  readonly startReference: (topicAt: number) => Promise<Subject>;
}

const gatewayFlags = nodeFlags('cli/gateway.ts');

async function startReference(redisUrl: string, topicAt: number): Promise<Subject> {
  const server = await startServer('test/bench/reference/forward.ts', [redisUrl], {}, gatewayFlags);
  const redis = new Redis(redisUrl);
  return {
    server,
    path: '/',
    publish: (entries) => {
      const pipeline = redis.pipeline();
      for (const { topics, record } of entries) pipeline.publish(`bench:${topics[topicAt]}`, bufferOf(new EventView(record).json));
      void pipeline.exec();
    },
    stop: async () => {
      redis.disconnect();
      await end(server.process);
    },
  };
}

/** Runs a benchmark on its own stage, and removes the stage. */
export async function onStage<Result>(measure: (stage: Stage) => Promise<Result>): Promise<Result> {
  leaveServerCore();
  const redis = await startRedis();
  // A Redis of the tests does not keep a process alive, not even while it is being stopped.
  const awake = setInterval(() => undefined, 1_000);
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    const store = await openEmbeddedStore(dataDir);
    const { key } = await makeKey(store, { plan: 'enterprise', scopes: ['stream'], label: 'bench' });
    await store.close();
    const bus = await createBus({ redisUrls: [redis.url], log: createLog({ level: 'silent', name: 'bench' }) });
    const publisher = await bus.publisher();
    const env = { REDIS_URL: redis.url, DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info', TRADING: 'off' };
    const result = await measure({
      key,
      startGateway: async (flags = gatewayFlags, settings = {}) => {
        const server = await startServer('cli/gateway.ts', [], { ...env, ...settings }, flags);
        return {
          server,
          path: `/api/data?api-key=${key}`,
          publish: (entries) => void publisher.publish(entries),
          stop: () => end(server.process),
        };
      },
      startReference: (topicAt) => startReference(redis.url, topicAt),
    });
    await bus.close();
    return result;
  } finally {
    await redis.stop();
    clearInterval(awake);
    rmSync(dataDir, { recursive: true, force: true });
  }
}
