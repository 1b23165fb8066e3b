import { expect, it } from 'vitest';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { Bucket } from '@sluice/shared/market/market.ts';
import type { PriceEvent } from '@sluice/shared/wire/events/events.ts';
import type { Portfolio } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import { launch, quietChain } from '../simnet/support/test-chain.ts';
import { addressOf, jsonOf, priceEvent } from '../support/events/stream-events.ts';
import { BookHarness } from './harness.ts';

const chain = quietChain();
const mint = launch(chain);
const curve = bondingCurveAddress(mint);
const wallet = addressOf(1);

/** Holds five tokens. */
const rpc: Rpc = {
  call: async (method, params, _signal, accept) => {
    const data = Buffer.alloc(165);
    data.set(addressBytes(mint), 0);
    data.set(addressBytes(wallet), 32);
    data.writeBigUInt64LE(5_000_000n, 64);
    data[108] = 1;
    const account = { owner: tokenProgram, lamports: 2_039_280, data: [data.toString('base64'), 'base64'], executable: false };
    const isOfTokens = (params[1] as { programId?: string }).programId === tokenProgram;
    const value = method === 'getBalance' ? 5 : isOfTokens ? [{ pubkey: addressOf(3), account }] : [];
    const answer = { context: { slot: chain.slot }, value };
    await accept?.(answer);
    return answer;
  },
};

/** What a reader sees of the coin: price, market cap and the value of five tokens, each as a price. */
async function shown(harness: BookHarness): Promise<Record<string, string>> {
  const info = await harness.info(mint);
  const portfolio = (await harness.portfolio(rpc)(wallet)) as Portfolio;
  const [holding] = portfolio.holdings;
  return {
    price: info.priceSol!.toPrecision(6),
    cap: (info.marketCapSol! / info.supplyUi).toPrecision(6),
    capUsd: (info.marketCapUsd! / info.supplyUi / info.solUsd!.price).toPrecision(6),
    holding: holding!.priceSol!.toPrecision(6),
    value: (holding!.valueSol! / 5).toPrecision(6),
  };
}
const all = (price: number): Record<string, string> =>
  Object.fromEntries(['price', 'cap', 'capUsd', 'holding', 'value'].map((name) => [name, price.toPrecision(6)]));

function tick(harness: BookHarness, slot: number, price: number): PriceEvent {
  const receivedUs = harness.clock.wallMs() * 1000;
  const ts = { received: receivedUs, published: receivedUs };
  return priceEvent(mint, { poolAddress: curve, slot: chain.slot + slot, priceQuote: price, priceSol: price, priceUsd: price * 150, ts });
}

it('price, market cap and value of a token are not changed by a sandwich in a slot or a pool that is moved for one slot', async () => {
  const harness = new BookHarness(chain);
  const { priceSol } = await harness.lasting(mint);
  const before = all(priceSol!);
  for (const price of [9e-8, 1e-7, priceSol!]) {
    harness.append(tick(harness, 10, price));
    expect(await shown(harness)).toEqual(before);
    expect((await harness.info(mint)).pools[0]!.priceSol).toBe(price);
  }
  harness.append(tick(harness, 20, 9e-8));
  expect(await shown(harness)).toEqual(before);
  harness.clock.suspend(400);
  harness.append(tick(harness, 21, priceSol!));
  expect(await shown(harness)).toEqual(before);
  harness.append(tick(harness, 22, priceSol! * 1.000_000_01));
  expect(await shown(harness)).toEqual(before);
  // A price that lasts counts, after a second or in the second slot after.
  harness.append(tick(harness, 30, 9e-8));
  harness.clock.suspend(999);
  expect(await shown(harness)).toEqual(before);
  harness.clock.suspend(1);
  expect(await shown(harness)).toEqual(all(9e-8));
  harness.append(tick(harness, 40, 5e-8));
  harness.append(tick(harness, 41, 5e-8));
  expect(await shown(harness)).toEqual(all(9e-8));
  harness.append(tick(harness, 42, 5e-8));
  expect(await shown(harness)).toEqual(all(5e-8));
});

it('a token that is read in the middle of an attack has the price that counted in its last candle', async () => {
  const harness = new BookHarness(chain);
  const close = 2.5e-8;
  const prices = { open: 1, high: 1, low: 1, close, openUsd: null, highUsd: null, lowUsd: null, closeUsd: null };
  const sums = { volumeBase: 1, volumeQuote: 1, volumeSol: 1, volumeUsd: 0, buys: 1, sells: 0 };
  const minutes: readonly Bucket[] = [{ startS: 60, ...prices, ...sums }];
  const stored = tick(harness, 1, 9e-8);
  harness.summary = { ...harness.summary, minutes, price: jsonOf(stored) };
  expect(await shown(harness)).toEqual(all(close));
  harness.clock.suspend(1_000);
  expect(await shown(harness)).toEqual(all(9e-8));
});
