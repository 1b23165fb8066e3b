import type { LiquidityEvent, StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { beginFold, foldNext, type Fold } from '@sluice/shared/market/candles/fold-trades.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import { expect, it } from 'vitest';
import { readEvent } from '../../followers/src/kit/market-event.ts';
import { addressOf, entryOf, logged, tradeEvent } from '../support/events/stream-events.ts';

const mint = addressOf(1);
const [first, second] = [addressOf(11), addressOf(12)];
const startS = 1_795_248_000;

/** A trade in a pool of this depth. */
const trade = (poolAddress: string, quote: number, atS: number): StreamEvent =>
  tradeEvent(mint, {
    id: `${poolAddress}:${atS}`,
    pool: 'raydium-cpmm',
    poolAddress,
    quoteMint: wrappedSolMint,
    blockTime: startS + atS,
    slot: 1_000 + atS,
    reserves: { virtualBase: '1000000000000', virtualQuote: `${quote}`, realBase: '1000000000000', realQuote: `${quote}` },
  });

function removal(left: string, atS: number): LiquidityEvent {
  const { side: _side, trader: provider, fees: _fees, ...fields } = trade(first, 1, atS) as Extract<StreamEvent, { type: 'trade' }>;
  const reserves = { virtualBase: left, virtualQuote: left, realBase: left, realQuote: left };
  return { ...fields, type: 'liquidityRemoved', id: `removal:${atS}`, provider, quoteLeft: left, reserves } as unknown as LiquidityEvent;
}

function fold(events: readonly StreamEvent[]): Fold {
  const state = beginFold(null, ['1s']);
  for (const event of events) {
    const read = readEvent(logged(entryOf(event)));
    if (read?.kind === 'trade') foldNext(state, read.trade);
  }
  return state;
}

it('a drained pool loses its place to a pool that was shallower, and adds no trade to the candles', () => {
  const trades = [trade(first, 100e9, 0), trade(first, 100e9, 700), trade(second, 20e9, 710)];
  const later = [trade(second, 20e9, 720), trade(second, 20e9, 790)];
  expect(fold([...trades, ...later]).head).toMatchObject({ poolAddress: first });
  const drained = fold([...trades, removal('0', 715), ...later]);
  expect(drained.head).toMatchObject({ poolAddress: second });
  const [[, tallies]] = drained.tallies as unknown as readonly [readonly [string, ReadonlyMap<number, { readonly sells: number }>]];
  expect([...tallies.keys()].includes(startS + 715)).toBe(false);
});

it('a retraction of a removal names its mint', () => {
  const entry = entryOf(removal('0', 5));
  const retract = { type: 'retract', id: 'removal:5' } as const;
  const read = readEvent(logged({ topics: entry.topics, record: encodeEvent(retract) }));
  expect(read).toMatchObject({ kind: 'retract', id: 'removal:5', mint, of: 'liquidity' });
});
