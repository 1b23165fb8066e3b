import type { Candle, CandleInterval, CandlePage } from '@sluice/client';
import {
  CandlestickSeries,
  ColorType,
  createChart,
  CrosshairMode,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type UTCTimestamp,
} from 'lightweight-charts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { faultText, sluice } from '../state/server.ts';
import { theme } from '../app/theme.ts';
import { price, short, shortUsd } from '../format/price.ts';
import { Choice, Empty, Fault } from '../parts/parts.tsx';
import { useStore } from '../state/store.ts';

const intervals: readonly CandleInterval[] = ['1s', '5s', '15s', '1m', '5m', '15m', '1h', '4h', '1d'];
/** Candles that are requested, and remembered. */
const shownCandles = 300;
const maxCandles = 2_000;

type Unit = 'usd' | 'quote' | 'cap';
type Bar = CandlePage['candles'][number] | Candle;

interface Drawn {
  readonly time: UTCTimestamp;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
  readonly isUp: boolean;
}

/** The candle in a unit; null if it has no price in it. */
function inUnit(bar: Bar, unit: Unit, supply: number): Drawn | null {
  const isUsd = unit !== 'quote';
  const values = isUsd ? [bar.openUsd, bar.highUsd, bar.lowUsd, bar.closeUsd] : [bar.open, bar.high, bar.low, bar.close];
  const factor = unit === 'cap' ? supply : 1;
  const [open, high, low, close] = values.map((value) => (value === null ? null : value * factor));
  if (open == null || high == null || low == null || close == null) return null;
  return {
    time: bar.start as UTCTimestamp,
    open,
    high,
    low,
    close,
    volume: isUsd ? bar.volumeUsd : bar.volumeQuote,
    isUp: close >= open,
  };
}

/** Significant digits of a label: neighbours differ, even if the price hardly moves. */
const axisDigits = 6;
/** The scale may reach below zero, where there are no prices, and has remainders of the arithmetic instead of zero. */
const leastPrice = 1e-15;
const onScale =
  (text: (value: number) => string) =>
  (value: number): string =>
    value < leastPrice ? '' : text(value);
const textOf: Readonly<Record<Unit, (value: number) => string>> = {
  usd: onScale((value) => `$${price(value, axisDigits)}`),
  quote: onScale((value) => price(value, axisDigits)),
  cap: onScale(shortUsd),
};

interface Chart {
  readonly chart: IChartApi;
  readonly candles: ISeriesApi<'Candlestick'>;
  readonly volumes: ISeriesApi<'Histogram'>;
}

/** The colours of the page, which its style sheet defines for both themes. */
function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function openChart(element: HTMLElement): Chart {
  const chart = createChart(element, {
    autoSize: true,
    layout: { attributionLogo: false, fontFamily: 'inherit', fontSize: 11 },
    rightPriceScale: { borderVisible: false, scaleMargins: { top: 0.08, bottom: 0.24 } },
    timeScale: { borderVisible: false, timeVisible: true, secondsVisible: true, rightOffset: 4 },
    crosshair: { mode: CrosshairMode.Normal },
  });
  const candles = chart.addSeries(CandlestickSeries, { borderVisible: false });
  const volumes = chart.addSeries(HistogramSeries, {
    priceScaleId: 'volume',
    lastValueVisible: false,
    priceLineVisible: false,
    priceFormat: { type: 'custom', formatter: short, minMove: 1e-6 },
  });
  chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
  return { chart, candles, volumes };
}

function paint({ chart, candles }: Chart): void {
  const [text, grid, up, down] = ['faint', 'line', 'buy', 'sell'].map(colour) as [string, string, string, string];
  chart.applyOptions({
    layout: { background: { type: ColorType.Solid, color: colour('card') }, textColor: text },
    grid: { vertLines: { color: grid }, horzLines: { color: grid } },
  });
  candles.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down });
}

function draw({ candles, volumes }: Chart, bars: readonly Bar[], unit: Unit, supply: number): void {
  const drawn = bars.flatMap((bar) => inUnit(bar, unit, supply) ?? []);
  candles.applyOptions({ priceFormat: { type: 'custom', formatter: textOf[unit], minMove: unit === 'cap' ? 0.01 : leastPrice } });
  candles.setData([...drawn]);
  const [up, down] = [colour('buy-soft'), colour('sell-soft')];
  volumes.setData(drawn.map(({ time, volume, isUp }) => ({ time, value: volume, color: isUp ? up : down })));
}

