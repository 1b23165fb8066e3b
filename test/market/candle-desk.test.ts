import { describe, expect, it } from 'vitest';
import { CandleDesk, type CandleDue } from '../../followers/src/candles/candle-desk.ts';
import { MarketLedger } from '../../followers/src/candles/ledger.ts';
import { readEvent } from '../../followers/src/kit/market-event.ts';
import { candlesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { addressOf } from '../support/events/stream-events.ts';
import { logEntry, tradeOf } from './trades.ts';

const mint = addressOf(1);
const startS = 1_795_248_000;
const topic = candlesTopic(mint, '1m');

/** Trades at these seconds after the start, applied to the market at once. */
function traded(desk: CandleDesk, nowMs: number, ...seconds: readonly number[]): void {
  const events = seconds.flatMap((second) => readEvent(logEntry(1, tradeOf({ mint, atS: startS + second }))) ?? []);
  const ledger = new MarketLedger(new Map(), new Map());
  ledger.learn([mint], new Map());
  desk.note(ledger.take(events), nowMs);
}

/** Candles that are due, as `<seconds after the start>` and `closed`; they count as published. */
function publish(desk: CandleDesk, nowMs: number): (readonly [number, boolean])[] {
  const due = desk.due(100, nowMs);
  desk.published(due, nowMs);
  return due.map((one: CandleDue) => [one.startS - startS, one.closed] as const);
}

describe('the publication of candles', () => {
  it('happens at most twice a second, and once more when the chain is past the end', () => {
    const desk = new CandleDesk();
    expect(desk.begin(topic, startS)).toBe(true);
    traded(desk, 0, 1);
    expect(publish(desk, 0)).toEqual([[0, false]]);
    traded(desk, 100, 2);
    expect(publish(desk, 100)).toEqual([]);
    expect(publish(desk, 499)).toEqual([]);
    expect(publish(desk, 500)).toEqual([[0, false]]);
    // Once more when its last slot counts.
    expect(publish(desk, 1_099)).toEqual([]);
    expect(publish(desk, 1_100)).toEqual([[0, false]]);
    expect(publish(desk, 4_000)).toEqual([]);
    traded(desk, 5_100, 60);
    expect(publish(desk, 5_100)).toEqual([
      [0, true],
      [60, false],
    ]);
  });

  it('follows the clock if the chain is silent, and repeats a candle after a late trade', () => {
    const desk = new CandleDesk();
    desk.begin(topic, startS);
    traded(desk, 0, 58);
    publish(desk, 0);
    publish(desk, 1_000);
    expect(publish(desk, 4_999)).toEqual([]);
    expect(publish(desk, 5_000)).toEqual([[0, true]]);
    expect(publish(desk, 60_000)).toEqual([]);
    traded(desk, 60_000, 130);
    publish(desk, 60_000);
    traded(desk, 60_100, 59);
    expect(publish(desk, 60_100)).toEqual([]);
    expect(publish(desk, 61_100)).toEqual([
      [0, true],
      [120, false],
    ]);
  });

  it('reports the start from which candles are not published as closed', () => {
    const desk = new CandleDesk();
    desk.begin(topic, startS);
    const noted = (nowMs: number): number | undefined => {
      const due = desk.due(100, nowMs);
      desk.published(due, nowMs);
      const at = desk.unnoted(due).get(topic);
      return at === undefined ? undefined : at - startS;
    };
    traded(desk, 0, 1);
    expect(noted(0)).toBeUndefined();
    traded(desk, 600, 61, 62);
    expect(noted(600)).toBeUndefined();
    expect(noted(1_000)).toBe(60);
    traded(desk, 1_700, 63);
    expect(noted(1_700)).toBeUndefined();
    traded(desk, 1_800, 200);
    expect(noted(2_700)).toBe(180);
    // Nothing is open any more, so it starts with the next candle.
    expect(noted(100_000)).toBe(240);
  });

  it('ignores topics that are not candles, or have ended', () => {
    const desk = new CandleDesk();
    for (const wrong of ['trades', `candles:${mint}`, `candles:${mint}:2m`, `prices:${mint}`]) expect(desk.begin(wrong, 0)).toBe(false);
    desk.begin(topic, startS);
    desk.end(topic);
    traded(desk, 0, 1);
    expect([desk.size, publish(desk, 10_000)]).toEqual([0, []]);
  });
});
