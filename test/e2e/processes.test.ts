import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { sluice, startProgram } from '../support/command-line.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';

const waitMs = 60_000;
let folder: string;
let redis: TestRedis;
const children: ChildProcess[] = [];
const sockets: WebSocket[] = [];
/** What the processes of a test wrote to their logs. */
let logged = '';

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-processes-'));
  redis = await startRedis();
  logged = '';
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a process and resolves with the first match in its output. */
function startUntil(program: string, args: readonly string[], env: Readonly<Record<string, string>>, pattern: RegExp): Promise<string> {
  const child = startProgram(program, args, { folder, env });
  children.push(child);
  return new Promise((resolve, reject) => {
    let output = '';
    const onText = (text: string): void => {
      output += text;
      const found = pattern.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout?.setEncoding('utf8').on('data', onText);
    child.stderr?.setEncoding('utf8').on('data', onText);
    child.stderr?.on('data', (text: string) => (logged += text));
    child.on('close', (code) => reject(new Error(`${program} ended with ${code}: ${output}`)));
  });
}

type Message = Readonly<Record<string, unknown>>;

/** A raw socket: the tests compare the numbers of the frames. */
function subscribe(url: string, key: string): Message[] {
  const messages: Message[] = [];
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/data`, { headers: { authorization: `Bearer ${key}` } });
  sockets.push(socket);
  socket.on('open', () => {
    for (const channel of ['trades', 'newTokens']) socket.send(JSON.stringify({ id: channel, op: 'subscribe', channel }));
  });
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString('utf8')) as Message));
  return messages;
}

function trades(messages: readonly Message[]): readonly { readonly seq: number; readonly id: string }[] {
  return messages
    .filter((message) => message['topic'] === 'trades')
    .map((message) => ({ seq: Number(message['seq']), id: (message['data'] as { readonly id: string }).id }));
}

describe('ingest and gateway as separate processes', () => {
  it('give the same stream on two gateways, from any node that speaks JSON-RPC and PubSub', async () => {
    const rpcUrl = await startUntil('cli/sluice.ts', ['simnet', '--port', '0', '--trades-per-second', '30'], {}, /SOLANA_RPC_URL=(\S+)/);
    const env = { REDIS_URL: redis.url, SOLANA_RPC_URL: rpcUrl, PORT: '0' };
    const started = /"url":"([^"]+)","msg":"listening"/;
    const [first, second] = await Promise.all([
      startUntil('cli/gateway.ts', [], env, started),
      startUntil('cli/gateway.ts', [], env, started),
      startUntil('ingest/src/main.ts', [], env, /"(ingest_started)"/),
    ]);
    const created = await sluice(['keys', 'create', '--plan', 'premium', '--json'], { folder });
    const { id, key } = JSON.parse(created.stdout) as { readonly id: string; readonly key: string };

    const [one, two] = [subscribe(first, key), subscribe(second, key)];
    await vi.waitFor(() => expect(Math.min(trades(one).length, trades(two).length)).toBeGreaterThan(50), { timeout: waitMs, interval: 50 });
    const seqs = trades(one).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index));
    const idsOnSecond = new Map(trades(two).map((trade) => [trade.seq, trade.id]));
    const shared = trades(one).filter(({ seq }) => idsOnSecond.has(seq));
    expect(shared.length).toBeGreaterThan(20);
    for (const { seq, id: eventId } of shared) expect(idsOnSecond.get(seq)).toBe(eventId);
    expect(new Set(trades(one).map((trade) => trade.id)).size).toBe(trades(one).length);

    // The native server itself writes what it takes for a fault there.
    expect(logged).not.toContain('uWS');

    const doctor = await sluice(['doctor', '--json'], { folder, env: { ...env, PORT: new URL(first).port } });
    const report = JSON.parse(doctor.stdout) as {
      readonly ok: boolean;
      readonly checks: readonly { readonly name: string; readonly state: string }[];
    };
    // `warn` is for slow operations, as on a busy machine.
    expect(report.checks.filter(({ state }) => state === 'fail')).toEqual([]);
    for (const name of ['rpc', 'pubsub', 'ingest', 'gateway'])
      expect(report.checks).toContainEqual(expect.objectContaining({ name, state: 'ok' }));

    await sluice(['keys', 'revoke', id], { folder });
    await vi.waitFor(() => expect(sockets.map((socket) => socket.readyState)).toEqual([WebSocket.CLOSED, WebSocket.CLOSED]), {
      timeout: 60_000,
      interval: 20,
    });
  });

  it('tell clients by the heartbeats that a node or ingest has stopped', async () => {
    const rpcUrl = await startUntil('cli/sluice.ts', ['simnet', '--port', '0'], {}, /SOLANA_RPC_URL=(\S+)/);
    const env = { REDIS_URL: redis.url, SOLANA_RPC_URL: rpcUrl, PORT: '0' };
    const url = await startUntil('cli/gateway.ts', [], env, /"url":"([^"]+)","msg":"listening"/);
    await startUntil('ingest/src/main.ts', [], env, /"(ingest_started)"/);
    const [simnet, , ingest] = children;
    const created = await sluice(['keys', 'create', '--plan', 'premium', '--json'], { folder });
    const messages = subscribe(url, (JSON.parse(created.stdout) as { readonly key: string }).key);
    const ages = (): readonly unknown[] => messages.filter(({ op }) => op === 'heartbeat').map(({ slotAgeMs }) => slotAgeMs);
    const isSilent = (age: unknown): boolean => typeof age === 'number' && age > 2_000;
    const isCurrent = (age: unknown): boolean => typeof age === 'number' && age <= 2_000;
    const last = async (fits: (age: unknown) => boolean): Promise<void> =>
      vi.waitFor(() => expect(ages().at(-1)).toSatisfy(fits), { timeout: waitMs, interval: 50 });
    await last(isCurrent);
    for (const stopped of [simnet!, ingest!]) {
      // Of ingest, the last report remains on the bus for some time, and says that its slot was new.
      stopped.kill('SIGSTOP');
      await last(isSilent);
      stopped.kill('SIGCONT');
      await last(isCurrent);
    }
  });

  it('refuse to start without the bus and the chain they need', async () => {
    await expect(startUntil('ingest/src/main.ts', [], {}, /"(ingest_started)"/)).rejects.toThrow(
      /ended with 1.*SOLANA_RPC_URL.*REDIS_URL/s,
    );
    await expect(startUntil('cli/gateway.ts', [], { TRADING: 'x' }, /"(listening)"/)).rejects.toThrow(/ended with 1.*TRADING/s);
  });
});
