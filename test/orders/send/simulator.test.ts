import { createSendNodes } from '../../../trading/src/nodes/nodes.ts';
import type { FailureTerms } from '../../../trading/src/nodes/simulate/failure.ts';
import type { SimulationOutcome, SimulationRequest } from '../../../trading/src/nodes/simulate/read-simulation.ts';
import { Simulator } from '../../../trading/src/nodes/simulate/simulator.ts';
import { signMessage } from '@sluice/shared/solana/addresses/keypair.ts';
import { createTokenAccount, transferLamports } from '@sluice/shared/solana/transaction/instructions.ts';
import { assembleTransaction, compileMessage, type Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { systemProgram, token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { pump } from '../../../venues/src/pump/curve/index.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { wallet } from '../../simnet/runtime/wallets.ts';
import { recordingLog, type LogLine } from '../../ingest/harness.ts';
import { moveToPool, tradeOnChain } from '../../support/chain/quoted-trades.ts';
import { buyer, newestSlot, pauper, startWorld, type World } from './sending-world.ts';
import { cut, silent, type Tampering } from '../../support/chain/tampered-node.ts';

let world: World;
let simulator: Simulator;
let lines: LogLine[];
beforeAll(async () => {
  world = await startWorld({ nodeCount: 3 });
});
afterAll(() => world.close());
beforeEach(() => {
  for (const node of world.nodes) node.tampering = null;
  lines = [];
  const nodes = createSendNodes(world.nodes.map(({ url }) => url));
  simulator = new Simulator({ nodes, newestSlot, isUnavailable: () => false, log: recordingLog(lines), signal: AbortSignal.any([]) });
});

const buy = { exact: 'baseOut', amount: 5_000_000_000n } as const;
const simulate = (wire: Uint8Array, more: Partial<SimulationRequest> = {}): Promise<SimulationOutcome> =>
  simulator.simulate({ wire, minContextSlot: null, terms: null, expected: null, avoid: 0, ...more });

function signed(instructions: readonly Instruction[], by = buyer): Uint8Array {
  const recentBlockhash = world.chain.latestBlockhash().blockhash;
  const message = compileMessage({ version: 0, feePayer: by.publicKey, recentBlockhash, instructions });
  return assembleTransaction(message, [signMessage(by, message)]);
}

test('a correct transaction passes, with its units and its slot', async () => {
  const { wire, signature } = world.prepare(buy);
  const outcome = await simulate(wire, { minContextSlot: world.chain.slot });
  world.chain.send(wire, { skipPreflight: true });
  world.chain.advance();
  const { unitsConsumed } = world.chain.transaction(signature)!;
  expect(outcome).toEqual({ kind: 'passed', slot: world.chain.slot - 1, unitsConsumed, amounts: null });
});

test('inner instructions are requested exactly where logs do not show all of a trade', async () => {
  const { wire } = world.prepare(buy);
  const trade = { trader: buyer.publicKey, side: 'buy', mint: usdcMint, poolAddress: usdcMint, baseAmount: 1n, traderQuote: 1n } as const;
  for (const isHidden of [true, false]) {
    const before = world.nodes.map(({ calls: all }) => all.length);
    await simulate(wire, { expected: { ...trade, isHidden } });
    const asked = world.nodes
      .flatMap(({ calls: all }, index) => all.slice(before[index]))
      .filter(({ method }) => method === 'simulateTransaction');
    expect(asked.length).toBeGreaterThan(0);
    for (const { params } of asked) expect((params[1] as { innerInstructions?: boolean }).innerInstructions === true).toBe(isHidden);
  }
});

const terms: FailureTerms = {
  side: 'buy',
  quoted: 5n,
  bound: 4n,
  tokens: { mint: usdcMint, have: 3n, need: 4n, decimals: 6 },
};

const inLamports = { unit: 'lamports', mint: wrappedSolMint, symbol: 'SOL', decimals: 9 };
const inDollars = { unit: 'tokens', mint: usdcMint, symbol: 'USDC', decimals: 6 };

async function failureOf(wire: Uint8Array): Promise<readonly unknown[]> {
  const outcome = await simulate(wire, { terms });
  if (outcome.kind !== 'failed') throw new Error(JSON.stringify(outcome));
  const { fault, code, details } = outcome.failure;
  const { logs, ...rest } = details;
  expect(Array.isArray(logs)).toBe(true);
  return [fault, code, rest];
}

const refusedBy = (program: string, programError: number, instructionIndex: number) => ({ program, programError, instructionIndex });
const noCulprit = { program: null, instructionIndex: null };

test('failures are reported by program and code, with their known details', async () => {
  const { chain, coin } = world;
  const tooLate = world.prepare({ exact: 'quoteIn', amount: 10n ** 9n }, {}, buyer, 0n);
  tradeOnChain(chain, coin, 'pump', { exact: 'quoteIn', amount: 10n ** 10n }, 0n);
  expect(await failureOf(tooLate.wire)).toEqual([
    'slippage',
    'SLIPPAGE_EXCEEDED',
    { quoted: '5', actual: null, bound: '4', ...refusedBy(pump.programId, 6_042, 3) },
  ]);
  const poor = world.prepare(buy, {}, pauper);
  expect(await failureOf(poor.wire)).toEqual([
    'insufficient_sol',
    'INSUFFICIENT_BALANCE',
    { ...inLamports, have: null, need: null, ...noCulprit, programError: 'AccountNotFound' },
  ]);
  const all = chain.account(buyer.publicKey)!.lamports;
  expect(await failureOf(signed([transferLamports(buyer.publicKey, pauper.publicKey, all)]))).toEqual([
    'insufficient_sol',
    'INSUFFICIENT_BALANCE',
    { ...inLamports, have: String(all - 5_000n), need: String(all), ...refusedBy(systemProgram, 1, 0) },
  ]);
  const noMint = createTokenAccount(buyer.publicKey, pauper.publicKey, tokenProgram);
  expect(await failureOf(signed([noMint]))).toMatchObject(['invalid_mint', 'INVALID_MINT', {}]);
  const otherProgram = createTokenAccount(buyer.publicKey, coin.mint, coin.tokenProgram === tokenProgram ? token2022Program : tokenProgram);
  expect(await failureOf(signed([otherProgram]))).toMatchObject(['invalid_mint', 'INVALID_MINT', {}]);
  const tooMany = world.prepare({ exact: 'baseIn', amount: 10n ** 13n }, { baseAccountExists: true });
  expect(await failureOf(tooMany.wire)).toMatchObject([
    'insufficient_tokens',
    'INSUFFICIENT_BALANCE',
    expect.objectContaining({ ...inDollars, have: '3', need: '4' }),
  ]);
});

test('a sale of coins that were sold a moment ago fails for lack of tokens, not for an invalid mint', async () => {
  const seller = wallet('simulator', 'seller');
  world.chain.airdrop(seller.publicKey, 10n ** 10n);
  world.chain.advance();
  const sale = world.prepare({ exact: 'baseIn', amount: 1_000_000n }, { baseAccountExists: true }, seller);
  expect(await failureOf(sale.wire)).toEqual([
    'insufficient_tokens',
    'INSUFFICIENT_BALANCE',
    { ...inDollars, have: '0', need: '4', ...refusedBy(pump.programId, 3_012, 2) },
  ]);
});

test('an unsigned transaction is fully simulated except for its signature', async () => {
  const { wire } = world.prepare(buy);
  expect((await simulate(wire.slice().fill(0, 1, 65))).kind).toBe('passed');
});

test('bytes that are not a transaction, an old blockhash, a message that landed', async () => {
  const { wire } = world.prepare(buy);
  const noTransaction = await failureOf(Uint8Array.of(1));
  expect(noTransaction).toMatchObject(['other', 'SIMULATION_FAILED', { programError: 'SanitizeFailure' }]);
  world.chain.send(wire, { skipPreflight: true });
  world.chain.advance();
  expect((await failureOf(wire))[0]).toBe('duplicate');
  const old = world.prepare(buy);
  for (let i = 0; i <= 151; i++) world.chain.advance();
  expect((await failureOf(old.wire))[0]).toBe('blockhash');
});

test('a node that is behind is asked again later; a node that is ahead answers meanwhile', async () => {
  const { wire } = world.prepare(buy);
  const ahead = world.chain.slot + 1;
  const asked = simulate(wire, { minContextSlot: ahead });
  while (simulator.counters.behind < 4) await new Promise((resolve) => setTimeout(resolve, 5));
  world.chain.advance();
  expect(await asked).toMatchObject({ kind: 'passed', slot: ahead });
});

const faults: readonly (readonly [string, Tampering])[] = [
  ['is silent', () => Promise.resolve(silent)],
  ['cuts the connection', () => Promise.resolve(cut)],
  ['answers null', () => Promise.resolve(null)],
  ['reports no err', () => Promise.resolve({ context: { slot: 460_000_001 }, value: { logs: [] } })],
  ['reports an impossible slot', () => Promise.resolve({ context: { slot: 1e14 }, value: { err: null, logs: [] } })],
  ['reports an earlier slot', () => Promise.resolve({ context: { slot: 1 }, value: { err: null, logs: [] } })],
  ['reports invalid logs', () => Promise.resolve({ context: { slot: 460_000_001 }, value: { err: null, logs: [1] } })],
  ['has not seen the blockhash', () => Promise.resolve({ context: { slot: 470_000_001 }, value: { err: 'BlockhashNotFound', logs: [] } })],
];

test.each(faults)('a node that %s: another one answers', async (_, tampering) => {
  const { wire } = world.prepare(buy);
  world.nodes[0]!.tampering = tampering;
  const outcome = await simulate(wire, { minContextSlot: world.chain.slot });
  expect(outcome).toMatchObject({ kind: 'passed', slot: world.chain.slot });
});

test('without a usable answer: unavailable, in time, and nothing is claimed about the transaction', async () => {
  const { wire } = world.prepare(buy);
  for (const node of world.nodes) node.tampering = () => Promise.resolve(silent);
  const beganMs = performance.now();
  expect(await simulate(wire)).toEqual({ kind: 'unavailable', reason: 'no answer in time' });
  expect(performance.now() - beganMs).toBeLessThan(20_000);
  for (const node of world.nodes) node.tampering = () => Promise.resolve(null);
  expect(await simulate(wire)).toMatchObject({ kind: 'unavailable' });
});

test('a curve that completed a moment ago, and bounds on its pool', async () => {
  const { chain, coin } = world;
  const stale = world.prepare(buy);
  const rest = world.prepare({ exact: 'quoteIn', amount: 10n ** 12n });
  chain.send(rest.wire, { skipPreflight: true });
  chain.advance();
  expect(chain.transaction(rest.signature)?.err).toBeNull();
  expect(await failureOf(stale.wire)).toMatchObject(['complete', 'SIMULATION_FAILED', { programError: 6005 }]);
  moveToPool(chain, coin, false);
  const late = world.prepare({ exact: 'baseIn', amount: 10n ** 9n }, { baseAccountExists: true }, buyer, 0n);
  expect(tradeOnChain(chain, coin, 'pump-amm', { exact: 'baseIn', amount: 10n ** 11n }, 0n).err).toBeNull();
  expect((await failureOf(late.wire)).slice(0, 2)).toEqual(['slippage', 'SLIPPAGE_EXCEEDED']);
});