/** The candles of an interval, updated as they change. */
function useCandles(mint: string, interval: CandleInterval): { readonly bars: readonly Bar[] | null; readonly fault: string | null } {
  const [state, setState] = useState<{ of: string; bars: readonly Bar[] | null; fault: string | null }>({
    of: '',
    bars: null,
    fault: null,
  });
  const of = `${mint}:${interval}`;
  useEffect(() => {
    const bars = new Map<number, Bar>();
    /** The number of the last change of each candle by the stream. */
    const changes = new Map<number, number>();
    let change = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const show = (): void => {
      timer = null;
      const sorted = [...bars.values()].toSorted((a, b) => a.start - b.start).slice(-maxCandles);
      if (sorted.length < bars.size) {
        bars.clear();
        for (const bar of sorted) bars.set(bar.start, bar);
        for (const start of changes.keys()) if (!bars.has(start)) changes.delete(start);
      }
      setState({ of, bars: sorted, fault: null });
    };
    const ended = new AbortController();
    const fail = (error: unknown): void => {
      if (!ended.signal.aborted) setState((last) => ({ of, bars: last.of === of ? last.bars : [], fault: faultText(error) }));
    };
    const read = async (): Promise<void> => {
      const askedAt = change;
      const { candles } = await sluice.candles(mint, { interval, limit: shownCandles }, { signal: ended.signal });
      // What the stream has changed since is newer. Of the rest, what the answer lacks was retracted.
      const isNewer = (start: number): boolean => (changes.get(start) ?? 0) > askedAt;
      const first = candles[0]?.start ?? 0;
      for (const start of bars.keys()) if (start >= first && !isNewer(start)) bars.delete(start);
      for (const bar of candles) if (!isNewer(bar.start)) bars.set(bar.start, bar);
      show();
    };
    sluice.subscribe('candles', {
      mints: [mint],
      interval,
      signal: ended.signal,
      onEvent: (event) => {
        // A retraction names the candle: `<mint>:<interval>:<start>:…`.
        const start = event.type === 'candle' ? event.start : Number(event.id.split(':')[2]);
        if (event.type === 'candle') bars.set(start, event);
        else bars.delete(start);
        changes.set(start, ++change);
        timer ??= setTimeout(show, 250);
      },
      // Candles are missing: read them again.
      onGap: () => void read().catch(fail),
      onError: fail,
    });
    void read().catch(fail);
    return () => {
      ended.abort();
      if (timer !== null) clearTimeout(timer);
    };
  }, [of]);
  return state.of === of ? state : { bars: null, fault: null };
}

export function CandleChart({ mint, supply, quote }: { readonly mint: string; readonly supply: number; readonly quote: string }) {
  const [interval, setInterval] = useState<CandleInterval>('15s');
  const [unit, setUnit] = useState<Unit>('usd');
  const { bars, fault } = useCandles(mint, interval);
  const shown = useStore(theme);
  const element = useRef<HTMLDivElement>(null);
  const open = useRef<Chart | null>(null);
  useEffect(() => {
    const chart = openChart(element.current!);
    open.current = chart;
    return () => {
      open.current = null;
      chart.chart.remove();
    };
  }, []);
  useEffect(() => {
    if (open.current === null) return;
    paint(open.current);
    draw(open.current, bars ?? [], unit, supply);
  }, [bars, unit, supply, shown]);
  const fitted = useRef('');
  useEffect(() => {
    if (bars === null || bars.length === 0 || fitted.current === interval) return;
    fitted.current = interval;
    const length = Math.max(60, bars.length);
    open.current?.chart
      .timeScale()
      .setVisibleLogicalRange({ from: Math.max(bars.length - 120, bars.length - length), to: bars.length + 4 });
  }, [bars, interval]);
  const last = bars?.at(-1);
  const lastDrawn = last === undefined ? null : inUnit(last, unit, supply);
  return (
    <section class="card chart-card" aria-label="Candles">
      <div class="row between">
        <Choice name="Interval" value={interval} onChange={setInterval} options={intervals.map((each) => [each, each] as const)} />
        <Choice
          name="Unit"
          value={unit}
          onChange={setUnit}
          options={[
            ['usd', 'USD'],
            ['quote', quote],
            ['cap', 'Market cap'],
          ]}
        />
      </div>
      <div
        class="chart"
        ref={element}
        role="img"
        aria-label={`Candles of ${interval}${lastDrawn === null ? '' : `, last ${textOf[unit](lastDrawn.close)}`}`}
      />
      {bars !== null && bars.length === 0 && <Empty>No trades in this time.</Empty>}
      <Fault text={fault} />
    </section>
  );
}
