import { createHash } from 'node:crypto';
import { createMessageBuilder } from '../../trading/src/prepare/message-builder.ts';
import { jitoTipAccounts, senderTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { judge } from '@sluice/trading/signer/checks/check-message.ts';
import { sideOf } from '@sluice/trading/signer/checks/trade-instruction.ts';
import type { Rule, Verdict } from '@sluice/trading/signer/checks/verdict.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import {
  associatedTokenProgram,
  systemProgram,
  token2022Program,
  tokenProgram,
  usdcMint,
  wrappedSolMint,
} from '@sluice/shared/solana/well-known.ts';
import { MessageV0 } from '@solana/web3.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coin, openCurve, openPool, orderOf } from '../orders/coins.ts';
import {
  ammTrade,
  blockhash,
  buyMessage,
  closeAccount,
  computeLimit,
  computePrice,
  createWithSeed,
  initializeFor,
  instruction,
  makeAccount,
  messageOf,
  openingBuyMessage,
  pumpTrade,
  sellMessage,
  stranger,
  syncNative,
  temporarySolOf,
  transfer,
  u64s,
  wrappingBuyMessage,
} from './messages.ts';
import { fuzzCases } from '../support/fuzz.ts';

const wallet = generateKeypair(new Uint8Array(32).fill(1)).publicKey;
const thief = generateKeypair(new Uint8Array(32).fill(2)).publicKey;
const mint = generateKeypair(new Uint8Array(32).fill(3)).publicKey;
const own = associatedTokenAddress(wallet, mint, token2022Program);
const ownWrapped = associatedTokenAddress(wallet, wrappedSolMint, tokenProgram);
/** Where a message of the wallet wraps SOL. */
const temporary = await temporarySolOf(wallet);
const tip = jitoTipAccounts[0];
const seed = 20261121;

/** Signature, rent that the venue may take, and the priority fee of 200,000 units at 1,000 micro-lamports. */
const aroundTrade = 5_000n + 4_078_560n + 200n;
/** Rent of token accounts that a message creates, as the policy counts it: SPL Token, and Token-2022 with all extensions. */
const madeAccount = 2_039_280n;
const made2022Account = 2_282_880n;
/** `createAccountWithSeed` of the system program. */
const createWithSeedTag = 3;

function ruleOf(verdict: Verdict): Rule | 'signed' {
  return verdict.ok ? 'signed' : verdict.rule;
}

