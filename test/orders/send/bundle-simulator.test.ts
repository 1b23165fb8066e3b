import { expect, it } from 'vitest';
import { nodeTextOf } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { transferLamports } from '@sluice/shared/solana/transaction/instructions.ts';
import { assembleTransaction, compileMessage } from '@sluice/shared/solana/transaction/transaction.ts';
import { BundleSimulator, type BundledTransaction } from '../../../trading/src/nodes/simulate/bundle-simulator.ts';
import { addressOf } from '../../support/events/stream-events.ts';

const [slot, newestSlot] = [100, 110];
const transaction: BundledTransaction = {
  wire: assembleTransaction(
    compileMessage({
      version: 0,
      feePayer: addressOf(2),
      recentBlockhash: addressOf(4),
      instructions: [transferLamports(addressOf(2), addressOf(5), 1n)],
    }),
    [new Uint8Array(64)],
  ),
  terms: { side: 'buy', quoted: 1n, bound: 1n, tokens: { mint: addressOf(1), have: null, need: null, decimals: 6 } },
  expected: {
    trader: addressOf(2),
    side: 'buy',
    mint: addressOf(1),
    poolAddress: addressOf(3),
    baseAmount: 1n,
    traderQuote: 1n,
    isHidden: false,
  },
};
const bundle = [transaction, transaction];

type Answer = () => unknown;
const result = (err: unknown = null): object => ({ err, logs: null, unitsConsumed: 7 });
const answered = (results: readonly unknown[], summary: unknown = 'succeeded', at = slot): Answer => {
  return () => ({ context: { slot: at }, value: { summary, transactionResults: results } });
};
const failing: Answer = answered([result(), result('AccountNotFound')], { failed: { error: {}, txSignature: 'x' } });
const passing: Answer = answered([result(), result()]);
const fault =
  (code: number): Answer =>
  () => {
    throw new RpcError(code === 0 ? 'unreachable' : 'answer', code, 'no');
  };

/** A simulator over nodes with these answers, the last of which repeats. `asked`: how often each was asked. */
function simulatorOf(...nodes: readonly (readonly Answer[])[]) {
  const asked = nodes.map(() => 0);
  const simulator = new BundleSimulator({
    nodes: nodes.map((answers, index) => ({
      name: `rpc ${index + 1}`,
      textOf: nodeTextOf('http://127.0.0.1'),
      rpc: { call: async () => answers[Math.min(asked[index]!++, answers.length - 1)]!() },
    })),
    newestSlot: () => newestSlot,
    signal: new AbortController().signal,
  });
  return { asked, simulate: () => simulator.simulate(bundle, slot) };
}

const passed = { kind: 'passed', slot, unitsConsumed: [7, 7] };

it('asks the nodes that have the method, and knows for a while which ones lack it', async () => {
  const { asked, simulate } = simulatorOf([fault(-32_601)], [passing]);
  expect(await simulate()).toEqual(passed);
  expect(await simulate()).toEqual(passed);
  expect(asked).toEqual([1, 2]);
  const without = simulatorOf([fault(-32_601)], [fault(-32_601)]);
  expect([await without.simulate(), await without.simulate()]).toEqual([{ kind: 'not_offered' }, { kind: 'not_offered' }]);
  expect(without.asked).toEqual([1, 1]);
});

it('names the transaction that fails, unless another node contradicts it', async () => {
  expect(await simulatorOf([failing]).simulate()).toMatchObject({ kind: 'failed', index: 1, failure: { code: 'INSUFFICIENT_BALANCE' } });
  expect(await simulatorOf([failing], [failing]).simulate()).toMatchObject({ kind: 'failed', index: 1 });
  expect(await simulatorOf([failing], [passing]).simulate()).toEqual(passed);
  expect(await simulatorOf([failing], [fault(-32_601)]).simulate()).toMatchObject({ kind: 'failed', index: 1 });
  // A node may leave out the results from the first failure on.
  expect(await simulatorOf([answered([result()], { failed: {} })]).simulate()).toMatchObject({ kind: 'failed', index: 1 });
});

it('uses no answer of an unknown form, of the future, or of an older slot than that of the quotes', async () => {
  const wrong: readonly Answer[] = [
    () => null,
    () => ({ context: { slot }, value: null }),
    answered([result()]),
    answered([result(), result(), result()]),
    answered([result(), null]),
    answered([result(), { err: null, logs: [1] }]),
    answered([result(), result()], 'succeeded', newestSlot + 1),
    fault(-32_000),
    fault(0),
  ];
  for (const answer of wrong) {
    expect(await simulatorOf([answer]).simulate()).toMatchObject({ kind: 'unavailable' });
    expect(await simulatorOf([answer], [passing]).simulate()).toEqual(passed);
  }
  const { asked, simulate } = simulatorOf([answered([result(), result()], 'succeeded', slot - 1), passing]);
  expect(await simulate()).toEqual(passed);
  expect(asked).toEqual([2]);
  expect(await simulatorOf([answered([result(), result()], 'succeeded', slot - 1)]).simulate()).toMatchObject({ kind: 'unavailable' });
});
