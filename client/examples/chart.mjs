// A chart's data: the stored candles of a token, then each change as it happens. One line of JSON for each candle, and for each one to remove.
//
//   SLUICE_API_KEY=… node chart.mjs [mint] [interval]
//
// Without a mint it takes the token of the next trade.
import { Sluice } from '@sluice/client';

/** @typedef {import('@sluice/client').CandlePage['candles'][number]} Candle */

const { SLUICE_URL: url = 'http://127.0.0.1:8080', SLUICE_API_KEY: apiKey = '' } = process.env;
if (apiKey === '') throw new Error('Set SLUICE_API_KEY; `npx -y pnpm@12 start` prints one.');
const sluice = new Sluice({ url, apiKey });
process.once('SIGINT', () => sluice.close());

/** Says why nothing arrives. @param {import('@sluice/client').Status} status */
function onStatus(status) {
  if (status.state === 'reconnecting') console.error(`${url}: ${status.reason}`);
}

/** The mint of the next trade; empty if the client is closed before that. */
async function nextTraded() {
  for await (const event of sluice.subscribe('trades', { onStatus })) if (event.type === 'trade') return event.mint;
  return '';
}

const [, , mint = await nextTraded(), length = '1s'] = process.argv;
const interval = /** @type {import('@sluice/client').CandleInterval} */ (length);

/** `time` is in Unix seconds, as chart libraries want it. A candle with the same time replaces the previous one. @param {Candle} candle */
function draw({ start, open, high, low, close, volumeSol, closed }) {
  console.log(JSON.stringify({ time: start, open, high, low, close, volume: volumeSol, closed }));
}

async function drawStored() {
  const { candles } = await sluice.candles(mint, { interval, limit: 100 });
  candles.forEach(draw);
}

if (mint !== '') {
  console.log(`${mint}, ${interval}`);
  // Subscribed first, so that nothing is missing between the stored candles and the live ones.
  const live = sluice.subscribe('candles', { mints: [mint], interval, onGap: () => void drawStored().catch(console.error) });
  await drawStored();
  for await (const event of live) {
    if (event.type === 'candle') draw(event);
    // A fork took all trades of the candle: it is to be removed. Its id is <mint>:<interval>:<start>:…
    else console.log(JSON.stringify({ time: Number(event.id.split(':')[2]), retracted: true }));
  }
}