describe('the policy', () => {
  it('computes the most that a valid message can spend', () => {
    const buying = aroundTrade + made2022Account;
    expect(judge(buyMessage(wallet, mint, 70_000n), wallet)).toMatchObject({ ok: true, lamports: buying + 70_000n });
    const tipped = buyMessage(wallet, mint, 70_000n, { to: senderTipAccounts[3], lamports: 1_000_000n });
    expect(judge(tipped, wallet)).toMatchObject({ ok: true, lamports: buying + 1_070_000n });
    const wrapping = wrappingBuyMessage(wallet, mint, 70_000n);
    expect(judge(wrapping, wallet)).toMatchObject({ ok: true, lamports: buying + madeAccount + 70_000n });
    const opening = openingBuyMessage(wallet, mint, 70_000n, temporary);
    expect(judge(opening, wallet)).toMatchObject({ ok: true, lamports: 5_000n + 4_078_560n + madeAccount + 70_000n });
    expect(judge(sellMessage(wallet, mint), wallet)).toMatchObject({ ok: true, lamports: aroundTrade });
  });

  it('counts the rent of each token account that the message creates, with the extensions that its mint may require', () => {
    const sum = (...made: readonly Instruction[]): bigint => {
      const verdict = judge(messageOf(wallet, [...made, onPool]), wallet);
      return verdict.ok ? verdict.lamports : -1n;
    };
    const [coins, wrapped] = [
      makeAccount(wallet, wallet, mint, token2022Program),
      makeAccount(wallet, wallet, wrappedSolMint, tokenProgram),
    ];
    expect(sum(wrapped) - sum()).toBe(madeAccount);
    expect(sum(coins) - sum()).toBe(made2022Account);
    expect(sum(coins, wrapped) - sum()).toBe(madeAccount + made2022Account);
  });

  it('assumes the most compute units if no limit is set, and no more if a higher limit is set', () => {
    const trade = pumpTrade('sellV2', { wallet, mint });
    const priced = { ok: true, lamports: 5_000n + 4_078_560n + 1_400n };
    expect(judge(messageOf(wallet, [computePrice(1_000n), trade]), wallet)).toMatchObject(priced);
    expect(judge(messageOf(wallet, [computeLimit(2_000_000), computePrice(1_000n), trade]), wallet)).toMatchObject(priced);
  });

  it('signs a tip for each recipient of tips, and counts them', () => {
    const plain = judge(messageOf(wallet, [trade]), wallet);
    const tipped = judge(messageOf(wallet, [trade, transfer(wallet, tip, 7n), transfer(wallet, senderTipAccounts[3], 90n)]), wallet);
    expect(plain.ok && tipped.ok && tipped.lamports - plain.lamports).toBe(97n);
  });

  it('signs everything that the builder builds, for coins of every kind, and computes the maximum', () => {
    const builder = createMessageBuilder();
    const around = fc.record({
      exists: fc.constantFrom(true, false, null),
      wrappedSolExists: fc.boolean(),
      tips: fc.boolean(),
      price: fc.bigInt(0n, 10n ** 8n),
    });
    fc.assert(
      fc.property(coin, around, fc.boolean(), (one, { exists, wrappedSolExists, tips, price }, onPool) => {
        const { pool } = onPool ? openPool(one) : openCurve(one);
        const { recipient: _recipient, ...random } = orderOf(one, pool);
        // As for the bounds of an order: an exact amount to spend is its own bound.
        const order = one.exact === 'quoteIn' ? { ...random, maxIn: random.trade.amount } : random;
        const isSell = one.exact === 'baseIn';
        const {
          message,
          computeUnitLimit,
          tips: paid,
        } = builder.build({
          pool,
          order,
          baseAccountExists: exists,
          wrappedSolExists,
          wrappingRent: 1_488_440n,
          computeUnitLimit: null,
          microLamportsPerUnit: price,
          requestedTips: tips ? [{ accounts: [tip], lamports: 7n }] : [],
          blockhash,
        });
        const verdict = judge(message, one.user);
        const spent = isSell || one.quoteMint !== wrappedSolMint ? 0n : order.maxIn;
        const fee = (price * BigInt(computeUnitLimit) + 999_999n) / 1_000_000n;
        const known = 5_000n + 4_078_560n + rentOfMade(message) + fee + (paid.length > 0 ? 7n : 0n) + spent;
        expect(
          verdict.ok,
          JSON.stringify(verdict, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
        ).toBe(true);
        if (verdict.ok) expect([known, known + 2_088_000n]).toContain(verdict.lamports);
      }),
      { seed, numRuns: 300 },
    );
  });
});

const trade = pumpTrade('buyExactQuoteInV2', { wallet, mint, amounts: [1_000n, 1n] });
const onPool = ammTrade('buyExactQuoteIn', { wallet, mint, amounts: [1_000n, 1n] });
/** The same, and a sale, with an account that the message opens and closes. */
const viaTemporary = ammTrade('buyExactQuoteIn', { wallet, mint, quoteAccount: temporary, amounts: [1_000n, 1n] });
const saleViaTemporary = ammTrade('sell', { wallet, mint, quoteAccount: temporary });
const open = createWithSeed({ from: wallet, address: temporary, lamports: madeAccount + 1_000n });
const initialize = initializeFor(temporary, wallet);
const close = closeAccount(temporary, wallet, wallet, tokenProgram);

/** Rent of the token accounts that the message creates, read by @solana/web3.js. */
function rentOfMade(bytes: Uint8Array): bigint {
  const { staticAccountKeys, compiledInstructions } = MessageV0.deserialize(bytes);
  const keyAt = (index: number | undefined): string | undefined => staticAccountKeys[index ?? -1]?.toBase58();
  return compiledInstructions.reduce((sum, { programIdIndex, accountKeyIndexes, data }) => {
    const program = keyAt(programIdIndex);
    if (program === systemProgram) return data[0] === createWithSeedTag ? sum + madeAccount : sum;
    if (program !== associatedTokenProgram) return sum;
    return sum + (keyAt(accountKeyIndexes[5]) === token2022Program ? made2022Account : madeAccount);
  }, 0n);
}

/** A valid trade whose accounts or data are changed. */
function changed(good: Instruction, at: number, address: string): Instruction {
  return { ...good, accounts: good.accounts.map((meta, index) => (index === at ? { ...meta, address } : meta)) };
}

function withData(good: Instruction, data: Uint8Array): Instruction {
  return { ...good, data };
}

const hostile: readonly (readonly [what: string, rule: Rule, instructions: readonly Instruction[]])[] = [
  ['no trade', 'trade', [transfer(wallet, tip, 1n)]],
  ['two trades', 'trade', [trade, trade]],
  ['SOL to a stranger', 'transfer', [trade, transfer(wallet, thief, 1n)]],
  ['SOL to the coin', 'transfer', [trade, transfer(wallet, own, 1n)]],
  ['two tips', 'transfer', [trade, transfer(wallet, tip, 1n), transfer(wallet, tip, 1n)]],
  ['two tips to one recipient', 'transfer', [trade, transfer(wallet, tip, 1n), transfer(wallet, jitoTipAccounts[1], 1n)]],
  ['a tip that empties the wallet', 'transfer', [trade, transfer(wallet, tip, 100_000_001n)]],
  ['a priority fee that empties the wallet', 'compute_budget', [computeLimit(1_400_000), computePrice(35_714_286n), trade]],
  ['more wrapped than is traded', 'transfer', [transfer(wallet, ownWrapped, 1_001n), onPool]],
  ['wrapped twice', 'transfer', [transfer(wallet, ownWrapped, 1_000n), transfer(wallet, ownWrapped, 1_000n), onPool]],
  [
    'more SOL in a new account than the trade may cost',
    'transfer',
    [
      { ...open, data: createWithSeed({ from: wallet, address: temporary, lamports: madeAccount + 1_001n }).data },
      initialize,
      viaTemporary,
      close,
    ],
  ],
  ['SOL in a new account for a sale', 'transfer', [open, initialize, saleViaTemporary, close]],
  ['a new account that is not closed', 'token_account', [open, initialize, viaTemporary]],
  ['a new account that is closed before it is opened', 'token_account', [close, open, initialize, viaTemporary]],
  [
    'a new account that is closed to a stranger',
    'token_account',
    [open, initialize, viaTemporary, closeAccount(temporary, thief, wallet, tokenProgram)],
  ],
  ['a new account whose owner is a stranger', 'token_account', [open, initializeFor(temporary, thief), viaTemporary, close]],
  ['a new account of another coin', 'token_account', [open, initializeFor(temporary, wallet, mint), viaTemporary, close]],
  [
    'a new account under the other token program',
    'token_account',
    [open, initializeFor(temporary, wallet, wrappedSolMint, token2022Program), viaTemporary, close],
  ],
  ['a new account that no trade uses', 'transfer', [open, initialize, onPool, close]],
  ['SOL for the account before it is opened', 'transfer', [transfer(wallet, temporary, 2_000_000n), open, initialize, viaTemporary, close]],
  [
    'a new account of another size',
    'token_account',
    [createWithSeed({ from: wallet, address: temporary, lamports: 1_000n, space: 166 }), initialize, viaTemporary, close],
  ],
  [
    'a new account of another program',
    'token_account',
    [createWithSeed({ from: wallet, address: temporary, lamports: 1_000n, owner: thief }), initialize, viaTemporary, close],
  ],
  [
    'a new account of another address',
    'token_account',
    [createWithSeed({ from: wallet, address: stranger(), lamports: 1_000n }), initialize, viaTemporary, close],
  ],
  [
    'a new account with a stranger as its base',
    'signers',
    [createWithSeed({ from: wallet, address: temporary, base: thief, lamports: 1_000n }), initialize, saleViaTemporary, close],
  ],
  ['SOL wrapped for a sale', 'transfer', [transfer(wallet, ownWrapped, 1n), ammTrade('sell', { wallet, mint })]],
  [
    'a new system account',
    'transfer',
    [trade, instruction(systemProgram, [wallet, thief], Uint8Array.of(0, 0, 0, 0, ...u64s(9n), ...u64s(0n)), wallet)],
  ],
  [
    'the wallet assigned to a program',
    'transfer',
    [trade, instruction(systemProgram, [wallet], Uint8Array.of(1, 0, 0, 0, ...new Uint8Array(32)), wallet)],
  ],
  [
    'a transfer with a seed',
    'transfer',
    [trade, instruction(systemProgram, [wallet, wallet, thief], Uint8Array.of(11, 0, 0, 0, ...u64s(9n)), wallet)],
  ],
  ['another program', 'program', [trade, instruction(thief, [wallet], Uint8Array.of(1), wallet)]],
  ['a memo', 'program', [trade, instruction('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr', [], Buffer.from('hello'))]],
  [
    'tokens transferred',
    'token_account',
    [trade, instruction(token2022Program, [own, thief, wallet], Uint8Array.of(3, ...u64s(1n)), wallet)],
  ],
  [
    'tokens transferred, checked',
    'token_account',
    [trade, instruction(token2022Program, [own, mint, thief, wallet], Uint8Array.of(12, ...u64s(1n), 6), wallet)],
  ],
  [
    'approval of a delegate',
    'token_account',
    [trade, instruction(token2022Program, [own, thief, wallet], Uint8Array.of(4, ...u64s(1n)), wallet)],
  ],
  [
    'a change of the owner',
    'token_account',
    [trade, instruction(token2022Program, [own, wallet], Uint8Array.of(6, 2, 1, ...new Uint8Array(32)), wallet)],
  ],
  ['tokens burned', 'token_account', [trade, instruction(token2022Program, [own, mint, wallet], Uint8Array.of(8, ...u64s(1n)), wallet)]],
  ['a batch', 'token_account', [trade, instruction(tokenProgram, [own, thief, wallet], Uint8Array.of(255, 3, 9, 3), wallet)]],
  ['closing an account in favour of a stranger', 'token_account', [trade, closeAccount(own, thief, wallet, token2022Program)]],
  ['closing an account by a stranger', 'signers', [trade, closeAccount(own, wallet, thief, token2022Program)]],
  ['closing an account of another trade', 'token_account', [trade, closeAccount(stranger(), wallet, wallet, token2022Program)]],
  ['closing an account under another program', 'token_account', [trade, closeAccount(own, wallet, wallet, tokenProgram)]],
  ['a sync of an account of the coin', 'token_account', [trade, syncNative(own)]],
  ['a new account for a stranger', 'token_account', [makeAccount(wallet, thief, mint, token2022Program), trade]],
  ['a new account of another coin', 'token_account', [makeAccount(wallet, wallet, stranger(), token2022Program), trade]],
  ['a new account under another program', 'token_account', [makeAccount(wallet, wallet, mint, tokenProgram), trade]],
  [
    'recovery of a nested account',
    'token_account',
    [trade, { ...makeAccount(wallet, wallet, mint, token2022Program), data: Uint8Array.of(2) }],
  ],
  ['three new accounts', 'token_account', [...Array.from({ length: 3 }, () => makeAccount(wallet, wallet, mint, token2022Program)), trade]],
  ['an unknown instruction of ATA', 'token_account', [trade, instruction(associatedTokenProgram, [wallet], Uint8Array.of(9), wallet)]],
  ['two prices of compute units', 'compute_budget', [computePrice(1n), computePrice(2n), trade]],
  ['a heap', 'compute_budget', [instruction('ComputeBudget111111111111111111111111111111', [], Uint8Array.of(1, 0, 0, 1, 0)), trade]],
  ['tokens bought for a stranger', 'token_account', [changed(trade, 14, associatedTokenAddress(thief, mint, token2022Program))]],
  [
    'tokens bought for a stranger on the pool',
    'token_account',
    [changed(onPool, 5, associatedTokenAddress(thief, mint, token2022Program))],
  ],
  [
    'proceeds for a stranger',
    'token_account',
    [changed(ammTrade('sell', { wallet, mint }), 6, associatedTokenAddress(thief, wrappedSolMint, tokenProgram))],
  ],
  ['another pool', 'trade', [changed(onPool, 0, thief)]],
  ['a curve of another coin', 'trade', [changed(trade, 10, thief)]],
  ['a trade of another user', 'signers', [changed(trade, 13, thief)]],
  ['an unknown token program', 'trade', [changed(trade, 3, thief)]],
  ['too few accounts', 'trade', [{ ...trade, accounts: trade.accounts.slice(0, 26) }]],
  ['too many accounts', 'trade', [{ ...trade, accounts: [...trade.accounts, { address: thief, signer: false, writable: true }] }]],
  ['more data than a trade has', 'trade', [withData(trade, Uint8Array.of(...trade.data, 0))]],
  ['less data than a trade has', 'trade', [withData(trade, trade.data.slice(0, 23))]],
  ['another instruction of the venue', 'trade', [withData(trade, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, ...u64s(1n, 1n)))]],
  ['SOL as the coin', 'trade', [ammTrade('sell', { wallet, mint: wrappedSolMint, quoteMint: mint, baseProgram: tokenProgram })]],
  ['a purchase without a bound', 'bounds', [pumpTrade('buyExactQuoteInV2', { wallet, mint, amounts: [1_000n, 0n] })]],
  ['a sale without a bound', 'bounds', [pumpTrade('sellV2', { wallet, mint, amounts: [1_000n, 0n] })]],
];

