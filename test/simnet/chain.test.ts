import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import {
  assembleTransaction,
  compileMessage,
  decodeTransaction,
  signatureFromText,
  type Instruction,
} from '@sluice/shared/solana/transaction/transaction.ts';
import { systemProgram, token2022Program, tokenProgram, usdcMint } from '@sluice/shared/solana/well-known.ts';
import { programId as pumpProgram } from '@sluice/venues/pump/curve/program.ts';
import type { Block } from './chain.ts';
import { minimumBalance } from './ledger/rent.ts';
import { legacyBuy, legacySell, tradeV2, type CurveTrade } from './market/instructions.ts';
import { signTransaction, wallet } from './runtime/wallets.ts';
import { curveOf, volumeAccumulatorOf } from './programs/addresses.ts';
import { associatedTokenInstruction } from './programs/token/associated-token.ts';
import { unitLimitInstruction, unitPriceInstruction } from './programs/compute-budget.ts';
import { memoInstruction } from './programs/memo.ts';
import { buyWithQuote, sellTokens } from './programs/pump/math.ts';
import { curveBytes, readCurve } from './programs/pump/state.ts';
import { buybackFeeRecipients, feeRecipients, reservedFeeRecipients } from './programs/recipients.ts';
import { routed } from './programs/router.ts';
import { transferInstruction } from './programs/system.ts';
import { tokenAmount } from './layout/token-state.ts';
import { deriveTokenAccount } from './layout/derive.ts';
import { createChain, type SimChain } from './sim-chain.ts';
import { accountBytes } from './support/account-bytes.ts';
import { address, alice, bob, land, launch, marketChain, quietChain } from './support/test-chain.ts';

const sol = 1_000_000_000n;
const max = (1n << 64n) - 1n;

function tradeOf(chain: SimChain, mint: string, amount: bigint, limit: bigint, parts: Partial<CurveTrade> = {}): CurveTrade {
  const curve = readCurve(accountBytes(chain, curveOf(mint)));
  return {
    mint,
    tokenProgram: token2022Program,
    curve,
    user: bob.publicKey,
    feeRecipient: (curve.mayhem ? reservedFeeRecipients : feeRecipients)[3] ?? '',
    buyback: buybackFeeRecipients[2] ?? '',
    amount,
    limit,
    ...parts,
  };
}

function withAccount(mint: string, instruction: Instruction): readonly Instruction[] {
  return [associatedTokenInstruction(bob.publicKey, bob.publicKey, mint, token2022Program, true), instruction];
}

function replaceAccount(instruction: Instruction, index: number, to: string): Instruction {
  return { ...instruction, accounts: instruction.accounts.map((meta, at) => (at === index ? { ...meta, address: to } : meta)) };
}

const custom = (index: number, code: number) => ({ InstructionError: [index, { Custom: code }] });

test('three SOL spent on a fresh curve buy the same amount as on the network', () => {
  const fresh = { virtualToken: 1_073_000_000_000_000n, virtualQuote: 30n * sol, realToken: 793_100_000_000_000n };
  const amounts = buyWithQuote(fresh, 3n * sol, { protocol: 95n, creator: 30n });
  expect(amounts).toEqual({ tokens: 96_449_438_144_093n, quote: 2_962_962_962n, protocolFee: 28_148_149n, creatorFee: 8_888_889n });

  const chain = quietChain();
  const mint = launch(chain);
  // The first purchase of another coin creates bob's accumulator and alice's vault. Otherwise bob would also pay their rent.
  const other = launch(chain);
  expect(land(chain, withAccount(other, legacyBuy(tradeOf(chain, other, sol, 1n), true)), [bob]).err).toBeNull();
  const before = chain.account(bob.publicKey)?.lamports ?? 0n;
  const record = land(chain, withAccount(mint, legacyBuy(tradeOf(chain, mint, 3n * sol, 96_449_438_144_093n), true)), [bob]);
  expect(record.err).toBeNull();
  expect(tokenAmount(chain.account(deriveTokenAccount(bob.publicKey, mint, token2022Program).address))).toBe(96_449_438_144_093n);
  const spent = before - (chain.account(bob.publicKey)?.lamports ?? 0n);
  expect(spent).toBe(3n * sol + record.fee + minimumBalance(170));
  expect(readCurve(accountBytes(chain, curveOf(mint))).realQuote).toBe(2_962_962_962n);
});

