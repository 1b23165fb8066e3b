import { afterAll, beforeAll, expect, it } from 'vitest';
import { jitoTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { transferLamports } from '@sluice/shared/solana/transaction/instructions.ts';
import { signTransaction, wallet } from './runtime/wallets.ts';
import { createChain, type SimChain } from './sim-chain.ts';
import { startSimnet, type Simnet } from './simnet.ts';

const sol = 1_000_000_000n;
const [rich, poor, other] = ['rich', 'poor', 'other'].map((name) => wallet('bundles', name)) as [Keypair, Keypair, Keypair];
const [tipAccount] = jitoTipAccounts;
let chain: SimChain;
let simnet: Simnet;

const balance = ({ publicKey }: Keypair): bigint => chain.account(publicKey)?.lamports ?? 0n;

function pay(from: Keypair, to: string, lamports: bigint): Uint8Array {
  const { blockhash } = chain.latestBlockhash();
  return signTransaction({
    version: 0,
    recentBlockhash: blockhash,
    instructions: [transferLamports(from.publicKey, to, lamports)],
    signers: [from],
  });
}

interface Answer {
  readonly value: { readonly summary: unknown; readonly transactionResults: readonly { readonly err: unknown }[] };
}

async function call(
  method: string,
  ...params: readonly unknown[]
): Promise<{ readonly result?: Answer; readonly error?: { readonly code: number; readonly message: string } }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return (await (await fetch(simnet.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()) as never;
}

const base64 = (wires: readonly Uint8Array[]): readonly string[] => wires.map((wire) => Buffer.from(wire).toString('base64'));
const sendBundle = (...wires: readonly Uint8Array[]) => call('sendBundle', base64(wires), { encoding: 'base64' });
const simulateBundle = (...wires: readonly Uint8Array[]) => {
  const none = wires.map(() => null);
  const config = { preExecutionAccountsConfigs: none, postExecutionAccountsConfigs: none, skipSigVerify: true };
  return call('simulateBundle', { encodedTransactions: base64(wires) }, config);
};

beforeAll(async () => {
  chain = createChain({ seed: 'bundles', market: false, funded: [{ address: rich.publicKey, lamports: 100n * sol }] });
  chain.advance();
  simnet = await startSimnet({ chain, autoStart: false });
});
afterAll(() => simnet.close());

it('lands all transactions of a bundle in one block, each on what the one before leaves', async () => {
  const bundle = [pay(rich, poor.publicKey, 2n * sol), pay(poor, other.publicKey, sol), pay(other, tipAccount, 1_000n)];
  expect((await simulateBundle(...bundle)).result).toMatchObject({
    value: { summary: 'succeeded', transactionResults: [{ err: null }, { err: null }, { err: null }] },
  });
  expect((await sendBundle(...bundle)).result).toMatch(/^[0-9a-f]{64}$/);
  const { transactions } = chain.advance();
  expect(transactions.map(({ err }) => err)).toEqual([null, null, null]);
  expect([balance(poor), balance(other)]).toEqual([sol - 5_000n, sol - 6_000n]);
  // A second one with the same transactions does nothing.
  await sendBundle(...bundle);
  expect(chain.advance().transactions).toEqual([]);
});

it('lands none if one fails, and says in the simulation which one', async () => {
  const before = balance(poor);
  const bundle = [pay(rich, poor.publicKey, sol), pay(poor, other.publicKey, 50n * sol), pay(rich, tipAccount, 1_000n)];
  const { result } = await simulateBundle(...bundle);
  expect(result?.value.transactionResults.map(({ err }) => err === null)).toEqual([true, false]);
  expect(result?.value.summary).toMatchObject({ failed: { txSignature: expect.any(String) } });
  expect((await sendBundle(...bundle)).error).toBeUndefined();
  expect(chain.advance().transactions).toEqual([]);
  expect(balance(poor)).toBe(before);
  // One of them sent alone lands alone, and the bundle then cannot.
  await call('sendTransaction', base64([bundle[0]!])[0], { encoding: 'base64', skipPreflight: true });
  expect(chain.advance().transactions.length).toBe(1);
});

it('refuses a bundle without a tip, one that is too long, and one with a wrong signature', async () => {
  const tip = pay(rich, tipAccount, 1_000n);
  expect((await sendBundle(pay(rich, poor.publicKey, sol))).error?.message).toContain('tip account');
  expect((await sendBundle(pay(rich, tipAccount, 999n))).error?.message).toContain('tip account');
  expect((await sendBundle(...Array.from({ length: 6 }, () => tip))).error?.code).toBe(-32_602);
  expect((await sendBundle()).error?.code).toBe(-32_602);
  const forged = tip.slice();
  forged.fill(1, 1, 65);
  expect((await sendBundle(forged)).error?.code).toBe(-32_003);
  expect((await call('sendBundle', [encodeBase58(tip)])).error).toBeUndefined();
});
