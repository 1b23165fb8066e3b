import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startVirtualTime } from '../support/virtual-time.ts';
import { RpcAccountReader } from '@sluice/gateway/reads/chain/rpc-account-reader.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { address, alice, launch, quietChain } from '../simnet/support/test-chain.ts';
import { ScriptedNode, type NodeAccount } from './harness.ts';

const chain = quietChain();
const mint = launch(chain);
const some = (count: number, from = 0): string[] => Array.from({ length: count }, (_, index) => address(`account ${from + index}`));

function reading(newestSlot = Number.MAX_SAFE_INTEGER): { node: ScriptedNode; reader: RpcAccountReader } {
  const node = new ScriptedNode(chain);
  return { node, reader: new RpcAccountReader([node], { newestSlot: () => newestSlot, signal: new AbortController().signal }) };
}

interface Lied {
  readonly delayMs: number;
  /** Lamports of the one requested account. */
  readonly lamports: number | null;
  readonly slot: number;
}

/** The result of a reader for endpoints that each report this; null for an endpoint that fails. */
async function voted(...nodes: readonly (Lied | null)[]) {
  const asked: number[] = [];
  const endpoints = nodes.map((node, index) => ({
    call: async () => {
      asked.push(index);
      if (node === null) throw new RpcError('unreachable', 0, 'unavailable');
      await pause(node.delayMs);
      const account = { owner: systemProgram, lamports: node.lamports, data: ['', 'base64'], executable: false };
      return { context: { slot: node.slot }, value: [node.lamports === null ? null : account] };
    },
  }));
  const reader = new RpcAccountReader(endpoints, { newestSlot: () => 1_000, oldestSlot: () => 90, signal: new AbortController().signal });
  const { accounts, slot, lastSlot, aloneBy } = await reader.read([address('one')]);
  const { alone, contradicted } = reader.counters;
  return {
    lamports: accounts[0] === null ? null : Number(accounts[0]!.lamports),
    slot,
    lastSlot,
    aloneBy,
    alone,
    contradicted,
    asked: asked.length,
  };
}

describe('an account that one endpoint lies about', () => {
  const honest = (delayMs: number, slot = 100): Lied => ({ delayMs, lamports: 500, slot });
  const lie = (delayMs: number, slot = 100): Lied => ({ delayMs, lamports: 900, slot });
  let endTime: () => void;
  beforeEach(() => (endTime = startVirtualTime()));
  afterEach(() => endTime());

  it('has the state that two of three report, however fast the lie and however late the truth', async () => {
    for (const delayMs of [0, 200, 400]) {
      for (const nodes of [
        [lie(0), honest(delayMs), honest(delayMs)],
        [honest(delayMs), lie(0), honest(delayMs)],
        [honest(delayMs), honest(delayMs), lie(0)],
      ]) {
        expect(await voted(...nodes)).toMatchObject({ lamports: 500, aloneBy: null, contradicted: 0 });
      }
    }
    expect(await voted({ delayMs: 0, lamports: null, slot: 100 }, honest(50), honest(60))).toMatchObject({ lamports: 500, aloneBy: null });
  });

  it('is not dated ahead by one endpoint: two must have reached its slot', async () => {
    expect(await voted(honest(0, 131), honest(10, 100))).toMatchObject({ slot: 100, lastSlot: 131, aloneBy: null });
  });

  it('is not dated ahead by one either if an account that is read with it differs at each endpoint', async () => {
    const endpoints = [131, 100, 101].map((slot) => ({
      call: async () => {
        const accountOf = (lamports: number) => ({ owner: systemProgram, lamports, data: ['', 'base64'], executable: false });
        return { context: { slot }, value: [accountOf(500), accountOf(slot)] };
      },
    }));
    const reader = new RpcAccountReader(endpoints, { newestSlot: () => 1_000, signal: new AbortController().signal });
    const [still, moving] = await Promise.all([reader.read([address('still')]), reader.read([address('moving')])]);
    expect(still).toMatchObject({ slot: 101, aloneBy: null });
    expect(moving).toMatchObject({ slot: 131, lastSlot: 131, aloneBy: 0 });
  });

  it('is marked if no second endpoint reports the same', async () => {
    expect(await voted(lie(0))).toMatchObject({ lamports: 900, aloneBy: 0 });
    expect(await voted(lie(0), honest(50))).toMatchObject({ contradicted: 1, aloneBy: expect.any(Number) });
    expect(await voted(lie(0), null)).toMatchObject({ lamports: 900, aloneBy: 0, alone: 1 });
    expect(await voted(null, lie(0), honest(20))).toMatchObject({ contradicted: 1 });
  });

  it('is not requested from a third endpoint if two agree, but is if one does not answer', async () => {
    expect(await voted(honest(0), honest(5), honest(0))).toMatchObject({ asked: 2 });
    expect(await voted(null, honest(5), honest(0))).toMatchObject({ asked: 3, aloneBy: null });
  });
});

