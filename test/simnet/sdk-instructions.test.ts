import { expect, test } from 'vitest';
import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { globalAddress } from '@sluice/venues/pump/curve/program.ts';
import type { TransactionRecord } from './chain.ts';
import { wallet } from './runtime/wallets.ts';
import { canonicalPoolOf, curveOf } from './programs/addresses.ts';
import { associatedTokenInstruction } from './programs/token/associated-token.ts';
import { unitLimitInstruction } from './programs/compute-budget.ts';
import { readPool } from './programs/pump-amm/state.ts';
import { readCurve } from './programs/pump/state.ts';
import { operators } from './programs/recipients.ts';
import { tokenAmount } from './layout/token-state.ts';
import { deriveTokenAccount } from './layout/derive.ts';
import type { SimChain } from './sim-chain.ts';
import { accountBytes } from './support/account-bytes.ts';
import { pumpSdk } from './support/pump-sdk.ts';
import { alice, bob, land, launch, quietChain } from './support/test-chain.ts';
import { accountInfo, fromWeb3, key } from './support/web3.ts';
import { BN } from '../support/chain/bn.ts';

/** Instructions built by the programs' own SDK and executed on the simulated chain. This proves the order of the accounts. */
const sdk = pumpSdk.PUMP_SDK;
const sol = new BN(1_000_000_000);

function settings(chain: SimChain) {
  return sdk.decodeGlobal(accountInfo(chain.account(globalAddress)));
}

function curveInfo(chain: SimChain, mint: string) {
  const info = accountInfo(chain.account(curveOf(mint)));
  return { bondingCurveAccountInfo: info, bondingCurve: sdk.decodeBondingCurve(info) };
}

function tokensOf(chain: SimChain, owner: string, mint: string): bigint {
  return tokenAmount(chain.account(deriveTokenAccount(owner, mint, token2022Program).address));
}

function expectSuccess(record: TransactionRecord): void {
  expect(record.err, record.logs.join('\n')).toBeNull();
}

function common(mint: string, user: Keypair, tokenProgramId = token2022Program) {
  return { mint: key(mint), user: key(user.publicKey), tokenProgram: key(tokenProgramId), slippage: 5 };
}

test.each([
  ['an ordinary coin', {}],
  ['a mayhem coin', { mayhem: true }],
  ['a cashback coin', { cashback: true }],
  ['a holder-reward coin', { holderReward: true }],
  ['a coin with its own creator fee', { creatorFeeBps: 120n }],
])('legacy buy and sell, buy_v2 and sell_v2 of %s', async (_, parts) => {
  const chain = quietChain();
  const mint = launch(chain, parts);
  const global = settings(chain);
  const amount = new BN('5000000000000');
  const legacyBuy = await sdk.buyInstructions({
    global,
    ...curveInfo(chain, mint),
    associatedUserAccountInfo: null,
    ...common(mint, bob),
    amount,
    solAmount: sol,
  });
  expectSuccess(land(chain, legacyBuy.map(fromWeb3), [bob]));
  expect(tokensOf(chain, bob.publicKey, mint)).toBe(5_000_000_000_000n);

  const buyV2 = await sdk.buyV2Instructions({
    global,
    ...curveInfo(chain, mint),
    associatedUserAccountInfo: null,
    ...common(mint, bob),
    amount,
    quoteAmount: sol,
  });
  expectSuccess(land(chain, buyV2.map(fromWeb3), [bob]));
  expect(tokensOf(chain, bob.publicKey, mint)).toBe(10_000_000_000_000n);

  const flags = { mayhemMode: 'mayhem' in parts, cashback: 'cashback' in parts };
  const sell = { ...curveInfo(chain, mint), ...common(mint, bob), amount };
  const legacySell = await sdk.sellInstructions({ global, ...sell, ...flags, solAmount: new BN(0) });
  expectSuccess(land(chain, legacySell.map(fromWeb3), [bob]));
  const sellV2 = await sdk.sellV2Instructions({ global, ...sell, quoteAmount: new BN(0) });
  expectSuccess(land(chain, sellV2.map(fromWeb3), [bob]));
  expect(tokensOf(chain, bob.publicKey, mint)).toBe(0n);
});

test('create_v2 with every flag, create, and the first purchase in the same transaction', async () => {
  const chain = quietChain();
  const base = {
    name: 'Simulated one',
    symbol: 'SIMONE',
    uri: 'https://simnet.invalid/1',
    creator: key(alice.publicKey),
    user: key(alice.publicKey),
  };
  for (const flags of [
    { mayhemMode: false },
    { mayhemMode: true },
    { mayhemMode: false, holderReward: true },
    { mayhemMode: false, cashback: true },
  ]) {
    const mint = wallet('sdk', JSON.stringify(flags));
    const instruction = await sdk.createV2Instruction({ ...base, mint: key(mint.publicKey), ...flags });
    expectSuccess(land(chain, [fromWeb3(instruction)], [alice, mint]));
    const curve = readCurve(accountBytes(chain, curveOf(mint.publicKey)));
    expect(curve).toMatchObject({ mayhem: flags.mayhemMode, holderReward: 'holderReward' in flags, cashback: 'cashback' in flags });
  }
  const mint = wallet('sdk', 'with purchase');
  const global = settings(chain);
  const both = await sdk.createV2AndBuyInstructions({
    global,
    mint: key(mint.publicKey),
    ...base,
    amount: new BN('1000000000000'),
    solAmount: sol,
    mayhemMode: false,
  });
  const [create, ...rest] = both.map(fromWeb3);
  if (create === undefined) throw new Error('nothing was built');
  expectSuccess(land(chain, [create], [alice, mint]));
  expectSuccess(land(chain, rest, [alice]));
  expect(tokensOf(chain, alice.publicKey, mint.publicKey)).toBe(1_000_000_000_000n);
});

