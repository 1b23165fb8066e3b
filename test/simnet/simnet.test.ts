import { describe, expect, it } from 'vitest';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { eventDiscriminators } from '@sluice/venues/pump/amm/program.ts';
import { connectPubSub } from './pubsub-client.ts';
import { startSimnet } from './simnet.ts';

interface LogsResult {
  readonly context: { readonly slot: number };
  readonly value: { readonly signature: string; readonly err: unknown; readonly logs: readonly string[] };
}

describe('startSimnet', () => {
  it('reports to a subscriber exactly what the oracle saw', async () => {
    const simnet = await startSimnet({ seed: 5, autoStart: false, market: { boostedShare: 0 } });
    const client = await connectPubSub(simnet.wsUrl);
    await client.call('logsSubscribe', 'all', { commitment: 'processed' });
    let transactions = 0;
    for (let slot = 0; slot < 60; slot++) transactions += simnet.chain.advance().transactions.length;
    await client.until(() => client.notifications.length === transactions);
    const received: string[] = [];
    for (const { result } of client.notifications) {
      const { value } = result as LogsResult;
      if (value.err !== null) continue;
      readLogs(value.logs, (programId, path, data) =>
        received.push(`${value.signature}:${path} ${programId} ${Buffer.from(data).toString('base64')}`),
      );
    }
    const truth = simnet.oracle.liveEvents().map(({ id, programId, data }) => `${id} ${programId} ${data}`);
    expect(truth.length).toBeGreaterThan(50);
    expect(received).toEqual(truth);
    client.close();
    await simnet.close();
  });

  it('remembers the events of a transaction whose log the runtime truncated', async () => {
    const simnet = await startSimnet({ seed: 7, autoStart: false, market: { completeEverySeconds: 12, boostedShare: 1 } });
    const blocks = Array.from({ length: 300 }, () => simnet.chain.advance());
    const cut = blocks.flatMap(({ transactions }) => transactions).find(({ err, logs }) => err === null && logs.includes('Log truncated'));
    if (cut === undefined) throw new Error('No log was cut.');
    const events = simnet.oracle.slot(cut.slot)?.transactions.find(({ signature }) => signature === cut.signature)?.events ?? [];
    const logged: unknown[] = [];
    readLogs(cut.logs, (programId, path, data) => logged.push({ programId, path, data: Buffer.from(data).toString('base64') }));
    expect(logged.length).toBeLessThan(events.length);
    expect(events).toEqual(expect.arrayContaining(logged));
    const boosts = events.filter(({ data }) => Buffer.from(data, 'base64').subarray(0, 8).equals(eventDiscriminators.initBoost));
    expect(boosts).toHaveLength(1);
    await simnet.close();
  });

  it('reports a fork as a node does: dead transactions are gone, and replayed ones are reported again', async () => {
    const simnet = await startSimnet({ seed: 6, autoStart: false });
    const client = await connectPubSub(simnet.wsUrl);
    await client.call('logsSubscribe', 'all', { commitment: 'processed' });
    const block = Array.from({ length: 60 }, () => simnet.chain.advance()).findLast(({ transactions }) => transactions.length > 0);
    const newest = simnet.chain.advance();
    const dead = simnet.control.fork({ slots: 1, replay: true });
    expect(dead).toEqual([newest.slot]);
    const again = simnet.chain.advance();
    expect(again.slot).toBeGreaterThan(newest.slot);
    const replayed = again.transactions.map(({ signature }) => signature);
    for (const { signature } of newest.transactions) expect(replayed).toContain(signature);
    expect(simnet.oracle.slot(newest.slot)?.dead).toBe(true);
    expect(block).toBeDefined();
    client.close();
    await simnet.close();
  });

  it('runs by itself, and ends when its signal aborts', async () => {
    const ending = new AbortController();
    const events: string[] = [];
    const note = (_data: object, event: string): void => void events.push(event);
    const simnet = await startSimnet({ seed: 'words', slotMs: 10, signal: ending.signal, log: { info: note, warn: note, error: note } });
    const client = await connectPubSub(simnet.wsUrl);
    await client.call('slotSubscribe');
    await client.until(() => client.notifications.length >= 5);
    ending.abort();
    await client.until(() => client.socket.readyState === client.socket.CLOSED);
    await simnet.close();
    expect(events).toEqual(['simnet_started', 'simnet_closed']);
    await expect(fetch(simnet.rpcUrl)).rejects.toThrow();
  });

  it('rejects a port that is in use', async () => {
    const simnet = await startSimnet({ market: false, autoStart: false });
    await expect(startSimnet({ market: false, autoStart: false, port: simnet.port })).rejects.toThrow('EADDRINUSE');
    await simnet.close();
  });
});
