import { afterEach, describe, expect, it } from 'vitest';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { keepTransactions } from '@sluice/shared/solana/rpc/answers/keep-transactions.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { eventCpiTag } from '@sluice/venues/pump/curve/program.ts';
import { BlocksSource } from '../../ingest/src/sources/blocks/blocks-source.ts';
import type { Sighting } from '../../ingest/src/sources/sighting.ts';
import { fastClock } from '../support/clocks.ts';
import { until } from '../support/until.ts';
import { createHarness, recordingLog } from './harness.ts';
import { dataLine, invoked } from './log-frames.ts';
import { pumpProgram, signatureOf } from './pump-frames.ts';
import { logsSighting } from './sightings.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';

type Item = Record<string, unknown>;

let ended = new AbortController();
afterEach(() => {
  ended.abort();
  ended = new AbortController();
});

const trade = (name: string): Item => ({ ...wholeTransaction(signatureOf(name), [curveBuy()]) });
const blockOf = (bank: string, transactions: readonly unknown[], parentSlot = 99): Item => ({
  blockhash: bank,
  parentSlot,
  blockTime: 1_791_485_999,
  transactions,
});

/** An endpoint that has confirmed slot 100. Blocks are filtered as the thread that parses them does. */
function endpoint(answer: () => Item | RpcError, tip = (): number => 100): { readonly rpc: Rpc; readonly asked: string[] } {
  const asked: string[] = [];
  const call: Rpc['call'] = async (method, params, _signal, _accept, keep, reader) => {
    if (method === 'getSlot') return tip();
    const { transactionDetails } = params[1] as { readonly transactionDetails: string };
    asked.push(transactionDetails);
    const given = answer();
    if (given instanceof RpcError) throw given;
    const result = structuredClone(given);
    (reader?.read ?? keepTransactions)({ result }, keep ?? new Set([pumpProgram]));
    return result;
  };
  return { rpc: { call }, asked };
}

interface Reported {
  readonly sightings: Sighting[];
  readonly blocks: { readonly slot: number; readonly signatures: readonly string[] }[];
  readonly slots: (readonly [slot: number, parent: number | null])[];
  readonly confirmed: (readonly [endpoint: number, slot: number])[];
  readonly failed: string[];
  resumed: number;
}

function start(rpcs: readonly Rpc[]): { readonly source: BlocksSource; readonly reported: Reported } {
  const reported: Reported = { sightings: [], blocks: [], slots: [], confirmed: [], failed: [], resumed: 0 };
  const source = new BlocksSource({ rpcs, programs: [pumpProgram], clock: fastClock(20), log: recordingLog([]) });
  source.start(
    {
      isRepeat: () => false,
      failed: (signature) => void reported.failed.push(signature),
      sighting: (sighting) => void reported.sightings.push(sighting),
      account: () => undefined,
      slot: (slot, parent) => void reported.slots.push([slot, parent]),
      block: (slot, { signatures }) => void reported.blocks.push({ slot, signatures: [...signatures] }),
      confirmedSlot: (index, slot) => void reported.confirmed.push([index, slot]),
      resumed: () => void reported.resumed++,
    },
    ended.signal,
  );
  return { source, reported };
}

