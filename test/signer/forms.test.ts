import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readToSigner } from '@sluice/trading/signer/wire/protocol.ts';
import { readTrade, type NamedInstruction, type Trade, type TradeContext } from '@sluice/trading/signer/checks/trade-instruction.ts';
import type { Refusal, Rule } from '@sluice/trading/signer/checks/verdict.ts';
import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import { addressBytes, associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { readTransaction, type TokenBalance, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { pool as dammPool, poolLength as dammPoolLength } from '../../venues/src/meteora/damm-v2/layout.ts';
import { poolDiscriminator as dammDiscriminator, programId as dammProgram } from '../../venues/src/meteora/damm-v2/program.ts';
import { pool as ammPool, poolLength as ammPoolLength } from '../../venues/src/raydium/amm/layout.ts';
import { programId as ammProgram } from '../../venues/src/raydium/amm/program.ts';
import { pool as clmmPool, poolLength as clmmPoolLength } from '../../venues/src/raydium/clmm/layout.ts';
import { accountDiscriminators as clmmAccounts, programId as clmmProgram } from '../../venues/src/raydium/clmm/program.ts';
import { pool as cpmmPool, poolLength as cpmmPoolLength } from '../../venues/src/raydium/cpmm/layout.ts';
import { accountDiscriminators as cpmmAccounts, programId as cpmmProgram } from '../../venues/src/raydium/cpmm/program.ts';
import { venueByProgram, venues } from '@sluice/venues/registry.ts';
import type { CoinPositions, MintPositions, TradeForm, VenueSigning } from '@sluice/venues/seam/signing.ts';
import { describe, expect, it } from 'vitest';
import { fixtureBytes, fixtureJson, fixturesFolder, fixturesNote, fixturesPresent } from '../golden/fixtures.ts';
import { stranger } from './messages.ts';
import { dlmmPool, dlmmProgram, draftForms } from './draft-forms.ts';

const nothingOpened: TradeContext['opened'] = new Map();

function ruleOf(read: Trade | Refusal): Rule | 'read' {
  return 'ok' in read ? read.rule : 'read';
}

const poolLayouts: ReadonlyMap<string, { readonly length: number; readonly discriminator: Uint8Array; readonly at: readonly number[] }> =
  new Map([
    [clmmProgram, { length: clmmPoolLength, discriminator: clmmAccounts.pool, at: [clmmPool.mint0, clmmPool.mint1] }],
    [cpmmProgram, { length: cpmmPoolLength, discriminator: cpmmAccounts.pool, at: [cpmmPool.mint0, cpmmPool.mint1] }],
    // No discriminator; the status is 6, and the denominator of the fee above its numerator.
    [ammProgram, { length: ammPoolLength, discriminator: Uint8Array.of(6), at: [ammPool.coinMint, ammPool.pcMint] }],
    [dammProgram, { length: dammPoolLength, discriminator: dammDiscriminator, at: [dammPool.mintA, dammPool.mintB] }],
    [dlmmProgram, { ...dlmmPool, at: dlmmPool.mintsAt }],
  ]);

/** The account of a pool of these coins, for programs whose instructions name none. */
function accountOf(programId: string, coins: readonly [string, string]): Uint8Array {
  const { length, discriminator, at } = poolLayouts.get(programId)!;
  const data = new Uint8Array(length);
  data.set(discriminator);
  if (programId === ammProgram) data[ammPool.swapFeeDenominator] = 1;
  for (const [index, coin] of coins.entries()) data.set(addressBytes(coin), at[index]);
  return data;
}

interface Recorded {
  readonly where: string;
  readonly instruction: NamedInstruction;
  readonly form: TradeForm;
  readonly signing: VenueSigning;
  readonly balances: readonly TokenBalance[];
}

/** The data with a limit where a router gave none, and with the fields that must be zero. */
function bounded({ limits, zeros }: TradeForm, recorded: Uint8Array): Uint8Array {
  const data = Buffer.from(recorded);
  for (const at of [limits.maxInAt, limits.minOutAt]) if (data.readBigUInt64LE(at) === 0n) data.writeBigUInt64LE(1n, at);
  for (const [from, end] of zeros) data.fill(0, from, end);
  return data;
}

const signingOf = (programId: string): VenueSigning | undefined =>
  draftForms.get(programId) ?? venueByProgram.get(programId)?.signing ?? undefined;

function recordedIn(where: string, view: TransactionView): readonly Recorded[] {
  return [...view.instructions, ...[...(view.inner?.values() ?? [])].flat()].flatMap((instruction) => {
    const signing = signingOf(instruction.programId);
    const form = signing?.forms.find(
      ({ discriminator, accountCount: [fewest, most] }) =>
        hasPrefix(instruction.data, discriminator) && instruction.accounts.length >= fewest && instruction.accounts.length <= most,
    );
    return signing === undefined || form === undefined ? [] : [{ where, instruction, form, signing, balances: view.tokenBalances ?? [] }];
  });
}

function allRecorded(): readonly Recorded[] {
  const folders = ['raydium-cpmm', 'raydium-clmm', 'raydium-amm-v4', 'meteora-damm-v2', 'meteora-dbc', 'meteora-dlmm'];
  const single = folders.flatMap((folder) =>
    readdirSync(join(fixturesFolder, 'venues', folder)).map((name): [string, unknown] => {
      return [name, (fixtureJson(`venues/${folder}/${name}`) as { readonly result?: unknown }).result];
    }),
  );
  const blocks = ['285000037', '332254908'].flatMap((slot) => {
    const json = JSON.parse(gunzipSync(fixtureBytes(`blocks/${slot}.json.gz`)).toString()) as { readonly result?: unknown };
    const { transactions } = (json.result ?? json) as { readonly transactions: readonly unknown[] };
    return transactions.map((answer): [string, unknown] => [slot, answer]);
  });
  return [...single, ...blocks].flatMap(([where, answer]) => {
    const view = answer === undefined ? null : readTransaction(answer);
    return view?.kind === 'transaction' ? recordedIn(where, view) : [];
  });
}

describe.skipIf(!fixturesPresent)(`forms of instructions in both directions (${fixturesNote})`, () => {
  it('read every recorded swap between the user’s own accounts as it was, and no other', () => {
    const read = new Map<string, number>();
    const refused = new Map<string, number>();
    for (const { where, instruction, form, signing, balances } of allRecorded()) {
      const { accounts, programId } = instruction;
      const wallet = accounts[form.user]!;
      const [input, output] = [accounts[form.input.account]!, accounts[form.output.account]!];
      const mintOf = (address: string): string | undefined => balances.find(({ account }) => account === address)?.mint;
      const [given, received] = [mintOf(input), mintOf(output)];
      if (given === undefined || received === undefined) continue;
      const poolAccount = 'coinsIn' in form.pool ? accountOf(programId, [given, received]) : null;
      const data = bounded(form, instruction.data);
      const context = { wallet, opened: nothingOpened, poolAccount };
      const trade = readTrade({ programId, accounts, data }, context, signing);
      if (Buffer.compare(data, instruction.data) !== 0) expect(ruleOf(readTrade(instruction, context, signing))).not.toBe('read');
      const isOwn = (address: string, mint: string): boolean =>
        [tokenProgram, token2022Program].some((program) => associatedTokenAddress(wallet, mint, program) === address);
      const hasOneMoney = quoteCoins.has(given) !== quoteCoins.has(received);
      const key = `${programId.slice(0, 4)} ${data[0]} ${accounts.length}`;
      // Some routers append bytes.
      const isWhole = instruction.data.length <= form.dataBytes[1];
      const counts = isWhole && hasOneMoney && isOwn(input, given) && isOwn(output, received) ? read : refused;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (counts === refused) {
        expect([where, ruleOf(trade)]).not.toEqual([where, 'read']);
        continue;
      }
      const view = new DataView(data.buffer, data.byteOffset, data.length);
      const isExactOut = form.limits.mode !== null && data[form.limits.mode.at] === form.limits.mode.exactOut;
      expect(trade, where).toMatchObject({
        side: quoteCoins.has(given) ? 'buy' : 'sell',
        ...(quoteCoins.has(given)
          ? { quoteMint: given, quoteAccount: input, baseMint: received, baseAccount: output }
          : { baseMint: given, baseAccount: input, quoteMint: received, quoteAccount: output }),
        maxIn: view.getBigUint64(isExactOut ? form.limits.minOutAt : form.limits.maxInAt, true),
      });
    }
    // By program, first byte of the data, and number of accounts.
    expect([...read.keys()].toSorted()).toEqual(
      expect.arrayContaining(['675k 16 8', 'CAMM 248 12', 'CAMM 248 13', 'CAMM 43 15', 'CPMM 143 13', 'LBUZ 248 17']),
    );
    expect([...refused.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(10);
  });
});

const wallet = stranger(90);
const thief = stranger(91);
const coin = stranger(92);

interface Good {
  readonly name: string;
  readonly programId: string;
  readonly signing: VenueSigning;
  readonly form: TradeForm;
  readonly side: 'buy' | 'sell';
}

/** Each form of each venue, and of the drafts, in each direction that it has. */
const everyForm: readonly Good[] = [
  ...venues.map(({ programId, signing }) => [programId, signing] as const),
  ...draftForms.entries(),
].flatMap(([programId, signing]) =>
  (signing?.forms ?? []).flatMap((form) => {
    const sides = form.money === null ? (['buy', 'sell'] as const) : [form.money === 'input' ? ('buy' as const) : ('sell' as const)];
    const tag = Buffer.from(form.discriminator).toString('hex').slice(0, 8);
    return sides.map((side) => ({
      name: `${programId.slice(0, 4)} ${tag}, ${form.accountCount[1]} accounts, ${side}`,
      programId,
      signing: signing!,
      form,
      side,
    }));
  }),
);

const [most, least] = [7_000n, 5n];

function mintsOf(mints: MintPositions): readonly number[] {
  if (mints === null) return [];
  return 'either' in mints ? mints.either : [mints.input, mints.output];
}

/** A trade by the form: `most` is paid at most, and `least` is received at least. */
function goodTrade({ programId, form, side }: Good): { readonly instruction: NamedInstruction; readonly context: TradeContext } {
  const { discriminator, accountCount, dataBytes, user, input, output, mints, pool, limits } = form;
  const accounts = Array.from({ length: accountCount[0] }, (_, index) => stranger(index));
  const [base, quote] = side === 'buy' ? [output, input] : [input, output];
  const place = ({ account, program }: CoinPositions, of: string, owner: string): void => {
    accounts[account] = associatedTokenAddress(wallet, of, owner);
    if (program !== null) accounts[program] = owner;
  };
  accounts[user] = wallet;
  // If both coins share the account of the program, it is that of SOL.
  place(base, coin, base.program !== null && base.program === quote.program ? tokenProgram : token2022Program);
  place(quote, wrappedSolMint, tokenProgram);
  const inOrder = side === 'buy' ? [wrappedSolMint, coin] : [coin, wrappedSolMint];
  // The pool's order does not depend on the direction.
  for (const [index, at] of mintsOf(mints).entries()) accounts[at] = 'either' in mints! ? [coin, wrappedSolMint][index]! : inOrder[index]!;
  if ('addressOf' in pool) accounts[pool.at] = pool.addressOf({ base: coin, quote: wrappedSolMint }, accounts);
  const data = Buffer.alloc(dataBytes[0]);
  data.set(discriminator);
  data.writeBigUInt64LE(most, limits.maxInAt);
  data.writeBigUInt64LE(least, limits.minOutAt);
  if (limits.mode !== null) data[limits.mode.at] = limits.mode.exactIn[0]!;
  const poolAccount = 'coinsIn' in pool ? accountOf(programId, [coin, wrappedSolMint]) : null;
  return { instruction: { programId, accounts, data }, context: { wallet, opened: nothingOpened, poolAccount } };
}

describe.each(everyForm)('a trade of $name', (good) => {
  const { form, side, signing, programId } = good;
  const { instruction, context } = goodTrade(good);
  const { accounts, data } = instruction;
  const read = (changes: Partial<NamedInstruction>, more: Partial<TradeContext> = {}): Trade | Refusal =>
    readTrade({ ...instruction, ...changes }, { ...context, ...more }, signing);
  const changed = (at: number, address: string): Partial<NamedInstruction> => ({ accounts: accounts.with(at, address) });
  const withByte = (at: number, byte: number): Partial<NamedInstruction> => ({ data: Uint8Array.from(data).with(at, byte) });
  const mints = mintsOf(form.mints);
  const isOrdered = form.mints !== null && 'input' in form.mints;
  const exchanged = (one: number, other: number): Partial<NamedInstruction> => ({
    accounts: accounts.with(one, accounts[other]!).with(other, accounts[one]!),
  });

  it('is read with its side, its coins and the most that it costs', () => {
    const expected = { side, baseMint: coin, quoteMint: wrappedSolMint, maxIn: most, pool: accounts[form.pool.at] };
    expect(read({})).toMatchObject(expected);
  });

  it('is refused with an account of somebody else at any position that matters', () => {
    expect(ruleOf(read(changed(form.user, thief)))).toBe('trade');
    for (const mint of mints) expect(ruleOf(read(changed(mint, thief)))).not.toBe('read');
    for (const { account, program } of [form.input, form.output]) {
      for (const foreign of [thief, associatedTokenAddress(thief, coin, token2022Program), accounts[form.user]!])
        expect(ruleOf(read(changed(account, foreign)))).toBe('token_account');
      if (program !== null) expect(ruleOf(read(changed(program, thief)))).not.toBe('read');
    }
    // Each account one position further.
    expect(ruleOf(read({ accounts: [accounts.at(-1)!, ...accounts.slice(0, -1)] }))).not.toBe('read');
  });

  it('is refused with the accounts or the coins in the order of the other direction', () => {
    if (isOrdered) {
      expect(ruleOf(read(exchanged(form.input.account, form.output.account)))).toBe('token_account');
      expect(ruleOf(read(exchanged(mints[0]!, mints[1]!)))).not.toBe('read');
    } else {
      // Nothing but the accounts shows the direction, so this is the trade in the other one.
      expect(read(exchanged(form.input.account, form.output.account))).toMatchObject({ side: side === 'buy' ? 'sell' : 'buy' });
    }
  });

  it('is refused on the pool of other coins', () => {
    if ('addressOf' in form.pool) {
      expect(ruleOf(read(changed(form.pool.at, thief)))).toBe('trade');
      const other = form.pool.addressOf({ base: stranger(93), quote: wrappedSolMint }, accounts);
      expect(ruleOf(read(changed(form.pool.at, other)))).toBe('trade');
      return;
    }
    for (const poolAccount of [null, new Uint8Array(0), new Uint8Array(ammPoolLength - 1)])
      expect(ruleOf(read({}, { poolAccount }))).toBe('trade');
    const foreign = accountOf(programId, [stranger(93), wrappedSolMint]);
    expect(ruleOf(read({}, { poolAccount: foreign }))).toBe(form.mints === null ? 'token_account' : 'trade');
  });

  it('is refused without a limit, and with a field that must be zero', () => {
    const { maxInAt, minOutAt, mode } = form.limits;
    for (const at of [maxInAt, minOutAt]) expect(ruleOf(read({ data: Uint8Array.from(data).fill(0, at, at + 8) }))).toBe('bounds');
    for (const [from, end] of form.zeros) for (let at = from; at < end; at++) expect(ruleOf(read(withByte(at, 1)))).toBe('trade');
    if (mode === null) return;
    for (let byte = 0; byte < 256; byte++) {
      if (byte === mode.exactOut) expect(read(withByte(mode.at, byte))).toMatchObject({ maxIn: least });
      else if (mode.exactIn.includes(byte)) expect(read(withByte(mode.at, byte))).toMatchObject({ maxIn: most });
      else expect(ruleOf(read(withByte(mode.at, byte)))).toBe('trade');
    }
  });

  it('is refused with more or fewer accounts or data', () => {
    const [fewest, most_] = form.accountCount;
    const padded = [...accounts, ...Array.from({ length: most_ - fewest + 1 }, (_, index) => stranger(50 + index))];
    expect(ruleOf(read({ accounts: padded }))).not.toBe('read');
    expect(ruleOf(read({ accounts: accounts.slice(0, -1) }))).not.toBe('read');
    expect(ruleOf(read({ data: Uint8Array.of(...data, ...new Uint8Array(form.dataBytes[1] - form.dataBytes[0] + 1)) }))).toBe('trade');
    for (let length = 0; length < data.length; length++) expect(ruleOf(read({ data: data.subarray(0, length) }))).toBe('trade');
  });

  it.runIf(form.money === null)('is refused if both coins are money, or none is', () => {
    const [base] = side === 'buy' ? [form.output] : [form.input];
    for (const [at, position] of [form.input, form.output].entries()) {
      // The other coin's quote coin, or an unknown coin in place of SOL.
      const mint = position === base ? [...quoteCoins.keys()][1]! : stranger(94);
      const program = position.program === null ? tokenProgram : accounts[position.program]!;
      const moved = accounts.with(position.account, associatedTokenAddress(wallet, mint, program));
      const coins = [coin, wrappedSolMint] as const;
      const unchanged = position === base ? coins[1] : coins[0];
      const replaced = mints.find((one) => accounts[one] === (position === base ? coin : wrappedSolMint));
      const all = replaced === undefined ? moved : moved.with(replaced, mint);
      const poolAccount = 'coinsIn' in form.pool ? accountOf(programId, [mint, unchanged]) : null;
      expect([at, ruleOf(read({ accounts: all }, { poolAccount }))]).toEqual([at, 'trade']);
    }
  });
});

it('the bytes of a pool reach the signing process, and may be absent', () => {
  const command = { op: 'sign', id: 1, orderId: 'one', publicKey: wallet, message: '', runningAtNs: '1', nowMs: 1 };
  expect(readToSigner(command)).toMatchObject({ poolAccount: null });
  expect(readToSigner({ ...command, poolAccount: null })).toMatchObject({ poolAccount: null });
  expect(readToSigner({ ...command, poolAccount: 'AQI=' })).toMatchObject({ poolAccount: Uint8Array.of(1, 2) });
});
