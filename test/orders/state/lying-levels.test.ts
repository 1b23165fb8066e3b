import { rentOf } from '../../../trading/src/state/chain/rent.ts';
import { HotState } from '../../../trading/src/state/hot-state.ts';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import { blockhashLifetime } from '../../../trading/src/state/chain/blockhashes.ts';
import { rentSysvar } from '@sluice/shared/solana/well-known.ts';
import { venues } from '@sluice/venues/registry.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordingLog } from '../../ingest/harness.ts';
import { accountJson, startScriptedNode, type ScriptedNode } from '../../ingest/scripted-node.ts';
import { address } from '../../simnet/support/test-chain.ts';
import { startVirtualTime } from '../../support/virtual-time.ts';

/** What a node reports about rent (lamports for each byte) and the fees that others pay (micro-lamports for each compute unit). */
interface Levels {
  readonly rentPerByte: number;
  readonly fee: number;
}

const truth: Levels = { rentPerByte: 5_080, fee: 700 };
/** Far too much, and nothing. */
const lies: readonly Levels[] = [
  { rentPerByte: 900_000_000, fee: 19_000_000 },
  { rentPerByte: 0, fee: 0 },
];
/** An account without data: 128 bytes. */
const trueRent = 128n * BigInt(truth.rentPerByte);
/** In virtual time, which waits for answers on a slow machine too. */
const observedMs = 2_000;

const closers: (() => Promise<void>)[] = [];
let endTime: () => void;
beforeEach(() => {
  endTime = startVirtualTime();
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  endTime();
});

/** In the form of the Rent sysvar. */
function rentAccount({ rentPerByte }: Levels): unknown {
  const data = Buffer.alloc(17);
  data.writeBigUInt64LE(BigInt(rentPerByte), 0);
  data.writeDoubleLE(1, 8);
  return accountJson('Sysvar1111111111111111111111111111111111111', data);
}

/** A node that reports this over HTTP, and repeatedly over PubSub, after `delayMs`. */
async function startNode(levels: Levels, delayMs: number): Promise<ScriptedNode> {
  const node = await startScriptedNode();
  node.onCall = async (method, params) => {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const context = { slot: node.slot };
    switch (method) {
      case 'getSlot':
        return { result: node.slot };
      case 'getLatestBlockhash':
        return { result: { context, value: { blockhash: address('hash'), lastValidBlockHeight: node.slot + blockhashLifetime } } };
      case 'getRecentPrioritizationFees':
        return { result: [{ slot: node.slot, prioritizationFee: levels.fee }] };
      default:
        return { result: { context, value: (params[0] as string[]).map((one) => (one === rentSysvar ? rentAccount(levels) : null)) } };
    }
  };
  const timer = setInterval(() => {
    const result = { context: { slot: node.slot }, value: rentAccount(levels) };
    if (levels !== truth) node.notify('accountNotification', 'accountSubscribe', result, ([of]) => of === rentSysvar);
  }, 60);
  closers.push(() => {
    clearInterval(timer);
    return node.close();
  });
  return node;
}

/** Everything that was accepted while the state was checked. */
interface Believed {
  readonly rents: Set<bigint | null>;
  readonly fees: Set<bigint>;
}

async function believed(nodes: readonly ScriptedNode[]): Promise<Believed> {
  const state: HotState = new HotState({
    directory: new InProcessPoolDirectory(),
    httpUrls: nodes.map(({ httpUrl }) => httpUrl),
    wsUrls: nodes.map(({ wsUrl }) => wsUrl),
    venues,
    log: recordingLog([]),
    signal: new AbortController().signal,
  });
  const [rents, fees] = [new Set<bigint | null>(), new Set<bigint>()];
  const endMs = performance.now() + observedMs;
  while (performance.now() < endMs) {
    const rates = state.rent.rates;
    rents.add(rates === null ? null : rentOf(rates, 0));
    fees.add(state.fees.level([]));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  state.close();
  return { rents, fees };
}

/** What was accepted in each world: each endpoint in turn sends one of the lies at once, and the others are 200 ms late. */
async function withLiars<T>(endpoints: number, look: (seen: Believed, lie: Levels) => T): Promise<T[]> {
  const worlds = lies.flatMap((lie) => Array.from({ length: endpoints }, (_, place) => ({ lie, place })));
  return await Promise.all(
    worlds.map(async ({ lie, place }) => {
      const nodes: ScriptedNode[] = [];
      for (let i = 0; i < endpoints; i++) nodes.push(i === place ? await startNode(lie, 0) : await startNode(truth, 200));
      return look(await believed(nodes), lie);
    }),
  );
}

describe('rent and fees', () => {
  it('are those of two, even if the third reports others', async () => {
    const seen = await withLiars(3, ({ rents, fees }) => {
      // Nothing is known at first.
      rents.delete(null);
      fees.delete(0n);
      return [[...rents], [...fees]];
    });
    for (const one of seen) expect(one).toEqual([[trueRent], [BigInt(truth.fee)]]);
  });

  it('cannot be raised by one of two: rent is not accepted, and the lower fee is used', async () => {
    const seen = await withLiars(2, ({ rents, fees }, lie) => {
      fees.delete(0n);
      return { rents: [...rents], fees: [...fees], lower: Math.min(lie.fee, truth.fee) };
    });
    for (const { rents, fees, lower } of seen) expect([rents, fees]).toEqual([[null], lower === 0 ? [] : [BigInt(lower)]]);
  });

  it('are those of one of two if the other gives no answer', async () => {
    const nodes = [await startNode(truth, 0), await startNode(truth, 0)];
    nodes[1]!.onCall = () => ({ error: { code: -32603, message: 'Internal error' } });
    const { rents, fees } = await believed(nodes);
    expect([rents.has(trueRent), fees.has(BigInt(truth.fee))]).toEqual([true, true]);
  });
});
