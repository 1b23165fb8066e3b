import { readFill } from '../../../trading/src/follow/evidence/fill.ts';
import { onlyTradeOf } from '../../../trading/src/signer/checks/trade-instruction.ts';
import type { OrderTerms } from '@sluice/gateway/store/order-model/order.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { decodeTransaction, type DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixturesNote, fixturesPresent, fixtureTransaction } from '../../golden/fixtures.ts';
import { moveToPool, tokensOf } from '../../support/chain/quoted-trades.ts';
import { buyer, startWorld, type Prepared, type World } from './sending-world.ts';
import { decodeWith, type PlainTrade } from '../../support/events/decoded.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ nodeCount: 1 });
});
afterAll(() => world.close());

type Encoding = 'json' | 'jsonParsed' | 'base64' | 'base58';
type Json = Record<string, unknown>;

async function answerOf(signature: string, encoding: Encoding): Promise<Json> {
  const params = [signature, { encoding, commitment: 'confirmed', maxSupportedTransactionVersion: 1 }];
  return (await world.sendNodes[0]!.rpc.call('getTransaction', params)) as Json;
}

function land(prepared: Prepared): Prepared {
  expect(world.chain.send(prepared.wire, { skipPreflight: true }).ok).toBe(true);
  for (let i = 0; i < 4; i++) world.chain.advance();
  expect(world.chain.transaction(prepared.signature)?.err).toBeNull();
  return prepared;
}

const tip = { to: '96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5', lamports: 2_000_000n };

test('on the curve and on its pool, in every encoding: amounts to the lamport, without rent and tips', async () => {
  const { chain, coin } = world;
  for (const place of ['pump', 'pump-amm'] as const) {
    const held = tokensOf(chain, coin, buyer.publicKey);
    const first = land(
      world.prepare(
        { exact: 'baseOut', amount: 5_000_000_000n },
        { wrappedSolExists: false, requestedTips: [{ accounts: [tip.to], lamports: tip.lamports }] },
      ),
    );
    const half = land(world.prepare({ exact: 'baseIn', amount: (held + 5_000_000_000n) / 2n }, { baseAccountExists: true }));
    for (const prepared of [first, half]) {
      const { signature, terms, quote } = prepared;
      const record = chain.transaction(signature)!;
      for (const encoding of ['json', 'jsonParsed', 'base64', 'base58'] as const) {
        const reading = readFill(await answerOf(signature, encoding), signature, terms);
        expect(reading).toMatchObject({ kind: 'fill', balancesAgree: true });
        if (reading.kind !== 'fill') throw new Error(reading.kind);
        expect(reading.fill).toMatchObject({
          pool: place,
          baseAmount: quote.baseAmount,
          quoteAmount: quote.quoteAmount,
          traderQuote: quote.traderQuote,
          venueFees: quote.feeTotal,
          networkFee: record.fee,
          slot: record.slot,
          blockTime: record.blockTime,
        });
        // Without the terms: from the bytes that were sent, and the decimals in the answer.
        const sent = decodeTransaction(prepared.wire) as DecodedTransaction;
        expect(
          readFill(
            await answerOf(signature, encoding),
            signature,
            null,
            onlyTradeOf(sent, () => null),
          ),
        ).toEqual(reading);
        expect(reading.fill.otherLamports).toBe(world.rentOf(prepared) + (prepared === first ? tip.lamports : 0n));
      }
    }
    if (place === 'pump-amm') return;
    land(world.prepare({ exact: 'quoteIn', amount: 10n ** 12n }, { baseAccountExists: true }));
    moveToPool(chain, coin, false);
  }
});

test('a log that the runtime cut: the fill is read from the inner instructions', async () => {
  const { signature, terms, quote } = land(world.prepare({ exact: 'baseIn', amount: 10n ** 9n }, { baseAccountExists: true }));
  const answer = await answerOf(signature, 'json');
  const meta = answer['meta'] as Json;
  const short = { ...answer, meta: { ...meta, logMessages: [...(meta['logMessages'] as string[]).slice(0, 4), 'Log truncated'] } };
  expect(readFill(short, signature, terms)).toMatchObject({ kind: 'fill', fill: { baseAmount: quote.baseAmount }, balancesAgree: true });
});

test('another transaction, other terms, another wallet, contradicting balances, and invalid data', async () => {
  const { signature, terms } = land(world.prepare({ exact: 'baseIn', amount: 10n ** 9n }, { baseAccountExists: true }));
  const answer = await answerOf(signature, 'base64');
  const meta = answer['meta'] as Json;
  expect(readFill(answer, 'another', terms).kind).toBe('unusable');
  expect(readFill(answer, signature, { ...terms, side: 'buy' }).kind).toBe('other');
  expect(readFill(answer, signature, { ...terms, publicKey: tip.to }).kind).toBe('other');
  expect(readFill(answer, signature, null).kind).toBe('other');
  const withMeta = (more: Json): Json => ({ ...answer, meta: { ...meta, ...more } });
  const balances = (meta['postTokenBalances'] as Json[]).map((one) =>
    one['owner'] === buyer.publicKey ? { ...one, uiTokenAmount: { ...(one['uiTokenAmount'] as Json), amount: '7' } } : one,
  );
  expect(readFill(withMeta({ postTokenBalances: balances }), signature, terms)).toMatchObject({ kind: 'fill', balancesAgree: false });
  for (const broken of [
    { fee: -1 },
    { fee: '5000' },
    { preBalances: null },
    { postBalances: [1.5] },
    { preTokenBalances: undefined },
    { preTokenBalances: [null] },
    { postTokenBalances: [{ owner: buyer.publicKey, mint: world.coin.mint, uiTokenAmount: { amount: '-1' } }] },
  ]) {
    expect(readFill(withMeta(broken), signature, terms).kind, JSON.stringify(broken)).toBe('unusable');
  }
  for (const nonsense of [null, undefined, 5, 'x', [], {}, { ...answer, slot: null }, { ...answer, transaction: ['AA==', 'base64'] }]) {
    expect(readFill(nonsense, signature, terms).kind).toBe('unusable');
  }
});

describe.skipIf(!fixturesPresent)(`mainnet (${fixturesNote})`, () => {
  test.each(['pump_buy_legacy_2026-10-08', 'pump_create_v2_and_buy_2026-07-29', 'pump_buy_mayhem_2026-07-29'])('%s', (name) => {
    const answer = fixtureTransaction(name);
    const view = readTransaction(answer);
    if (view.kind === 'malformed') throw new Error(view.reason);
    const trades: PlainTrade[] = [];
    readLogs(view.logs, (programId, _path, data) => {
      const decoded = decodeWith(programId, data);
      if (decoded?.kind === 'decoded' && decoded.event.type === 'trade') trades.push(decoded.event);
    });
    const [trade] = trades;
    const terms: OrderTerms = {
      side: trade!.side,
      mint: trade!.pair!.baseMint,
      pool: 'pump',
      poolAddress: trade!.pool,
      quoteMint: wrappedSolMint,
      baseDecimals: 6,
      quoteDecimals: 9,
      publicKey: trade!.trader,
    };
    const reading = readFill(answer, view.signature, terms);
    expect(reading).toMatchObject({ kind: 'fill', fill: { baseAmount: trade!.baseAmount }, balancesAgree: true });
  });
});