test('slippage, amounts and completion give the error codes and log lines of the program', () => {
  const chain = quietChain();
  const mint = launch(chain);
  const buy = (amount: bigint, limit: bigint, exact = false) => withAccount(mint, legacyBuy(tradeOf(chain, mint, amount, limit), exact));
  const tooExpensive = land(chain, buy(1_000_000_000_000n, 10n), [bob]);
  expect(tooExpensive.err).toEqual(custom(1, 6002));
  expect(tooExpensive.logs).toContain(
    'Program log: AnchorError thrown in programs/pump/src/lib.rs:1. Error Code: TooMuchSolRequired. Error Number: 6002. Error Message: slippage: Too much SOL required to buy the given amount of tokens..',
  );
  expect(tooExpensive.logs.at(-1)).toBe(`Program ${pumpProgram} failed: custom program error: 0x1772`);
  expect(land(chain, buy(sol, max, true), [bob]).err).toEqual(custom(1, 6042));
  expect(land(chain, buy(0n, max), [bob]).err).toEqual(custom(1, 6020));
  expect(land(chain, buy(1_000_000_000_000n, sol), [bob]).err).toBeNull();
  expect(land(chain, [legacySell(tradeOf(chain, mint, 1_000_000n, max))], [bob]).err).toEqual(custom(0, 6003));
  expect(land(chain, [tradeV2(tradeOf(chain, mint, 1_000_000_000_001n, 0n), 'sell')], [bob]).err).toEqual(custom(0, 6023));
  expect(land(chain, [legacySell(tradeOf(chain, mint, 0n, 0n))], [bob]).err).toEqual(custom(0, 6022));
  expect(land(chain, buy(max, 200n * sol), [bob]).err).toBeNull();
  expect(readCurve(accountBytes(chain, curveOf(mint))).complete).toBe(true);
  expect(land(chain, buy(1n, sol), [bob]).err).toEqual(custom(1, 6005));
});

test('wrong accounts give the error codes of the checks that they fail', () => {
  const chain = quietChain();
  const mint = launch(chain);
  const trade = legacyBuy(tradeOf(chain, mint, 1_000_000n, sol), false);
  const code = (instruction: Instruction) => land(chain, withAccount(mint, instruction), [bob]).err;
  expect(code(replaceAccount(trade, 1, address('no recipient')))).toEqual(custom(1, 6000));
  expect(code(legacyBuy(tradeOf(chain, mint, 1_000_000n, sol, { feeRecipient: reservedFeeRecipients[0] ?? '' }), false))).toEqual(
    custom(1, 6000),
  );
  expect(code(replaceAccount(trade, 3, curveOf(address('other mint'))))).toEqual(custom(1, 2006));
  expect(code(replaceAccount(trade, 9, address('another vault')))).toEqual(custom(1, 2006));
  expect(code(replaceAccount(trade, 13, volumeAccumulatorOf(alice.publicKey)))).toEqual(custom(1, 2006));
  expect(code(replaceAccount(trade, 16, address('no v2 curve')))).toEqual(custom(1, 6074));
  expect(code(replaceAccount(trade, 17, address('no buyback')))).toEqual(custom(1, 6057));
  expect(code({ ...trade, accounts: trade.accounts.slice(0, 17) })).toEqual(custom(1, 6062));
  expect(code({ ...trade, accounts: trade.accounts.slice(0, 15) })).toEqual(custom(1, 3005));
  expect(code({ ...trade, data: trade.data.subarray(0, 12) })).toEqual(custom(1, 102));
  expect(code({ ...trade, data: new Uint8Array(24) })).toEqual(custom(1, 101));
  expect(code(trade)).toBeNull();
  const stranger = deriveTokenAccount(alice.publicKey, mint, token2022Program).address;
  expect(code(replaceAccount(trade, 5, stranger))).toEqual(custom(1, 3012));
  const wrongVault = land(chain, withAccount(mint, replaceAccount(trade, 9, address('another vault'))), [bob]);
  const lines = wrongVault.logs;
  expect(lines).toContain(
    'Program log: AnchorError caused by account: creator_vault. Error Code: ConstraintSeeds. Error Number: 2006. Error Message: A seeds constraint was violated.',
  );
  expect(lines[lines.indexOf('Program log: Left:') + 1]).toBe(`Program log: ${address('another vault')}`);
});

