import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRedis } from '../support/servers/redis.ts';
import { startProxy } from './bus-proxy.ts';

/** A connection to Redis that can be held: no byte passes until it is released. */
export interface HeldWay {
  readonly url: string;
  hold(): void;
  letGo(): void;
  close(): Promise<void>;
}

export async function heldWay(redis: TestRedis): Promise<HeldWay> {
  let opened = Promise.resolve();
  let letGo = (): void => {};
  const proxy = await startProxy(redis.port, () => opened);
  return {
    url: proxy.url,
    hold: () => {
      opened = new Promise((resolve) => {
        letGo = resolve;
      });
      proxy.cut();
    },
    letGo: () => letGo(),
    close: () => {
      letGo();
      return proxy.close();
    },
  };
}

/** The append-only file, which can be truncated: as after a power failure, or on a replica that lagged. */
export interface RedisFile {
  readonly size: number;
  cutTo(size: number): void;
}

export async function fileOf(redis: TestRedis): Promise<RedisFile> {
  const folder = join((await redis.command('CONFIG', 'GET', 'dir')).split('\r\n')[4]!, 'appendonlydir');
  const path = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.incr.aof'))!,
  );
  return {
    get size() {
      return statSync(path).size;
    },
    cutTo: (size) => truncateSync(path, size),
  };
}