describe('account reader', () => {
  it('returns the state of the chain, in the order of the addresses, with slot and time', async () => {
    const { reader } = reading();
    const beforeMs = performance.now();
    const { slot, askedAtMs, accounts } = await reader.read([mint, address('nobody'), alice.publicKey, mint]);
    expect(slot).toBe(chain.slot);
    expect(askedAtMs).toBeGreaterThanOrEqual(beforeMs);
    const held = chain.account(mint)!;
    expect(accounts[0]).toEqual({ ...held, data: Buffer.from(held.data) });
    expect(accounts[1]).toBeNull();
    expect(accounts[2]!.lamports).toBe(chain.account(alice.publicKey)!.lamports);
    expect(accounts[3]).toEqual(accounts[0]);
  });

  it('combines all reads of one turn into one call, with each address once, and splits none', async () => {
    const { node, reader } = reading();
    await Promise.all([reader.read([mint]), reader.read([mint, ...some(3)]), reader.read(some(60)), reader.read(some(60, 60))]);
    expect(node.asked.map((asked) => asked.length)).toEqual([61, 60]);
    expect(new Set(node.asked.flat()).size).toBe(node.asked.flat().length);
  });

  it('shares the answer of a running call that includes the addresses', async () => {
    const { node, reader } = reading();
    const first = reader.read([mint, ...some(5)]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(node.calls).toBe(1);
    const [one, two] = await Promise.all([first, reader.read([mint])]);
    expect(two.accounts[0]).toBe(one.accounts[0]);
    expect(two.askedAtMs).toBe(one.askedAtMs);
    expect(node.calls).toBe(1);
    await reader.read([mint]);
    expect(node.calls).toBe(2);
  });

  it('refuses reads beyond its bound, and serves the others', async () => {
    const { node, reader } = reading();
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => reader.read(some(100, index * 100))));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(200 - 128);
    expect((refused[0] as PromiseRejectedResult).reason).toBeInstanceOf(RpcError);
    expect(reader.counters).toMatchObject({ calls: 128, refused: 72, failures: 0 });
    expect(node.calls).toBe(128);
    await expect(reader.read(some(101))).rejects.toThrow(RangeError);
  });

  it('passes a failure to every read of the call, and asks again the next time', async () => {
    const { node, reader } = reading();
    node.unavailable = true;
    for (const { status } of await Promise.allSettled([reader.read([mint]), reader.read([mint])])) expect(status).toBe('rejected');
    expect(reader.counters).toMatchObject({ calls: 1, failures: 1 });
    node.unavailable = false;
    expect((await reader.read([mint])).accounts[0]).not.toBeNull();
  });

  it('accepts no answer that is incomplete or not in the documented form', async () => {
    const lies: Record<string, (answer: { context: unknown; value: unknown[] }) => unknown> = {
      'no object': () => 'yes',
      'no context': ({ value }) => ({ value }),
      'an invalid slot': (answer) => ({ ...answer, context: { slot: '5' } }),
      'a negative slot': (answer) => ({ ...answer, context: { slot: -1 } }),
      'a slot beyond the chain’s': (answer) => ({ ...answer, context: { slot: 1_000_001 } }),
      'one account too few': (answer) => ({ ...answer, value: answer.value.slice(1) }),
      'one too many': (answer) => ({ ...answer, value: [...answer.value, null] }),
      'no list': (answer) => ({ ...answer, value: {} }),
      'an account that is a text': (answer) => ({ ...answer, value: ['account', null] }),
    };
    const wrong = (change: Partial<Record<keyof NodeAccount, unknown>>) => (answer: { context: unknown; value: unknown[] }) => ({
      ...answer,
      value: [{ ...(answer.value[0] as NodeAccount), ...change }, null],
    });
    lies['an owner that is not an address'] = wrong({ owner: 'me' });
    lies['negative lamports'] = wrong({ lamports: -1 });
    lies['lamports that are not an integer'] = wrong({ lamports: 1.5 });
    lies['another encoding'] = wrong({ data: ['AA==', 'base58'] });
    lies['data that is a text'] = wrong({ data: 'AA==' });
    lies['no executable'] = wrong({ executable: undefined });
    for (const [what, lie] of Object.entries(lies)) {
      const { node, reader } = reading(1_000_000);
      node.answerLie = (answer) => lie(answer as { context: unknown; value: unknown[] });
      await expect(reader.read([mint, address('nobody')]), what).rejects.toMatchObject({ kind: 'malformed' });
    }
  });
});