test('a failed transaction pays its fee and changes nothing else', () => {
  const chain = quietChain();
  const mint = launch(chain);
  const before = new Map(chain.accounts());
  const budget = [unitLimitInstruction(300_000), unitPriceInstruction(1_000_001n)];
  const record = land(chain, [...budget, ...withAccount(mint, legacyBuy(tradeOf(chain, mint, 1n << 40n, 1n), false))], [bob]);
  expect(record.err).toEqual(custom(3, 6002));
  expect(record.fee).toBe(5_000n + 300_001n);
  expect(record.written.size).toBe(0);
  const changed = [...chain.accounts()].filter(([key, account]) => before.get(key) !== account).map(([key]) => key);
  expect(changed.length).toBe(3);
  expect(changed).toContain(bob.publicKey);
  expect((before.get(bob.publicKey)?.lamports ?? 0n) - (chain.account(bob.publicKey)?.lamports ?? 0n)).toBe(record.fee);
  expect(record.preBalances[0]).toBe(before.get(bob.publicKey)?.lamports);
  expect((record.preBalances[0] ?? 0n) - (record.postBalances[0] ?? 0n)).toBe(record.fee);
});

test('a transaction that cannot be processed is refused before it lands', () => {
  const chain = quietChain();
  const signed = (instructions: readonly Instruction[], payer = bob, recentBlockhash = chain.latestBlockhash().blockhash) =>
    signTransaction({ version: 'legacy', recentBlockhash, instructions, signers: [payer] });
  const preflight = (wire: Uint8Array) => {
    const sent = chain.send(wire);
    return sent.ok ? 'ok' : [sent.code, (sent.data as { err: unknown } | undefined)?.err ?? null];
  };
  const pay = transferInstruction(bob.publicKey, alice.publicKey, 1n);
  const wire = signed([pay]);
  const broken = wire.slice();
  broken[5] = (broken[5] ?? 0) ^ 1;
  expect(preflight(broken)).toEqual([-32003, null]);
  expect(preflight(wire.subarray(0, 100))).toEqual([-32602, null]);
  expect(preflight(signed([pay], bob, address('no blockhash')))).toEqual([-32002, 'BlockhashNotFound']);
  const empty = wallet('chain tests', 'empty');
  expect(preflight(signed([memoInstruction('x')], empty))).toEqual([-32002, 'AccountNotFound']);
  expect(preflight(wire)).toBe('ok');
  chain.advance();
  expect(preflight(wire)).toEqual([-32002, 'AlreadyProcessed']);

  chain.airdrop(empty.publicKey, 700_000n);
  chain.advance();
  const drain = (lamports: bigint) => signed([transferInstruction(empty.publicKey, bob.publicKey, lamports)], empty);
  expect(preflight(drain(50_000n))).toEqual([-32002, { InsufficientFundsForRent: { account_index: 0 } }]);
  expect(preflight(signed([unitLimitInstruction(1_000_000), unitPriceInstruction(900_000n)], empty))).toEqual([
    -32002,
    'InsufficientFundsForFee',
  ]);
  expect(preflight(signed([pay], bob))).toBe('ok');
  expect(preflight(drain(695_000n))).toBe('ok');
  chain.advance();
  expect(chain.account(empty.publicKey)).toBeNull();
  const unknown: Instruction = { programId: address('no program'), accounts: [], data: new Uint8Array(0) };
  expect(preflight(signed([unknown]))).toEqual([-32002, 'ProgramAccountNotFound']);
});

test('a blockhash lives for 150 blocks', () => {
  const chain = quietChain();
  const { blockhash, lastValidBlockHeight } = chain.latestBlockhash();
  const wire = signTransaction({ version: 0, recentBlockhash: blockhash, instructions: [memoInstruction('late')], signers: [bob] });
  for (let i = 0; i < 149; i++) chain.advance();
  expect(chain.send(wire)).toMatchObject({ ok: true });
  const block = chain.advance();
  expect(block.blockHeight).toBe(lastValidBlockHeight);
  expect(block.transactions).toHaveLength(1);
  expect(chain.isBlockhashValid(blockhash)).toBe(true);
  chain.advance();
  expect(chain.isBlockhashValid(blockhash)).toBe(false);
});