describe('a confirmed block', () => {
  it('shows the successful transactions of the programs, whole, and lists all signatures', async () => {
    const foreign = {
      ...trade('foreign'),
      transaction: { ...(trade('foreign')['transaction'] as object), message: { accountKeys: ['x'] } },
    };
    // SIMD-0290: in the block, not executed, without fee and logs.
    const unpaid = { ...trade('unpaid'), meta: { err: 'InvalidAccountForFee', fee: 0, logMessages: null, innerInstructions: null } };
    const failed = { ...trade('failed'), meta: { ...(trade('failed')['meta'] as object), err: { InstructionError: [0, { Custom: 1 }] } } };
    const bare = { ...trade('bare'), meta: null };
    const block = blockOf('hash', [foreign, trade('one'), unpaid, failed, bare, trade('one'), trade('two')]);
    const { rpc } = endpoint(() => block);
    const { reported, source } = start([rpc]);
    await until('it is reported', () => reported.blocks.length === 1);
    expect(reported.sightings.map(({ signature, slot, commitment, kind }) => [signature, slot, commitment, kind])).toEqual(
      // The router knows what is a repeat.
      ['one', 'one', 'two'].map((name) => [signatureOf(name), 100, 'confirmed', 'whole']),
    );
    const names = ['foreign', 'one', 'unpaid', 'failed', 'bare', 'two'];
    expect(reported.blocks).toEqual([{ slot: 100, signatures: names.map(signatureOf) }]);
    expect(reported.slots).toEqual([[100, 99]]);
    expect(reported.confirmed).toEqual([[0, 100]]);
    expect(reported.failed).toEqual(['unpaid', 'failed'].map(signatureOf));
    // `bare` names the program, but shows nothing.
    expect(source.health().counts.malformed).toBe(1);
    const { decoder } = createHarness().pipeline;
    expect(reported.sightings.map((sighting) => decoder.read(sighting).kind)).toEqual(['read', 'read', 'read']);
  });

  it.each([
    ['a false hash', (): Item => blockOf('false', [trade('one')])],
    ['fewer transactions', (): Item => blockOf('hash', [])],
    ['more transactions', (): Item => blockOf('hash', [trade('one'), trade('invented')])],
    ['no block', (): RpcError => new RpcError('answer', -32_007, 'Slot was skipped')],
    ['something else', (): Item => ({ blockhash: 'hash', parentSlot: 'x', transactions: [null, 1, {}] })],
  ])('that one of three endpoints shows with %s is read from another one', async (_what, lie) => {
    const honest = (): Item => blockOf('hash', [trade('one')]);
    const { reported } = start([endpoint(honest).rpc, endpoint(lie).rpc, endpoint(honest).rpc]);
    await until('it is reported', () => reported.blocks.length === 1);
    expect(reported.sightings.map(({ signature }) => signature)).toEqual([signatureOf('one')]);
    expect(reported.blocks[0]!.signatures).toEqual([signatureOf('one')]);
  });

  it('about which two endpoints contradict each other is not reported, and counts as a hole', async () => {
    const one = endpoint(() => blockOf('hash', [trade('one')]));
    const other = endpoint(() => blockOf('other', [trade('one')]));
    const { reported, source } = start([one.rpc, other.rpc]);
    await until('it is given up', () => source.health().holes === 1);
    expect(reported.sightings).toEqual([]);
    expect(reported.confirmed).toEqual([]);
  });

  it('that no endpoint serves leaves the source blind, and is not requested again and again', async () => {
    const node = endpoint(() => new RpcError('answer', -32_601, 'Method not found'));
    const { reported, source } = start([node.rpc]);
    await until('it is a hole', () => source.health().holes === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(node.asked).toHaveLength(1);
    expect(source.health()).toMatchObject({ endpointsUp: 0, slot: 0 });
    expect(reported).toMatchObject({ sightings: [], blocks: [], confirmed: [] });
  });

  it('that is far behind the chain is left to the comparison with the records of nodes', async () => {
    let tip = 100;
    const { rpc } = endpoint(
      () => blockOf('hash', []),
      () => tip,
    );
    const { reported, source } = start([rpc]);
    await until('the first is reported', () => reported.blocks.length === 1);
    tip = 1_000;
    await until('the newest is reported', () => reported.blocks.at(-1)!.slot === 1_000);
    expect(reported.blocks.map(({ slot }) => slot)).toEqual([100, ...Array.from({ length: 65 }, (_, index) => 936 + index)]);
    expect([source.health().holes, reported.resumed]).toEqual([835, 1]);
  });
});

it('an event at a depth of eight calls has the same id in logs and in the whole transaction', async () => {
  const event = curveBuy();
  const signature = signatureOf('deep');
  const answer = wholeTransaction(signature, [event]);
  const call = { programIdIndex: 1, accounts: [0], data: '' };
  const calls = [2, 3, 4, 5, 6, 7].map((stackHeight) => ({ ...call, stackHeight }));
  const emitted = { programIdIndex: 1, accounts: [2], data: encodeBase58(Buffer.concat([eventCpiTag, event])), stackHeight: 8 };
  const whole = { ...answer, meta: { ...answer.meta, innerInstructions: [{ index: 0, instructions: [...calls, emitted] }] } };
  const { rpc } = endpoint(() => blockOf('hash', [whole]));
  const { reported } = start([rpc]);
  const nested = [8, 7, 6, 5, 4, 3, 2].reduce<string[]>(
    (lines, depth) => invoked(pumpProgram, depth, depth === 7 ? [dataLine(event), ...lines] : lines),
    [],
  );
  const logs = logsSighting({ signature, slot: 100, logs: invoked(pumpProgram, 1, nested), receivedUs: 1 });
  const { decoder } = createHarness().pipeline;
  const pathsOf = (sighting: Sighting): unknown => {
    const reading = decoder.read(sighting);
    return reading.kind === 'read' ? reading.transaction.events.map(({ path }) => path) : reading.kind;
  };
  await until('the block is read', () => reported.sightings.length === 1);
  const paths = pathsOf(logs);
  expect(paths).toHaveLength(1);
  expect(pathsOf(reported.sightings[0]!)).toEqual(paths);
});
