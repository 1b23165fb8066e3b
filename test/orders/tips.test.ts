import { jitoTipAccounts, senderTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { createMessageBuilder, maxMessageBytes } from '../../trading/src/prepare/message-builder.ts';
import { endStates, type StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { createTippedLanes, laneTips } from '../../trading/src/prepare/tips.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { assembleTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { systemProgram, token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import { AddressLookupTableAccount, PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { wallet } from '../simnet/runtime/wallets.ts';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { coin, openCurve, openPool, orderOf } from './coins.ts';
import { startPaidLane, type PaidLaneServer } from './paid-lane.ts';

const seed = 20261121;
const blockhash = encodeBase58(new Uint8Array(32).fill(7));
const senderUrl = 'http://sender.invalid/fast';
const both: Config['broadcast'] = { jitoUrl: 'http://jito.invalid', jitoTip: 1_000n, senderUrl, senderTip: 1_000_000n };
const noSignature = new Uint8Array(64);

describe('messages with tips', () => {
  const wrapping = { wrappedSolExists: false, wrappingRent: 1_488_440n };
  const around = { baseAccountExists: null, ...wrapping, computeUnitLimit: null, microLamportsPerUnit: 9n, blockhash };
  const tippedLanes = createTippedLanes(both);

  test('every coin has room for one tip, most for both; the fill shows the reported tips', () => {
    const builder = createMessageBuilder();
    const seen = { both: 0, one: 0 };
    fc.assert(
      fc.property(coin, fc.boolean(), (one, isCurve) => {
        const { pool } = isCurve ? openCurve(one) : openPool(one);
        const request = { ...around, pool, order: orderOf(one, pool) };
        const plain = builder.build(request);
        const { message, tips: paid } = builder.build({ ...request, requestedTips: laneTips(both) });
        expect(message.length).toBeLessThanOrEqual(maxMessageBytes);
        seen[paid.length === 2 ? 'both' : 'one']++;
        expect([...tippedLanes(assembleTransaction(message, [noSignature]))]).toEqual(paid.length === 2 ? ['sender', 'jito'] : ['sender']);
        expect(paid[0]).toMatchObject({ lamports: 1_000_000n });
        expect(plain.tips).toEqual([]);
      }),
      { seed, numRuns: 400 },
    );
    expect(seen.both).toBeGreaterThan(300);
  });

  test('if the wallet has an account of wrapped SOL, tips give way to the temporary one', () => {
    const builder = createMessageBuilder();
    const seen = new Set<string>();
    fc.assert(
      fc.property(coin, (one) => {
        const wrapped = { ...one, quoteMint: wrappedSolMint };
        const { pool } = openPool(wrapped);
        const request = {
          ...around,
          baseAccountExists: one.exact === 'baseIn' ? true : null,
          wrappedSolExists: true,
          pool,
          order: orderOf(wrapped, pool),
          requestedTips: laneTips(both),
        };
        const { message, trade, tips } = builder.build(request);
        expect(message.length).toBeLessThanOrEqual(maxMessageBytes);
        expect(trade.quoteAccount).not.toBe(associatedTokenAddress(one.user, wrappedSolMint, tokenProgram));
        seen.add(`${one.exact === 'baseIn' ? 'sell' : 'buy'} ${tips.length}`);
      }),
      { seed, numRuns: 200 },
    );
    expect([...seen].toSorted()).toEqual(['buy 0', 'buy 1', 'buy 2', 'sell 0', 'sell 1', 'sell 2']);
  });

  test('without room for both, the block engine is omitted, and the message equals that with one tip', () => {
    const [one] = fc.sample(coin, { seed, numRuns: 1 });
    const { pool } = openCurve({ ...one!, quoteMint: wrappedSolMint, exact: 'quoteIn' });
    const order = orderOf({ ...one!, quoteMint: wrappedSolMint, exact: 'quoteIn' }, pool);
    const size = createMessageBuilder().build({ ...around, pool, order }).message.length;
    // As many further accounts as leave room for one tip (49 bytes) and not for two.
    const room = Math.floor((maxMessageBytes - size - 49) / 33);
    const wide = (accounts: number): typeof pool => ({
      ...pool,
      build: (requested) => {
        const trade = pool.build(requested);
        const more = Array.from({ length: accounts }, (_, i) => ({
          address: wallet('wide', `${i}`).publicKey,
          signer: false,
          writable: false,
        }));
        return { ...trade, instruction: { ...trade.instruction, accounts: [...trade.instruction.accounts, ...more] } };
      },
    });
    const request = { ...around, order };
    const [first, second] = laneTips(both);
    const full = createMessageBuilder().build({ ...request, pool: wide(room), requestedTips: [first!, second!] });
    const single = createMessageBuilder().build({ ...request, pool: wide(room), requestedTips: [first!] });
    expect(full.tips.map(({ lamports }) => lamports)).toEqual([1_000_000n]);
    expect(Buffer.from(full.message).equals(single.message)).toBe(true);
    expect(createMessageBuilder().build({ ...request, pool: wide(room + 1), requestedTips: [first!, second!] }).tips).toEqual([]);
  });

  test('tip accounts are used in turn, all of them by several wallets', () => {
    const builder = createMessageBuilder();
    const [one] = fc.sample(coin, { seed, numRuns: 1 });
    const paid = new Set<string>();
    for (let i = 0; i < 40; i++) {
      const mine = { ...one!, user: wallet('tips', `${i % 20}`).publicKey };
      const { pool } = openCurve(mine);
      for (let turn = 0; turn < 8; turn++) {
        const built = builder.build({
          ...around,
          pool,
          order: orderOf(mine, pool),
          requestedTips: laneTips(both),
        });
        for (const { to } of built.tips) paid.add(to);
      }
    }
    expect([...paid].toSorted()).toEqual([...jitoTipAccounts, ...senderTipAccounts].toSorted());
  });
});

describe('the lanes that a transaction pays', () => {
  const payer = wallet('tips', 'payer').publicKey;
  const wireOf = (transfers: readonly (readonly [to: string, lamports: bigint])[], table?: AddressLookupTableAccount): Uint8Array => {
    const instructions = transfers.map(([to, lamports]) =>
      SystemProgram.transfer({ fromPubkey: new PublicKey(payer), toPubkey: new PublicKey(to), lamports }),
    );
    const parts = { payerKey: new PublicKey(payer), recentBlockhash: blockhash, instructions };
    return new VersionedTransaction(new TransactionMessage(parts).compileToV0Message(table === undefined ? [] : [table])).serialize();
  };
  const table = new AddressLookupTableAccount({
    key: new PublicKey(token2022Program),
    state: {
      deactivationSlot: (1n << 64n) - 1n,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
      addresses: [new PublicKey(jitoTipAccounts[2])],
    },
  });
  const cases: readonly (readonly [what: string, wire: Uint8Array, lanes: readonly string[]])[] = [
    ['none', wireOf([[usdcMint, 1_000_000n]]), []],
    [
      'just enough for each',
      wireOf([
        [jitoTipAccounts[0], 1_000n],
        [senderTipAccounts[0], 1_000_000n],
      ]),
      ['jito', 'sender'],
    ],
    [
      'too little for each',
      wireOf([
        [jitoTipAccounts[0], 999n],
        [senderTipAccounts[0], 999_999n],
      ]),
      [],
    ],
    ['the tip of one to the account of the other', wireOf([[jitoTipAccounts[0], 1_000_000n]]), ['jito']],
    ['a tip account from a lookup table', wireOf([[jitoTipAccounts[2], 1_000n]], table), []],
    ['no transaction', Uint8Array.of(1, 2, 3), []],
    ['an instruction of the system program that is not a transfer', wireOf([[systemProgram, 1n]]), []],
  ];
  test.each(cases)('%s', (_what, wire, lanes) => {
    expect([...createTippedLanes({ senderUrl })(wire)].toSorted()).toEqual(lanes);
  });

  test('a Sender that sends by stake alone requires less', () => {
    const wire = wireOf([[senderTipAccounts[9], 5_000n]]);
    expect([...createTippedLanes({ senderUrl: `${senderUrl}?swqos_only=true` })(wire)]).toEqual(['sender']);
    expect([...createTippedLanes({ senderUrl })(wire)]).toEqual([]);
  });
});

describe('orders over lanes that require a tip', () => {
  let world: TradingWorld;
  let gateway: TradingGateway;
  let jito: PaidLaneServer;
  let sender: PaidLaneServer;
  let mint: string;

  beforeAll(async () => {
    world = await startTradingWorld();
    ({ mint } = launchCoin(world.chain));
    jito = await startPaidLane(world.chain, { tipAccounts: jitoTipAccounts, leastLamports: 1_000n });
    sender = await startPaidLane(world.chain, { tipAccounts: senderTipAccounts, leastLamports: 1_000_000n });
    const broadcast = { jitoUrl: jito.url, jitoTip: 1_000n, senderUrl: sender.url, senderTip: 1_000_000n };
    gateway = await (await world.gateway({ config: { broadcast } })).ready(await world.wallet(), mint);
  });
  afterAll(async () => {
    await jito.close();
    await sender.close();
    await world.close();
  });
  afterEach(() => {
    world.node.tampering = null;
  });

  async function ended(orderId: string): Promise<StoredOrder> {
    let order: StoredOrder | null = null;
    await until('the end of the order', async () => endStates.has((order = await world.store.orders.byId(orderId))!.state));
    return order!;
  }

  test('each lane receives it, and it lands once; the tips are reported, and are in the fill', async () => {
    const publicKey = await world.wallet();
    const before = [jito.taken.length, sender.taken.length];
    const { status, body } = await gateway.post('/trade/buy', { publicKey, mint, amount: 0.5 });
    expect(status, JSON.stringify(body)).toBe(200);
    const { orderId, signature, quote } = body as unknown as TradeAnswer;
    expect(quote).toMatchObject({ tip: '1001000', tipUi: 0.001001 });
    const order = await ended(orderId!);
    expect(order.state).toBe('finalized');
    expect(JSON.parse(order.quoteJson!)).toEqual(quote);
    expect(jito.taken.slice(before[0])).toEqual([signature]);
    expect(new Set(sender.taken.slice(before[1]))).toEqual(new Set([signature]));
    expect(world.landed(publicKey)).toEqual([signature]);
    expect([...jito.refused, ...sender.refused]).toEqual([]);
    const { preBalances, postBalances, accountKeys, fee } = world.chain.transaction(signature!)!;
    const lost = preBalances[0]! - postBalances[0]!;
    expect(order.fill!.networkFee + order.fill!.traderQuote + order.fill!.otherLamports).toBe(lost);
    const gained = (accounts: readonly string[]): bigint =>
      accountKeys.reduce((sum, key, at) => (accounts.includes(key) ? sum + postBalances[at]! - preBalances[at]! : sum), 0n);
    expect([gained(jitoTipAccounts), gained(senderTipAccounts), fee > 0n]).toEqual([1_000n, 1_000_000n, true]);
  });

  test('for the block engine alone: no node and no Sender gets it, and it tips no other', async () => {
    const publicKey = await world.wallet();
    const before = [jito.taken.length, sender.taken.length];
    const order = { publicKey, action: 'buy', mint, amount: 0.5, denominatedInSol: 'true', slippage: 10, pool: 'auto' };
    const { status, body } = await gateway.post('/api/trade', { ...order, jitoOnly: 'true' });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).not.toHaveProperty('warnings');
    const { state, quoteJson, terms } = await ended(String(body['orderId']));
    expect([state, terms]).toMatchObject(['finalized', { blockEngineOnly: true }]);
    expect(JSON.parse(quoteJson!)).toMatchObject({ tip: '1000' });
    expect(jito.taken.slice(before[0])).toContain(body['signature']);
    expect(sender.taken.slice(before[1])).toEqual([]);
    const wires = world.node.calls.filter(({ method }) => method === 'sendTransaction').map(({ params }) => String(params[0]));
    expect(wires.filter((wire) => encodeBase58(Buffer.from(wire, 'base64').subarray(1, 65)) === body['signature'])).toEqual([]);
  });

  test('the nodes do not accept it: the lanes alone land it', async () => {
    const publicKey = await world.wallet();
    world.node.tampering = async ({ method, params }, answer) =>
      method === 'sendTransaction' ? encodeBase58(Buffer.from(String(params[0]), 'base64').subarray(1, 65)) : answer();
    const { status, body } = await gateway.post('/trade/buy', { publicKey, mint, amount: 0.5 });
    expect(status, JSON.stringify(body)).toBe(200);
    expect((await ended(String(body['orderId']))).state).toBe('finalized');
    expect(world.landed(publicKey)).toEqual([body['signature']]);
  });

  test('a transaction that the caller signs has no tip unless the caller adds one, and is not sent to the lanes', async () => {
    const { publicKey } = wallet('tips', 'self');
    world.chain.airdrop(publicKey, 10n ** 10n);
    await until('the airdrop', () => world.chain.account(publicKey) !== null);
    const { status, body } = await gateway.post('/transaction/buy', { publicKey, mint, amount: 0.5 });
    expect(status, JSON.stringify(body)).toBe(200);
    const wire = new Uint8Array(Buffer.from(String(body['transaction']), 'base64'));
    expect([...createTippedLanes(both)(wire)]).toEqual([]);
    expect((body['quote'] as TradeAnswer['quote']).tip).toBeUndefined();
  });

  test('a wallet that has everything except the tips has too little', async () => {
    const rich = await world.wallet();
    const dry = await gateway.post('/trade/buy', { publicKey: rich, mint, amount: 0.5, dryRun: true, skipSimulation: true });
    expect(dry.status).toBe(200);
    const poor = await world.wallet({ funds: 1_000_000n });
    const refused = await gateway.post('/trade/buy', { publicKey: poor, mint, amount: 0.5, priorityFee: 0.00001, skipSimulation: true });
    const { need } = (refused.body['error'] as { details: { need: string } }).details;
    const short = await world.wallet({ funds: BigInt(need) - 1n });
    const enough = await world.wallet({ funds: BigInt(need) });
    const trade = { mint, amount: 0.5, priorityFee: 0.00001, skipSimulation: true };
    expect((await gateway.post('/trade/buy', { publicKey: short, ...trade })).status).toBe(400);
    const made = await gateway.post('/trade/buy', { publicKey: enough, ...trade });
    expect(made.status, JSON.stringify(made.body)).toBe(200);
    expect((await ended(String(made.body['orderId']))).state).toBe('finalized');
  });
});