test('programs can neither borrow signatures nor write accounts that they do not own', () => {
  const chain = quietChain();
  const stolen = transferInstruction(alice.publicKey, bob.publicKey, sol);
  const unsigned = { ...stolen, accounts: stolen.accounts.map((meta) => ({ ...meta, signer: false })) };
  expect(land(chain, [unsigned], [bob]).err).toEqual({ InstructionError: [0, 'MissingRequiredSignature'] });
  const viaRouter = routed({ ...stolen, accounts: stolen.accounts.map((meta) => ({ ...meta, signer: false })) });
  expect(land(chain, [viaRouter], [bob]).err).toEqual({ InstructionError: [0, 'MissingRequiredSignature'] });

  const mint = launch(chain);
  const forged: Instruction = {
    programId: pumpProgram,
    accounts: [{ address: 'Ce6TQqeHC9p8KetsN6JsjHK7UTZk7nasjjnr7XxXp9F1', signer: false, writable: false }],
    data: Buffer.from('e445a52e51cb9a1dbddb7fd34ee661ee', 'hex'),
  };
  expect(land(chain, [forged], [bob]).err).toEqual({ InstructionError: [0, 'MissingRequiredSignature'] });
  const readonlyCurve = legacyBuy(tradeOf(chain, mint, 1_000_000n, sol), false);
  const accounts = readonlyCurve.accounts.map((meta, at) => (at === 3 ? { ...meta, writable: false } : meta));
  expect(land(chain, withAccount(mint, { ...readonlyCurve, accounts }), [bob]).err).toEqual(custom(1, 2000));
});

test('simulation needs no signatures and no fresh blockhash, and changes nothing', () => {
  const chain = quietChain();
  const mint = launch(chain);
  const message = compileMessage({
    version: 0,
    feePayer: bob.publicKey,
    recentBlockhash: address('any'),
    instructions: withAccount(mint, legacyBuy(tradeOf(chain, mint, 1_000_000_000n, sol), false)),
  });
  const wire = assembleTransaction(message, [new Uint8Array(64)]);
  const before = new Map(chain.accounts());
  expect(chain.simulate(wire).err).toBe('BlockhashNotFound');
  expect(chain.simulate(wire, { sigVerify: true }).err).toBe('SignatureFailure');
  const simulated = chain.simulate(wire, { replaceRecentBlockhash: true });
  expect(simulated.err).toBeNull();
  expect(simulated.unitsConsumed).toBeGreaterThan(60_000);
  expect(simulated.written.get(curveOf(mint))?.data.length).toBe(curveBytes);
  expect(new Map(chain.accounts())).toEqual(before);
});

test('logs beyond 10,000 bytes are truncated in the same way as on a node', () => {
  const chain = quietChain();
  const text = 'x'.repeat(380);
  const record = land(chain, [unitLimitInstruction(400_000), ...Array.from({ length: 1 }, () => memoInstruction(text))], [bob]);
  expect(record.logs).not.toContain('Log truncated');
  const many = land(
    chain,
    Array.from({ length: 70 }, () => memoInstruction('yyyyyyyy')),
    [bob],
  );
  expect(many.err).toBeNull();
  expect(many.logs).toContain('Log truncated');
  expect(many.logs.filter((line) => line === 'Log truncated')).toHaveLength(1);
  expect(Buffer.byteLength(many.logs.join(''))).toBeLessThan(10_100);
});

test('a dead fork rolls the state back exactly, and its records disappear', () => {
  const chain = marketChain('fork', { completeEverySeconds: 0 });
  for (let i = 0; i < 40; i++) chain.advance();
  const state = new Map(chain.accounts());
  const { slot, blockHeight } = chain;
  const hash = chain.latestBlockhash();
  const dead: number[][] = [];
  chain.listen({ onDead: (slots) => dead.push([...slots]) });
  const lost: Block[] = [chain.advance(), chain.advance()];
  expect(new Map(chain.accounts())).not.toEqual(state);
  const slots = chain.fork(5);
  expect(slots).toEqual([slot + 1, slot + 2]);
  expect(dead).toEqual([[slot + 1, slot + 2]]);
  expect(new Map(chain.accounts())).toEqual(state);
  expect(chain).toMatchObject({ slot, blockHeight });
  expect(chain.latestBlockhash()).toEqual(hash);
  const records = lost.flatMap(({ transactions }) => transactions);
  expect(records.length).toBeGreaterThan(0);
  for (const { signature, accountKeys } of records) {
    expect(chain.transaction(signature)).toBeNull();
    expect(chain.signaturesFor(accountKeys[0] ?? '').map((record) => record.signature)).not.toContain(signature);
  }
  const next = chain.advance();
  expect(next).toMatchObject({ slot: slot + 3, parentSlot: slot, blockHeight: blockHeight + 1 });
});