test('the older create, with metadata in its own account, and trades of its coin', async () => {
  const chain = quietChain();
  const mint = wallet('sdk', 'legacy');
  const base = { name: 'Simulated old', symbol: 'SIMOLD', uri: 'https://simnet.invalid/old' };
  const create = await sdk.createInstruction({
    mint: key(mint.publicKey),
    ...base,
    creator: key(alice.publicKey),
    user: key(alice.publicKey),
  });
  expectSuccess(land(chain, [fromWeb3(create)], [alice, mint]));
  expect(chain.account(mint.publicKey)?.owner).toBe(tokenProgram);
  const buy = await sdk.buyInstructions({
    global: settings(chain),
    ...curveInfo(chain, mint.publicKey),
    associatedUserAccountInfo: null,
    ...common(mint.publicKey, bob, tokenProgram),
    amount: new BN('7000000'),
    solAmount: sol,
  });
  expectSuccess(land(chain, buy.map(fromWeb3), [bob]));
  expect(tokenAmount(chain.account(deriveTokenAccount(bob.publicKey, mint.publicKey, tokenProgram).address))).toBe(7_000_000n);
});

async function complete(chain: SimChain, mint: string): Promise<void> {
  const buy = await sdk.buyV2Instructions({
    global: settings(chain),
    ...curveInfo(chain, mint),
    associatedUserAccountInfo: null,
    ...common(mint, bob),
    amount: new BN('793100000000000'),
    quoteAmount: sol.muln(100),
  });
  expectSuccess(land(chain, buy.map(fromWeb3), [bob]));
  expect(readCurve(accountBytes(chain, curveOf(mint)))).toMatchObject({ complete: true, realToken: 0n, realQuote: 85_005_359_057n });
}

test.each(['migrate', 'migrate_v2'])('%s of a completed coin opens its pool, boosted, with what the curve held', async (name) => {
  const chain = quietChain();
  const mint = launch(chain);
  await complete(chain, mint);
  const parts = { withdrawAuthority: key(operators.withdraw), mint: key(mint), user: key(alice.publicKey) };
  const instruction =
    name === 'migrate'
      ? await sdk.migrateInstruction({ ...parts, tokenProgram: key(token2022Program) })
      : await sdk.migrateV2Instruction({ ...parts, baseTokenProgram: key(token2022Program), quoteTokenProgram: key(tokenProgram) });
  expectSuccess(land(chain, [unitLimitInstruction(800_000), fromWeb3(instruction)], [alice]));
  const pool = readPool(accountBytes(chain, canonicalPoolOf(mint, wrappedSolMint)));
  expect(pool.coinCreator).toBe(alice.publicKey);
  expect(tokenAmount(chain.account(pool.baseVault))).toBe(206_900_000_000_000n);
  const quote = 85_005_359_057n - 15_000_001n;
  const boost = (quote * 2_069n) / 10_000n;
  expect(tokenAmount(chain.account(pool.quoteVault))).toBe(quote - boost);
  expect(pool.virtualQuote).toBe(boost);
  const again = land(chain, [unitLimitInstruction(800_001), fromWeb3(instruction)], [alice]);
  expect(again.err).toEqual({ InstructionError: [1, { Custom: 6081 }] });
});

test('a coin quoted in USDC: create_v2 with its further accounts, buy_v2 and sell_v2 paid in tokens', async () => {
  const chain = quietChain();
  const mint = wallet('sdk', 'usdc');
  const create = await sdk.createV2Instruction({
    mint: key(mint.publicKey),
    name: 'Simulated dollar',
    symbol: 'SIMUSD',
    uri: 'https://simnet.invalid/usd',
    creator: key(alice.publicKey),
    user: key(alice.publicKey),
    mayhemMode: false,
    quoteMint: key(usdcMint),
  });
  expectSuccess(land(chain, [fromWeb3(create)], [alice, mint]));
  expect(readCurve(accountBytes(chain, curveOf(mint.publicKey)))).toMatchObject({ quoteMint: usdcMint, virtualQuote: 4_292_000_000n });

  const buy = await sdk.buyV2Instructions({
    global: settings(chain),
    ...curveInfo(chain, mint.publicKey),
    associatedUserAccountInfo: null,
    ...common(mint.publicKey, bob),
    amount: new BN('1000000000000'),
    quoteAmount: new BN(100_000_000),
  });
  const usdcAccount = associatedTokenInstruction(bob.publicKey, bob.publicKey, usdcMint, tokenProgram, true);
  const unpaid = land(chain, [unitLimitInstruction(400_000), usdcAccount, ...buy.map(fromWeb3)], [bob]);
  expect(unpaid.err).toMatchObject({ InstructionError: [expect.any(Number), { Custom: 1 }] });
  expect(unpaid.logs).toContain('Program log: Error: insufficient funds');
});
