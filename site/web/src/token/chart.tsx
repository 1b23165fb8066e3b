import type { CandleInterval } from '@sluice/client';
import {
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  CrosshairMode,
  HistogramSeries,
  type AutoscaleInfo,
  type IChartApi,
  type ISeriesApi,
  TickMarkType,
  type Time,
  type UTCTimestamp,
} from 'lightweight-charts';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { faultText, sluice } from '../state/server.ts';
import { theme } from '../app/theme.ts';
import { short } from '../format/price.ts';
import { dateTime } from '../format/text.ts';
import { useSignal } from '../parts/hooks.ts';
import { Choice, Empty, Fault } from '../parts/parts.tsx';
import { soon } from '../state/bounded.ts';
import { useStore } from '../state/store.ts';
import type { PriceScale } from './chart-lines.tsx';
import { axisLabels, inUnit, leastPrice, priceText, volumeText, type Bar, type Drawn, type Unit } from './chart-units.ts';
import type { OwnTrade } from './use-token.ts';

const intervals: readonly CandleInterval[] = ['1s', '5s', '15s', '1m', '5m', '15m', '1h', '4h', '1d'];
/** Candles that are requested, and remembered. */
const shownCandles = 300;
const maxCandles = 2_000;
const drawEveryMs = 250;

/** Candles of a new coin fill the chart from the left. From this many on, the newest stays in view. */
const leastShown = 60;
const mostShown = 120;
/** Room on the left of the oldest candle, for its label, and on the right of the newest. */
const roomLeft = 6;
const roomRight = 4;
/** Significant digits of the last price and of the price at the pointer. */
const labelDigits = 5;
/** A range smaller than this part of the price is widened: arithmetic cannot divide it into different labels. */
const leastRange = 1e-4;
const widened = 0.02;