test('the transactions of a dead fork can land again', () => {
  const chain = quietChain();
  for (let i = 0; i < 3; i++) chain.advance();
  const record = land(chain, [transferInstruction(bob.publicKey, alice.publicKey, 5n)], [bob]);
  expect(chain.fork(1, { replay: true })).toEqual([record.slot]);
  expect(chain.transaction(record.signature)).toBeNull();
  chain.advance();
  expect(chain.transaction(record.signature)).toMatchObject({ slot: record.slot + 1, err: null });
});

test('a block is confirmed after two slots and finalized after 31', () => {
  const chain = quietChain();
  const first = chain.slot;
  const seen: string[] = [];
  chain.listen({
    onFrozen: ({ slot }) => seen.push(`frozen ${slot - first}`),
    onConfirmed: (slot) => seen.push(`confirmed ${slot - first}`),
    onFinalized: (slot) => seen.push(`finalized ${slot - first}`),
  });
  for (let i = 0; i < 40; i++) chain.advance();
  expect(chain.confirmedSlot).toBe(first + 38);
  expect(chain.finalizedSlot).toBe(first + 9);
  expect(seen.slice(0, 4)).toEqual(['frozen 1', 'frozen 2', 'frozen 3', 'confirmed 1']);
  expect(seen.filter((line) => line.startsWith('finalized'))).toEqual(Array.from({ length: 9 }, (_, i) => `finalized ${i + 1}`));
});

test('blocks become final even if the history is shorter than that; only final blocks are dropped from it', () => {
  const chain = quietChain({ transactions: 1, blocks: 3 });
  const held = { most: 0, now: 0 };
  chain.listen({
    onFrozen: () => (held.most = Math.max(held.most, ++held.now)),
    onFinalized: () => held.now--,
  });
  const { signature } = land(chain, [transferInstruction(alice.publicKey, bob.publicKey, 5n)], [alice]);
  const before = chain.slot;
  for (let i = 0; i < 10; i++) chain.advance();
  expect(chain.transaction(signature)).not.toBeNull();
  for (let i = 0; i < 90; i++) chain.advance();
  expect(chain.finalizedSlot).toBe(before + 69);
  // PubSub retains this many blocks until it has reported that they are final.
  expect(held.most).toBe(32);
  expect(chain.transaction(signature)).toBeNull();
});

test('history returns signatures of an address, newest first, between two given ones', () => {
  const chain = quietChain();
  const records = Array.from({ length: 6 }, (_, i) =>
    land(chain, [transferInstruction(bob.publicKey, alice.publicKey, BigInt(i + 1))], [bob]),
  );
  const all = chain.signaturesFor(alice.publicKey).map(({ signature }) => signature);
  const expected = records.map(({ signature }) => signature).toReversed();
  expect(all).toEqual(expected);
  expect(chain.signaturesFor(alice.publicKey, { limit: 2 }).map(({ signature }) => signature)).toEqual(expected.slice(0, 2));
  const [, second = '', , , fifth = ''] = expected;
  expect(chain.signaturesFor(alice.publicKey, { before: second, until: fifth }).map(({ signature }) => signature)).toEqual(
    expected.slice(2, 4),
  );
});

test('records hold real signatures, balances, and token balances', () => {
  const chain = quietChain();
  const mint = launch(chain);
  const record = land(chain, withAccount(mint, legacyBuy(tradeOf(chain, mint, 2_000_000n, sol), false)), [bob]);
  const decoded = decodeTransaction(record.wire);
  if (decoded.kind !== 'decoded') throw new Error(decoded.reason);
  const signature = signatureFromText(record.signature) ?? new Uint8Array(0);
  expect(verifySignature(bob.publicKey, decoded.messageBytes, signature)).toBe(true);
  const total = (balances: readonly bigint[]): bigint => balances.reduce((sum, lamports) => sum + lamports, 0n);
  expect(total(record.preBalances) - total(record.postBalances)).toBe(record.fee);
  const account = deriveTokenAccount(bob.publicKey, mint, token2022Program).address;
  const accountIndex = record.accountKeys.indexOf(account);
  const held = { accountIndex, mint, owner: bob.publicKey, programId: token2022Program, decimals: 6 };
  expect(record.postTokenBalances).toContainEqual({ ...held, amount: 2_000_000n });
  expect(record.preTokenBalances.some((balance) => balance.accountIndex === accountIndex)).toBe(false);
  expect([...chain.tokenAccountsOf(bob.publicKey)].map(([key]) => key)).toContain(account);
});

