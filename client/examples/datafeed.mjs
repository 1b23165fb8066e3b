// A datafeed for TradingView's chart, and for others that ask for `getBars` and `subscribeBars`. The name of a symbol is a mint.
//
//   new TradingView.widget({ datafeed: datafeed(new Sluice({ url, ticket }), candles), symbol: mint, interval: '1', timezone: 'Etc/UTC' })
//
// A browser page has no API key, so its `candles` requests the stored candles from the page's own server.

/** @typedef {import('@sluice/client').Sluice} Sluice @typedef {import('@sluice/client').CandlePage['candles'][number]} Candle */
/** @typedef {{ time: number, open: number, high: number, low: number, close: number, volume: number }} Bar `time` in ms. */
/** @typedef {(reason: string) => void} Fail @typedef {{ ticker: string }} Symbol */

/** @type {Record<string, import('@sluice/client').CandleInterval>} Intervals by the names that the chart gives them. */
const intervals = { '1S': '1s', '5S': '5s', '15S': '15s', 1: '1m', 5: '5m', 15: '15m', 60: '1h', 240: '4h', '1D': '1d' };
const resolutions = { seconds_multipliers: ['1', '5', '15'], intraday_multipliers: ['1', '5', '15', '60', '240'] };
const hours = { type: 'crypto', session: '24x7', timezone: 'Etc/UTC', has_intraday: true, has_seconds: true, has_daily: true };

/** @param {Candle} candle @returns {Bar} */
const barOf = ({ start, open, high, low, close, volumeBase }) => ({ time: start * 1000, open, high, low, close, volume: volumeBase });

/** @param {Sluice} sluice @param {(...request: Parameters<Sluice['candles']>) => Promise<{ candles: readonly Candle[], older: boolean }>} [candles] */
export function datafeed(sluice, candles = (...request) => sluice.candles(...request)) {
  const followed = /** @type {Map<string, AbortController>} */ (new Map());
  const newest = /** @type {Map<string, number>} */ (new Map());
  return {
    onReady: (/** @type {(value: object) => void} */ done) => void setTimeout(done, 0, { supported_resolutions: Object.keys(intervals) }),
    searchSymbols: (/** @type {[string, string, string, (found: []) => void]} */ ...[, , , done]) => done([]),
    /** @param {string} mint @param {(symbol: Symbol & Record<string, unknown>) => void} done @param {Fail} fail */
    async resolveSymbol(mint, done, fail) {
      const found = await candles(mint, { interval: '1d', limit: 1 }).catch((error) => fail(String(error)));
      if (found === undefined) return;
      // Four digits of the price are visible, however many zeros come first.
      const decimals = Math.min(15, Math.max(2, 3 - Math.floor(Math.log10(found.candles[0]?.close ?? 1))));
      const names = { name: mint, ticker: mint, description: mint, exchange: '', listed_exchange: '' };
      done({ ...names, ...hours, ...resolutions, format: 'price', minmov: 1, pricescale: 10 ** decimals });
    },
    /** @param {Symbol} symbol @param {string} resolution @param {{ to: number, countBack: number }} period
     *  @param {(bars: Bar[], about: { noData: boolean }) => void} done @param {Fail} fail */
    async getBars({ ticker }, resolution, { to, countBack }, done, fail) {
      // The last `countBack` candles before `to`, in one request. With `from`, too few would come where nobody traded for a while.
      const query = { interval: intervals[resolution] ?? '1m', to, limit: Math.min(countBack, 1_000) };
      const page = await candles(ticker, query).catch((error) => fail(String(error)));
      if (page === undefined) return;
      const bars = page.candles.map(barOf);
      newest.set(ticker + resolution, Math.max(newest.get(ticker + resolution) ?? 0, bars.at(-1)?.time ?? 0));
      done(bars, { noData: bars.length === 0 && !page.older });
    },
    /** @param {Symbol} symbol @param {string} resolution @param {(bar: Bar) => void} tick @param {string} id @param {() => void} reset */
    subscribeBars({ ticker }, resolution, tick, id, reset) {
      const ended = new AbortController();
      followed.set(id, ended);
      const seen = /** @type {Map<number, string>} */ (new Map());
      let last = newest.get(ticker + resolution) ?? 0;
      /** @param {import('@sluice/client').EventOf<'candles'>} event */
      const onEvent = (event) => {
        // The id of a candle is <mint>:<interval>:<start>:…
        const time = 1000 * (event.type === 'candle' ? event.start : Number(event.id.split(':')[2]));
        const text = event.type === 'candle' ? JSON.stringify(barOf(event)) : 'retracted';
        if (seen.get(time) === text) return;
        if (seen.size >= 1_000) seen.clear();
        seen.set(time, text);
        // A chart accepts changes of its last bar only. After a change of an older bar, or a retraction, the chart must read all bars again.
        if (event.type !== 'candle' || time < last) return reset();
        last = time;
        tick(barOf(event));
      };
      const options = { mints: [ticker], interval: intervals[resolution] ?? '1m', signal: ended.signal };
      sluice.subscribe('candles', { ...options, onEvent, onGap: reset, onError: console.error });
    },
    unsubscribeBars(/** @type {string} */ id) {
      followed.get(id)?.abort();
      followed.delete(id);
    },
  };
}
