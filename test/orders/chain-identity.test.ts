import { chainForOrder, watchChainIdentity, type ChainIdentity } from '../../trading/src/nodes/chain-identity.ts';
import { createSendNodes } from '../../trading/src/nodes/nodes.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { startScriptedNode, type Answer, type ScriptedNode } from '../ingest/scripted-node.ts';
import { genesisHashOf } from '../simnet/ledger/genesis-hash.ts';
import { fastClock } from '../support/clocks.ts';
import { until } from '../support/gateway.ts';

const [ours, other] = [genesisHashOf('ours'), genesisHashOf('other')];
const unhealthy: Answer = { error: { code: -32005, message: 'Node is unhealthy' } };
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Watched {
  readonly identity: ChainIdentity;
  readonly nodes: readonly ScriptedNode[];
  /** Names of the logged events. */
  readonly logged: readonly string[];
  readonly life: AbortController;
}

const says = (answer: Answer) => (): Answer => answer;

/** A world whose nodes give these answers to `getGenesisHash`. */
async function watched(...answers: readonly Answer[]): Promise<Watched> {
  const nodes: ScriptedNode[] = [];
  for (const answer of answers) {
    const node = await startScriptedNode();
    node.onCall = says(answer);
    closers.push(() => node.close());
    nodes.push(node);
  }
  const logged: string[] = [];
  const life = new AbortController();
  closers.push(async () => life.abort());
  const note = (_data: unknown, event?: string): void => void logged.push(event ?? '');
  const identity = watchChainIdentity({
    nodes: createSendNodes(nodes.map(({ httpUrl }) => httpUrl)),
    log: { info: note, warn: note, error: note },
    clock: fastClock(50),
    signal: life.signal,
  });
  return { identity, nodes, logged, life };
}

/** Waits until every node was asked this often. */
async function asked(nodes: readonly ScriptedNode[], times: number): Promise<void> {
  await until(`${times} rounds`, () => nodes.every(({ calls }) => calls.length >= times));
}

describe('the chain of the nodes', () => {
  it('is known when they report it, and orders are made on it', async () => {
    const { identity, logged } = await watched({ result: ours }, { result: ours });
    expect(chainForOrder(identity)).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE', retryAfterSeconds: 1 });
    expect(await identity.known).toBe(ours);
    expect(chainForOrder(identity)).toEqual({ kind: 'known', genesisHash: ours });
    expect(logged).toEqual(['chain_known']);
  });

  it('is that of the nodes that answer', async () => {
    const { identity } = await watched(unhealthy, { result: ours });
    expect(await identity.known).toBe(ours);
  });

  it('is unknown while none reports a valid hash, which is logged once; the question is repeated', async () => {
    const { identity, nodes, logged } = await watched(unhealthy, { result: 'ours' });
    await asked(nodes, 2);
    expect(identity.status).toEqual({ kind: 'unknown' });
    expect(chainForOrder(identity)).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE', retryAfterSeconds: 1 });
    expect(logged).toEqual(['chain_unknown']);
    nodes[0]!.onCall = says({ result: ours });
    expect(await identity.known).toBe(ours);
  });

  it('is unknown while they contradict each other, which is logged once', async () => {
    const { identity, nodes, logged } = await watched({ result: ours }, { result: other });
    await asked(nodes, 3);
    expect(identity.status).toEqual({ kind: 'contradicted' });
    expect(chainForOrder(identity)).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE', retryAfterSeconds: 1 });
    expect(logged).toEqual(['chain_contradicted']);
    nodes[1]!.onCall = says({ result: ours });
    expect(await identity.known).toBe(ours);
  });

  it('is that of two of three, and the third is reported once', async () => {
    const { identity, nodes, logged } = await watched({ result: other }, { result: ours }, { result: ours });
    expect(await identity.known).toBe(ours);
    await asked(nodes, 1);
    expect(chainForOrder(identity)).toEqual({ kind: 'known', genesisHash: ours });
    expect(logged).toEqual(['chain_contradicted', 'chain_known']);
  });

  it('does not change: if another chain is behind the address, no order is made there', async () => {
    const { identity, nodes, logged } = await watched({ result: ours });
    expect(await identity.known).toBe(ours);
    nodes[0]!.onCall = says({ result: other });
    await until('the contradiction', () => identity.status.kind === 'contradicted');
    expect(chainForOrder(identity)).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE' });
    nodes[0]!.onCall = says({ result: ours });
    await until('the agreement', () => identity.status.kind === 'known');
    expect(logged).toEqual(['chain_known', 'chain_contradicted']);
  });

  it('is reported to no caller that still waits when it ends', async () => {
    const { identity, life } = await watched(unhealthy);
    life.abort();
    expect(await identity.known).toBeNull();
  });
});
