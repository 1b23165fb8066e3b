/** Intervals of candles, in seconds. */
export const candleIntervals = {
  '1s': 1,
  '5s': 5,
  '15s': 15,
  '1m': 60,
  '5m': 300,
  '15m': 900,
  '1h': 3600,
  '4h': 14_400,
  '1d': 86_400,
} as const;
export type CandleInterval = keyof typeof candleIntervals;
export const candleIntervalNames = Object.keys(candleIntervals) as CandleInterval[];

export function isCandleInterval(name: unknown): name is CandleInterval {
  return typeof name === 'string' && Object.hasOwn(candleIntervals, name);
}