test('a sale pays the trader, creator, buyback and fee recipient what the curve computes', () => {
  const chain = quietChain();
  const mint = launch(chain);
  expect(land(chain, withAccount(mint, legacyBuy(tradeOf(chain, mint, 40_000_000_000_000n, 5n * sol), false)), [bob]).err).toBeNull();
  const trade = tradeOf(chain, mint, 10_000_000_000_000n, 1n);
  const quote = sellTokens(trade.curve, trade.amount, { protocol: 95n, creator: 30n });
  const lamports = (key: string): bigint => chain.account(key)?.lamports ?? 0n;
  const before = [bob.publicKey, trade.feeRecipient, trade.buyback, curveOf(mint)].map(lamports);
  const record = land(chain, [tradeV2(trade, 'sell')], [bob]);
  expect(record.err).toBeNull();
  const after = [bob.publicKey, trade.feeRecipient, trade.buyback, curveOf(mint)].map(lamports);
  const [user, recipient, buyback, curve] = after.map((value, index) => value - (before[index] ?? 0n));
  const share = quote.protocolFee / 2n;
  expect({ user, recipient, buyback, curve }).toEqual({
    user: quote.quote - quote.protocolFee - quote.creatorFee - record.fee,
    recipient: quote.protocolFee - share,
    buyback: share,
    curve: -quote.quote,
  });
});

test('airdrops are ordinary signed transfers', () => {
  const chain = quietChain();
  const poor = address('somebody');
  const signatures = [chain.airdrop(poor, sol), chain.airdrop(poor, sol)];
  expect(new Set(signatures).size).toBe(2);
  chain.advance();
  expect(chain.account(poor)).toEqual({ lamports: 2n * sol, owner: systemProgram, data: new Uint8Array(0), executable: false });
  expect(chain.transaction(signatures[1] ?? '')?.err).toBeNull();
  for (const amount of [5n, 7n]) chain.airdrop(poor, amount, 'USDC');
  chain.advance();
  expect(tokenAmount(chain.account(deriveTokenAccount(poor, usdcMint, tokenProgram).address))).toBe(12n);
  expect(chain.account(poor)?.lamports).toBe(2n * sol);
});

test('priority fees of the last blocks are the fees that were paid', () => {
  const chain = quietChain();
  land(chain, [unitLimitInstruction(10_000), unitPriceInstruction(7_000n), transferInstruction(bob.publicKey, alice.publicKey, 1n)], [bob]);
  const fees = chain.recentPriorityFees([alice.publicKey]);
  expect(fees.at(-1)).toEqual({ slot: chain.slot, prioritizationFee: 7_000 });
  chain.advance();
  expect(chain.recentPriorityFees([]).at(-1)).toEqual({ slot: chain.slot, prioritizationFee: 0 });
});

test('a started chain freezes slots by itself until it is stopped', async () => {
  const chain = quietChain();
  const first = chain.slot;
  const reached = new Promise<void>((resolve) => {
    chain.listen({ onFrozen: ({ slot }) => slot >= first + 3 && resolve() });
  });
  chain.start();
  await reached;
  chain.stop();
  expect(chain.slot).toBe(first + 3);
});

test('USDC has the supply that its accounts hold', () => {
  const chain = marketChain('usdc');
  for (let i = 0; i < 20; i++) chain.advance();
  let held = 0n;
  for (const [, account] of chain.tokenAccountsOfMint(usdcMint)) held += tokenAmount(account);
  expect(Buffer.from(accountBytes(chain, usdcMint)).readBigUInt64LE(36)).toBe(held);
  expect(chain.account(usdcMint)?.owner).toBe(tokenProgram);
});

test('shows no transaction of an unfinished block between the turns of a slot', async () => {
  const lamports = 1_000_000_000n;
  const airdrops = 200;
  const chain = createChain({ seed: 'turns', market: false, slotMs: 5, turnMs: 0.05 });
  const to = address('receiver');
  for (let i = 0; i < airdrops; i++) chain.airdrop(to, lamports);
  const held = (): bigint => chain.account(to)?.lamports ?? 0n;
  let atLastBlock = held();
  chain.listen({ onFrozen: () => void (atLastBlock = held()) });
  chain.start();
  let checks = 0;
  while (atLastBlock < BigInt(airdrops) * lamports) {
    await setImmediate();
    expect(held()).toBe(atLastBlock);
    checks++;
  }
  chain.stop();
  expect(checks).toBeGreaterThan(1);
});