/** A colour of the page in its current theme, as the style sheet defines it. */
function colour(name: string): string {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(--${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

type Chart = ReturnType<typeof openChart>;

function openChart(element: HTMLElement) {
  const chart = createChart(element, {
    autoSize: true,
    layout: { attributionLogo: false, fontFamily: 'inherit', fontSize: 11 },
    rightPriceScale: { borderVisible: false, scaleMargins: { top: 0.08, bottom: 0.24 } },
    timeScale: {
      borderVisible: false,
      timeVisible: true,
      secondsVisible: true,
      rightOffset: roomRight,
      lockVisibleTimeRangeOnResize: true,
    },
    crosshair: { mode: CrosshairMode.Normal },
  });
  const candles = chart.addSeries(CandlestickSeries, { borderVisible: false, autoscaleInfoProvider: widenFlat });
  const volumes = chart.addSeries(HistogramSeries, {
    priceScaleId: 'volume',
    lastValueVisible: false,
    priceLineVisible: false,
    priceFormat: { type: 'custom', formatter: (value: number) => short(value), minMove: 1e-6 },
  });
  chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
  return { chart, candles, volumes, marks: createSeriesMarkers(candles, []), scale: scaleOf(chart, candles) };
}

function scaleOf(chart: IChartApi, candles: ISeriesApi<'Candlestick'>): PriceScale {
  const followers = new Set<() => void>();
  candles.attachPrimitive({ updateAllViews: () => followers.forEach((drawn) => drawn()) });
  return {
    toY: (price) => candles.priceToCoordinate(price),
    toPrice: (y) => candles.coordinateToPrice(y),
    size: () => chart.paneSize(),
    follow: (drawn) => {
      followers.add(drawn);
      return () => void followers.delete(drawn);
    },
  };
}

/** The scale of a price that hardly moved. */
function widenFlat(scale: () => AutoscaleInfo | null): AutoscaleInfo | null {
  const info = scale();
  if (info?.priceRange == null) return info;
  const { minValue, maxValue } = info.priceRange;
  if (maxValue - minValue > maxValue * leastRange) return info;
  return { ...info, priceRange: { minValue: minValue * (1 - widened), maxValue: maxValue * (1 + widened) } };
}

function paint({ chart, candles }: Chart): void {
  const [text, grid, up, down] = ['faint', 'line', 'buy', 'sell'].map(colour) as [string, string, string, string];
  chart.applyOptions({
    layout: { background: { type: ColorType.Solid, color: colour('card') }, textColor: text },
    grid: { vertLines: { color: grid }, horzLines: { color: grid } },
  });
  candles.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down });
}

/**
 * The times of the axis. The library reads times as UTC, and begins days and hours where UTC does. Candles of a day begin at midnight UTC, and keep their
 * date. All others are in local time: shifted by the offset of the newest. The text of a time is made from the time itself, which may have had another
 * offset.
 */
function axisTimes(interval: CandleInterval, newestS: number) {
  const isDaily = interval === '1d';
  const shiftS = isDaily ? 0 : -new Date(newestS * 1_000).getTimezoneOffset() * 60;
  const text = (shifted: Time): string => dateTime(((shifted as UTCTimestamp) - shiftS) * 1_000, isDaily ? 'UTC' : undefined);
  return { shiftS, text, isDaily };
}
type AxisTimes = ReturnType<typeof axisTimes>;

/** Which part of a time its label on the axis shows. */
const tickParts: Readonly<Record<TickMarkType, readonly [from: number, to: number]>> = {
  [TickMarkType.Year]: [0, 4],
  [TickMarkType.Month]: [5, 10],
  [TickMarkType.DayOfMonth]: [5, 10],
  [TickMarkType.Time]: [11, 16],
  [TickMarkType.TimeWithSeconds]: [11, 19],
};

function draw({ chart, candles, volumes }: Chart, drawn: readonly Drawn[], unit: Unit, { shiftS, text, isDaily }: AxisTimes): void {
  const at = (time: number): UTCTimestamp => (time + shiftS) as UTCTimestamp;
  candles.applyOptions({
    priceFormat: {
      type: 'custom',
      formatter: (value: number) => priceText(unit, value, labelDigits),
      tickmarksFormatter: (values: readonly number[]) => axisLabels(unit, values),
      minMove: unit === 'cap' ? 1e-6 : leastPrice,
    },
  });
  chart.applyOptions({
    localization: { timeFormatter: (time: Time) => (isDaily ? `${text(time).slice(0, 10)} UTC` : text(time)) },
    timeScale: {
      shiftVisibleRangeOnNewBar: drawn.length > leastShown,
      tickMarkFormatter: (time: Time, kind: TickMarkType) =>
        text(time).slice(...tickParts[isDaily && kind > TickMarkType.DayOfMonth ? TickMarkType.DayOfMonth : kind]),
    },
  });
  candles.setData(drawn.map((bar) => ({ ...bar, time: at(bar.time) })));
  const [up, down] = [colour('buy-soft'), colour('sell-soft')];
  volumes.setData(drawn.map(({ time, volume, open, close }) => ({ time: at(time), value: volume, color: close >= open ? up : down })));
}

/** Shows the newest candles; those of a new coin from the left. */
function fit({ chart }: Chart, count: number): void {
  const from = Math.max(0, count - mostShown);
  chart
    .timeScale()
    .setVisibleLogicalRange({ from: from - (from === 0 ? roomLeft : 1), to: Math.max(from + leastShown, count) + roomRight });
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const secondsIn = (interval: CandleInterval): number => Number.parseInt(interval, 10) * unitSeconds[interval.at(-1)!]!;

/** Own trades since the first candle, each at its own. */
function mark({ marks }: Chart, own: readonly OwnTrade[], interval: CandleInterval, firstS: number, shiftS: number): void {
  const seconds = secondsIn(interval);
  marks.setMarkers(
    own
      .filter(({ atS }) => atS >= firstS)
      .map(({ side, atS }) => ({
        time: (atS - (atS % seconds) + shiftS) as UTCTimestamp,
        color: colour('info'),
        ...(side === 'buy'
          ? ({ text: 'B', position: 'belowBar', shape: 'arrowUp' } as const)
          : ({ text: 'S', position: 'aboveBar', shape: 'arrowDown' } as const)),
      })),
  );
}

interface Candles {
  readonly of: string;
  readonly bars: readonly Bar[] | null;
  readonly fault: string | null;
}

/** The candles of an interval, updated as they change. */
function useCandles(mint: string, interval: CandleInterval): Omit<Candles, 'of'> & { readonly readOlder: () => void } {
  const [state, setState] = useState<Candles>({ of: '', bars: null, fault: null });
  const readOlder = useRef(() => {});
  const of = `${mint}:${interval}`;
  useSignal([of], (signal) => {
    const bars = new Map<number, Bar>();
    /** The number of the last change of each candle by the stream. */
    const changes = new Map<number, number>();
    let change = 0;
    let isRead = false;
    let hasOlder = false;
    const show = (): void => {
      // The first candles come together, so that the chart is fitted to all of them.
      if (!isRead) return;
      const sorted = [...bars.values()].toSorted((a, b) => a.start - b.start).slice(-maxCandles);
      if (sorted.length < bars.size) {
        bars.clear();
        for (const bar of sorted) bars.set(bar.start, bar);
        for (const start of changes.keys()) if (!bars.has(start)) changes.delete(start);
      }
      setState({ of, bars: sorted, fault: null });
    };
    const showSoon = soon(show, drawEveryMs, signal);
    const fail = (error: unknown): void => {
      isRead = true;
      if (!signal.aborted) setState((last) => ({ of, bars: last.of === of ? last.bars : [], fault: faultText(error) }));
    };
    const read = async (): Promise<void> => {
      const askedAt = change;
      const { candles, older } = await sluice.candles(mint, { interval, limit: shownCandles }, { signal });
      hasOlder = older;
      // What the stream has changed since is newer. Of the rest, what the answer lacks was retracted.
      const isNewer = (start: number): boolean => (changes.get(start) ?? 0) > askedAt;
      const first = candles[0]?.start ?? 0;
      for (const start of bars.keys()) if (start >= first && !isNewer(start)) bars.delete(start);
      for (const bar of candles) if (!isNewer(bar.start)) bars.set(bar.start, bar);
      isRead = true;
      show();
    };
    sluice.subscribe('candles', {
      mints: [mint],
      interval,
      signal,
      onEvent: (event) => {
        // A retraction names the candle: `<mint>:<interval>:<start>:…`.
        const start = event.type === 'candle' ? event.start : Number(event.id.split(':')[2]);
        if (event.type === 'candle') bars.set(start, event);
        else bars.delete(start);
        changes.set(start, ++change);
        showSoon();
      },
      // Candles are missing: read them again.
      onGap: () => void read().catch(fail),
      onError: fail,
    });
    void read().catch(fail);
    let isReading = false;
    readOlder.current = () => {
      if (!hasOlder || isReading || bars.size + shownCandles > maxCandles) return;
      isReading = true;
      const readBefore = async (to: number): Promise<void> => {
        const { candles, older } = await sluice.candles(mint, { interval, limit: shownCandles, to }, { signal });
        hasOlder = older;
        for (const bar of candles) bars.set(bar.start, bar);
        show();
      };
      void readBefore(Math.min(...bars.keys()))
        .catch(fail)
        .finally(() => (isReading = false));
    };
  });
  return { ...(state.of === of ? state : { bars: null, fault: null }), readOlder: () => readOlder.current() };
}

interface ChartProps {
  readonly mint: string;
  readonly supply: number;
  readonly quote: string;
  readonly own: readonly OwnTrade[];
  /** What lies over the candles. */
  readonly over: (scale: PriceScale, unit: Unit) => ComponentChildren;
}

export function CandleChart({ mint, supply, quote, own, over }: ChartProps) {
  const [interval, setInterval] = useState<CandleInterval>('15s');
  const [unit, setUnit] = useState<Unit>('usd');
  const { bars, fault, readOlder } = useCandles(mint, interval);
  const shown = useStore(theme);
  const drawn = useMemo(() => (bars ?? []).flatMap((bar) => inUnit(bar, unit, supply) ?? []), [bars, unit, supply]);
  const [firstS, lastS] = [drawn[0]?.time ?? Infinity, drawn.at(-1)?.time];
  const { shiftS } = axisTimes(interval, lastS ?? 0);
  const [pointedAt, setPointedAt] = useState<Time | null>(null);
  const element = useRef<HTMLDivElement>(null);
  const open = useRef<Chart | null>(null);
  const [scale, setScale] = useState<PriceScale | null>(null);
  useEffect(() => {
    const chart = openChart(element.current!);
    open.current = chart;
    setScale(chart.scale);
    chart.chart.subscribeCrosshairMove(({ time }) => setPointedAt(time ?? null));
    // Further candles come as the reader moves back to the oldest ones.
    chart.chart.timeScale().subscribeVisibleLogicalRangeChange((range) => range !== null && range.from < -roomLeft && readOlder());
    return () => {
      open.current = null;
      chart.chart.remove();
    };
  }, []);
  useEffect(() => {
    if (open.current === null) return;
    paint(open.current);
    draw(open.current, drawn, unit, axisTimes(interval, lastS ?? 0));
  }, [drawn, unit, shown, interval]);
  // An own trade may be known before its candle.
  useEffect(() => {
    if (open.current !== null) mark(open.current, own, interval, firstS, shiftS);
  }, [own, interval, firstS, lastS, shown, shiftS]);
  const fitted = useRef('');
  useEffect(() => {
    if (drawn.length === 0 || open.current === null || fitted.current === interval) return;
    fitted.current = interval;
    fit(open.current, drawn.length);
  }, [drawn, interval]);
  const last = drawn.at(-1) ?? null;
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
      <Legend of={drawn.find(({ time }) => time + shiftS === pointedAt) ?? last} unit={unit} quote={quote} />
      <div class="chart-frame">
        <div
          class="chart"
          ref={element}
          role="img"
          aria-label={`Candles of ${interval}${last === null ? '' : `, last ${priceText(unit, last.close)}`}${own.length === 0 ? '' : `, your trades: ${own.length}`}`}
        />
        {scale !== null && over(scale, unit)}
      </div>
      {bars !== null && drawn.length === 0 && (
        <Empty>{bars.length === 0 ? 'Quiet: no trade of this token is stored.' : 'The price in this unit is not known.'}</Empty>
      )}
      <Fault text={fault} />
    </section>
  );
}

/** The numbers of one candle: of the one under the pointer, otherwise of the last. */
function Legend({ of, unit, quote }: { readonly of: Drawn | null; readonly unit: Unit; readonly quote: string }) {
  return (
    <dl class="legend" aria-label="Candle">
      {(of === null ? [] : legendOf(of, unit, quote)).map(([letter, name, text, tone = '']) => (
        <div key={name} title={name}>
          <dt class={letter === '' ? 'hidden' : ''}>{letter === '' ? name : letter}</dt>
          <dd class={tone}>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

type LegendPart = readonly [letter: string, name: string, text: string, tone?: string];

function legendOf({ open, high, low, close, volume }: Drawn, unit: Unit, quote: string): readonly LegendPart[] {
  const percent = (close / open - 1) * 100;
  const change = open === 0 ? '–' : `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(2)} %`;
  return [
    ['O', 'Open', priceText(unit, open)],
    ['H', 'High', priceText(unit, high)],
    ['L', 'Low', priceText(unit, low)],
    ['C', 'Close', priceText(unit, close)],
    ['', 'Change', change, close < open ? 'sell' : 'buy'],
    ['Vol', 'Volume', volumeText(unit, volume, quote)],
  ];
}