describe('the policy refuses', () => {
  it.each(hostile)('%s (%s)', (_what, rule, instructions) => {
    expect(ruleOf(judge(messageOf(wallet, instructions), wallet))).toBe(rule);
  });

  it('a message with another payer or signer', () => {
    expect(ruleOf(judge(messageOf(thief, [trade]), wallet))).toBe('signers');
    const second = instruction(systemProgram, [thief, wallet], Uint8Array.of(2, 0, 0, 0, ...u64s(1n)), thief);
    expect(ruleOf(judge(messageOf(wallet, [trade, second]), wallet))).toBe('signers');
    expect(ruleOf(judge(messageOf(wallet, [trade]), thief))).toBe('signers');
  });

  it('a message of another version, with extra bytes, or cut short', () => {
    expect(ruleOf(judge(messageOf(wallet, [trade], 'legacy'), wallet))).toBe('malformed');
    const good = messageOf(wallet, [trade]);
    expect(ruleOf(judge(good, wallet))).toBe('signed');
    expect(ruleOf(judge(Uint8Array.of(...good, 0), wallet))).toBe('malformed');
    for (let length = 2; length < good.length; length++) expect(ruleOf(judge(good.subarray(0, length), wallet))).toBe('malformed');
    expect(ruleOf(judge(new Uint8Array(5_000).fill(128), wallet))).toBe('malformed');
  });

  it('accounts from a lookup table', () => {
    const good = MessageV0.deserialize(messageOf(wallet, [trade]));
    const table = { accountKey: good.staticAccountKeys[5]!, writableIndexes: [1], readonlyIndexes: [] };
    const message = new MessageV0({
      header: good.header,
      staticAccountKeys: good.staticAccountKeys,
      recentBlockhash: good.recentBlockhash,
      compiledInstructions: good.compiledInstructions,
      addressTableLookups: [table],
    });
    expect(ruleOf(judge(message.serialize(), wallet))).toBe('lookup_tables');
  });

  it('a valid message with one byte changed, unless the change sends nothing elsewhere', () => {
    const messages = [
      buyMessage(wallet, mint, 1_000_000n, { to: tip, lamports: 5_000n }),
      wrappingBuyMessage(wallet, mint, 1_000_000n),
      openingBuyMessage(wallet, mint, 1_000_000n, temporary),
      sellMessage(wallet, mint),
    ];
    const change = fc.record({ which: fc.nat(messages.length - 1), at: fc.nat(2_000), to: fc.integer({ min: 1, max: 255 }) });
    let signed = 0;
    fc.assert(
      fc.property(change, ({ which, at, to }) => {
        const good = messages[which]!;
        const bad = Uint8Array.from(good);
        bad[at % good.length] = bad[at % good.length]! ^ to;
        const verdict = judge(bad, wallet);
        if (!verdict.ok) return;
        signed++;
        expect(leavesTo(bad)).toEqual([]);
      }),
      { seed, numRuns: fuzzCases(20_000) },
    );
    // The blockhash, amounts and the venue's own accounts may change, so the property is not empty.
    expect(signed).toBeGreaterThan(fuzzCases(1_000));
  });

  it('random combinations of instructions, one of which moves something of the wallet to another owner', () => {
    const parts: readonly Instruction[] = [
      ...hostile.flatMap(([, , instructions]) => instructions),
      trade,
      onPool,
      computeLimit(1_000),
      computePrice(5n),
      transfer(wallet, tip, 3n),
      makeAccount(wallet, wallet, mint, token2022Program),
      closeAccount(own, wallet, wallet, token2022Program),
      closeAccount(ownWrapped, wallet, wallet, tokenProgram),
      syncNative(ownWrapped),
      viaTemporary,
      open,
      initialize,
      close,
    ];
    let signed = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 }), (instructions) => {
        const message = messageOf(wallet, instructions);
        if (!judge(message, wallet).ok) return;
        signed++;
        expect(leavesTo(message)).toEqual([]);
      }),
      { seed, numRuns: fuzzCases(20_000) },
    );
    expect(signed).toBeGreaterThan(fuzzCases(50));
  });
});

