import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { errorTable } from '@sluice/shared/wire/errors.ts';
import { until } from '../../support/gateway.ts';
import { makeKey, openEmbeddedStore } from '../../support/keys.ts';
import { startRedis } from '../../support/servers/redis.ts';
import { addressOf, entryOf, tradeEvent } from '../../support/events/stream-events.ts';
import type { BenchRow } from '../row.ts';
import { leaveServerCore, startServer } from './stream-rig.ts';
import { end } from '../children.ts';

/** More than one key may open. */
const sockets = 12_000;
const keys = 2;
const opensAtOnce = 100;
/** Each socket follows all trades. */
const publishEveryMs = 500;
const handOffWithinMs = 20_000;
const exitWithinMs = 30_000;

const code = errorTable.DRAINING.closeCode!;
/** A close frame with its code. Nothing else that the server sends contains these bytes. */
const closeFrame = Buffer.from([code >> 8, code & 0xff]);
/** A text frame whose mask is zero. */
const subscribe = '{"id":1,"op":"subscribe","channel":"trades"}';
const command = Buffer.concat([Buffer.from([0x81, 0x80 | subscribe.length, 0, 0, 0, 0]), Buffer.from(subscribe)]);

interface Ends {
  /** How many sockets were closed with the code, and how many in another way. */
  handedOff: number;
  lost: number;
  lastAtMs: number;
}

function open(port: number, key: string, ends: Ends): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let tail = Buffer.alloc(0);
    let isOpen = false;
    socket.on('error', (error) => (isOpen ? undefined : reject(error)));
    socket.on('data', (chunk: Buffer) => {
      tail = chunk.length >= 64 ? Buffer.from(chunk.subarray(-64)) : Buffer.concat([tail, chunk]).subarray(-64);
      if (isOpen) return;
      const head = chunk.toString('latin1', 0, 200);
      if (!head.startsWith('HTTP/1.1 101')) return reject(new Error(head));
      isOpen = true;
      socket.write(command);
      resolve(socket);
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      if (tail.includes(closeFrame)) ends.handedOff++;
      else ends.lost++;
      ends.lastAtMs = performance.now();
    });
    socket.on('connect', () =>
      socket.write(
        `GET /api/data HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      ),
    );
  });
}

/** SIGTERM to a gateway with many sockets that follow an active stream. */
export async function run(): Promise<readonly BenchRow[]> {
  leaveServerCore();
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-drain-'));
  const redis = await startRedis();
  const bus = await createBus({ redisUrls: [redis.url], log: createLog({ level: 'silent', name: 'bench' }) });
  const publisher = await bus.publisher();
  const store = await openEmbeddedStore(dataDir);
  const made = await Promise.all(Array.from({ length: keys }, () => makeKey(store, { plan: 'enterprise' })));
  await store.close();
  const env = { REDIS_URL: redis.url, DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', TRADING: 'off', LOG_LEVEL: 'info' };
  const gateway = await startServer('cli/gateway.ts', [], env);
  const entry = entryOf(tradeEvent(addressOf(1)));
  const publishing = setInterval(() => void publisher.publish([entry]), publishEveryMs);
  try {
    const ends: Ends = { handedOff: 0, lost: 0, lastAtMs: 0 };
    for (let at = 0; at < sockets; at += opensAtOnce)
      await Promise.all(Array.from({ length: opensAtOnce }, (_, i) => open(gateway.port, made[(at + i) % keys]!.key, ends)));
    const exited = once(gateway.process, 'exit');
    const beganMs = performance.now();
    gateway.process.kill('SIGTERM');
    const [exitCode] = (await exited) as [number | null];
    const exitMs = performance.now() - beganMs;
    await until('all sockets to be closed', () => ends.handedOff + ends.lost === sockets);
    const handOffMs = ends.lastAtMs - beganMs;
    const isGood = ends.handedOff === sockets && exitCode === 0 && handOffMs <= handOffWithinMs + 1_000 && exitMs <= exitWithinMs;
    return [
      {
        name: `Drain of ${sockets.toLocaleString('en')} sockets that follow a stream`,
        figure: `all handed off in ${(handOffMs / 1_000).toFixed(1)} s, exit after ${(exitMs / 1_000).toFixed(1)} s`,
        target: `≤ ${handOffWithinMs / 1_000} s, ≤ ${exitWithinMs / 1_000} s`,
        pass: isGood,
        note: `from SIGTERM; ${ends.handedOff} closed with ${code}, ${sockets - ends.handedOff} with another code; exit code ${exitCode}`,
      },
    ];
  } finally {
    clearInterval(publishing);
    await end(gateway.process);
    await publisher.close();
    await bus.close();
    await redis.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
