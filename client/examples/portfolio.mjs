// Watches a wallet: its value, its tokens, and each of its trades.
//
//   SLUICE_API_KEY=… WALLET=… node portfolio.mjs
import { printable, Sluice } from '@sluice/client';

const { SLUICE_URL: url = 'http://127.0.0.1:8080', SLUICE_API_KEY: apiKey = '', WALLET: wallet = '' } = process.env;
if (apiKey === '' || wallet === '') throw new Error('Set SLUICE_API_KEY and WALLET; `npx -y pnpm@12 start` prints both.');
const everyMs = 5_000;
const sluice = new Sluice({ url, apiKey });
process.once('SIGINT', () => sluice.close());

let last = '';
/** Prints the wallet if something changed. */
async function show() {
  const { sol, holdings, totals } = await sluice.portfolio(wallet);
  const lines = holdings.map(
    ({ mint, symbol, uiAmount, valueSol }) => `  ${printable(symbol ?? mint)}  ${uiAmount}  ${valueSol ?? '?'} SOL`,
  );
  const text = [`${totals.valueSol} SOL, ${sol.uiAmount} of it not invested`, ...lines].join('\n');
  if (text !== last) console.log(text);
  last = text;
}

/** Shows the wallet after each connection, when its next trades are sure to arrive. @param {import('@sluice/client').Status} status */
function onStatus(status) {
  if (status.state === 'live') void show().catch(console.error);
  else console.error(`${url}: ${status.reason}`);
}

const trades = sluice.subscribe('trades', { accounts: [wallet], onStatus, onGap: () => console.log('Some trades are missing here.') });
const timer = setInterval(() => void show().catch(console.error), everyMs);
for await (const event of trades) {
  if (event.type === 'retract') console.log(`retracted: ${event.id}`);
  else console.log(`${event.side} ${event.tokenAmount} of ${event.mint} for ${event.quoteUiAmount}`);
}
clearInterval(timer);