/**
 * Where SOL or tokens of the wallet go by this message besides the venue, read by @solana/web3.js and by the programs' own layouts:
 * transfers of SOL and tokens, closed accounts, new owners and delegates, accounts for others, trades of other wallets.
 */
function leavesTo(bytes: Uint8Array): readonly string[] {
  const message = MessageV0.deserialize(bytes);
  const keys = message.staticAccountKeys.map((one) => one.toBase58());
  const opened = message.compiledInstructions.flatMap(({ programIdIndex, accountKeyIndexes, data }) =>
    keys[programIdIndex] === systemProgram && data[0] === createWithSeedTag ? [keys[accountKeyIndexes[1] ?? -1] ?? ''] : [],
  );
  const allowed = new Set<string>([wallet, own, ownWrapped, ...opened, ...jitoTipAccounts, ...senderTipAccounts]);
  return message.compiledInstructions.flatMap(({ programIdIndex, accountKeyIndexes, data }) => {
    const program = keys[programIdIndex]!;
    const at = (index: number): string => keys[accountKeyIndexes[index] ?? -1] ?? 'nobody';
    const goes = (index: number): readonly string[] => (allowed.has(at(index)) ? [] : [at(index)]);
    // An opened account belongs to the wallet, and is closed again.
    if (program === systemProgram) {
      if (data[0] !== createWithSeedTag) return data[0] === 2 ? goes(1) : ['a system instruction'];
      return isSeededBy(wallet, at(1), data) && closes(at(1)) ? goes(0) : ['a new account'];
    }
    if (program === associatedTokenProgram) return goes(2);
    if (program === tokenProgram || program === token2022Program) {
      if (data[0] === 18)
        return encodeBase58(data.subarray(1)) === wallet && at(1) === wrappedSolMint ? goes(0) : ['an account of a stranger'];
      return data[0] === 9 ? goes(1) : data[0] === 17 ? goes(0) : ['a token instruction'];
    }
    if (program === trade.programId) return [...goes(13), ...goes(14)];
    if (program === onPool.programId) return [...goes(1), ...goes(5), ...goes(6)];
    return program === 'ComputeBudget111111111111111111111111111111' ? [] : [program];
  });

  function closes(account: string): boolean {
    return message.compiledInstructions.some(
      ({ programIdIndex, accountKeyIndexes, data }) =>
        keys[programIdIndex] === tokenProgram && data[0] === 9 && keys[accountKeyIndexes[0] ?? -1] === account,
    );
  }
}

/** Whether the data of `createAccountWithSeed` makes a token account at an address that is derived from this base. */
function isSeededBy(base: string, account: string, data: Uint8Array): boolean {
  const bytes = Buffer.from(data);
  const seedAt = 44;
  const end = seedAt + Number(bytes.readBigUInt64LE(seedAt - 8));
  const owner = bytes.subarray(end + 16);
  const derived = createHash('sha256').update(bytes.subarray(4, 36)).update(bytes.subarray(seedAt, end)).update(owner).digest();
  return encodeBase58(bytes.subarray(4, 36)) === base && encodeBase58(owner) === tokenProgram && encodeBase58(derived) === account;
}

it.each([
  ['input', wrappedSolMint, stranger(), 'buy'],
  ['output', stranger(), wrappedSolMint, 'sell'],
  // A curve of another money.
  ['output', wrappedSolMint, stranger(), 'sell'],
  [null, wrappedSolMint, stranger(), 'buy'],
  [null, stranger(), usdcMint, 'sell'],
  [null, usdcMint, wrappedSolMint, null],
  [null, stranger(), stranger(1), null],
] as const)('a form with the money %s, from %s to %s, is a %s', (money, input, output, side) => {
  expect(sideOf({ money }, input, output)).toBe(side);
});
