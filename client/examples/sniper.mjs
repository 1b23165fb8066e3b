// Buys new tokens, and sells each one at a profit, at a loss, or after a time.
//
//   SLUICE_API_KEY=… WALLET=… node sniper.mjs
// It places orders only if LIVE=1. Otherwise purchases are dry runs, and sales are quotes. On a gateway with TRADING=paper, LIVE=1 trades on paper.
import { printable, Sluice, SluiceError } from '@sluice/client';

const { SLUICE_URL: url = 'http://127.0.0.1:8080', SLUICE_API_KEY: apiKey = '', WALLET: publicKey = '', LIVE } = process.env;
if (apiKey === '' || publicKey === '') throw new Error('Set SLUICE_API_KEY and WALLET; `npx -y pnpm@12 start` prints both.');
/** A number from the environment, 0 or more. @param {string} name @param {number} standard */
function number(name, standard) {
  const value = Number(process.env[name] || standard);
  if (value >= 0 && Number.isFinite(value)) return value;
  throw new Error(`${name} is "${process.env[name]}". It must be a number, for example ${standard}.`);
}
const amountSol = number('AMOUNT_SOL', 0.01);
const takeProfit = number('TAKE_PROFIT', 1.3); // price over the price paid
const stopLoss = number('STOP_LOSS', 0.8);
const holdMs = Math.min(Math.ceil(number('HOLD_SECONDS', 120) * 1000), 2 ** 31 - 1); // a longer timer would end at once
const maxPositions = number('MAX_POSITIONS', 3);
const slippage = 20; // percent
const maxAttempts = 12; // for one order, in a minute

const isLive = LIVE === '1';
const sluice = new Sluice({ url, apiKey });
let positions = 0;

/** The market has left the price. Nothing was placed. @param {unknown} error */
const hasMoved = (error) => error instanceof SluiceError && error.code === 'SLIPPAGE_EXCEEDED';

/**
 * Places an order. After a lost answer the order may exist: the key of the error finds it, or places the only one.
 * @template T @param {(options: import('@sluice/client').TradeOptions) => Promise<T>} send @returns {Promise<T>}
 */
async function placeOnce(send) {
  /** @type {import('@sluice/client').TradeOptions} */
  let options = {};
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(options);
    } catch (error) {
      if (!(error instanceof SluiceError) || !error.retryable || hasMoved(error)) throw error;
      if (error.idempotencyKey === null || attempt === maxAttempts) throw error;
      console.error(error.message);
      options = { idempotencyKey: error.idempotencyKey };
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }
  }
}

/** Waits until the order is in a block, and returns what it did. @param {string | null} orderId */
async function filled(orderId) {
  for (;;) {
    const order = await sluice.order(String(orderId));
    if (order.status === 'failed' || order.status === 'expired') throw new Error(order.error?.message ?? order.status);
    if (order.fill !== null) return order.fill;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Returns tokens and SOL of the purchase, and what kind of purchase it was. @param {string} mint */
async function buy(mint) {
  const {
    orderId,
    quote,
    paper = false,
  } = await placeOnce((options) => sluice.buy({ publicKey, mint, amount: amountSol, slippage, dryRun: !isLive }, options));
  if (orderId === null) return { tokens: quote.outUiAmount, paid: quote.inUiAmount, kind: 'dry run' };
  const fill = await filled(orderId);
  return { tokens: fill.baseUiAmount, paid: fill.traderQuoteUiAmount, kind: paper ? 'paper' : 'live' };
}

/** What a sale of the tokens would give now, in SOL. @param {string} mint @param {number} tokens */
async function saleQuote(mint, tokens) {
  return (await sluice.quote({ side: 'sell', mint, amount: tokens })).quote.outUiAmount;
}

/** Returns the SOL received. Places the sale again, at a new quote, only if it certainly failed, for example because the price moved too far. @param {string} mint */
async function sellAll(mint) {
  for (let attempt = 1; ; attempt++) {
    try {
      const { orderId } = await placeOnce((options) => sluice.sell({ publicKey, mint, sellAll: true, slippage }, options));
      return (await filled(orderId)).traderQuoteUiAmount;
    } catch (error) {
      if (error instanceof SluiceError && error.retryable && !hasMoved(error)) throw error;
      const message = error instanceof Error ? error.message : String(error);
      if (attempt === maxAttempts) throw new Error(`not sold: ${message}`, { cause: error });
      console.error(`${mint} is not sold yet: ${message}`);
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }
  }
}

/** Follows the trades of a token until it is time to sell. Returns why. @param {string} mint @param {number} price SOL for one token */
async function timeToSell(mint, price) {
  const trades = sluice.subscribe('trades', { mints: [mint], snapshot: true, signal: AbortSignal.timeout(holdMs) });
  for await (const event of trades) {
    if (event.type !== 'trade' || event.priceSol === null) continue;
    if (event.priceSol >= price * takeProfit) return 'take profit';
    if (event.priceSol <= price * stopLoss) return 'stop loss';
  }
  return 'time is over';
}

/** Buys a token, and sells it later. @param {string} mint @param {string} symbol */
async function snipe(mint, symbol) {
  const { tokens, paid, kind } = await buy(mint);
  console.log(`bought ${tokens} ${symbol} (${mint}) for ${paid} SOL, ${kind}`);
  const reason = await timeToSell(mint, paid / tokens);
  const received = kind === 'dry run' ? await saleQuote(mint, tokens) : await sellAll(mint);
  console.log(`sold ${symbol} for ${received} SOL: ${reason}, ${(received - paid).toFixed(6)} SOL`);
}

process.once('SIGINT', () => sluice.close());
console.log(`${isLive ? 'LIVE' : 'dry run'}: ${amountSol} SOL for each token, at most ${maxPositions} at once`);
const filter = /** @type {const} */ ({ pool: 'pump', quoteMint: 'SOL', maxDevBuySol: 5 });
/** Says why nothing arrives. @param {import('@sluice/client').Status} status */
function onStatus(status) {
  if (status.state === 'reconnecting') console.error(`${url}: ${status.reason}`);
}
for await (const event of sluice.subscribe('newTokens', { filter, onStatus })) {
  if (event.type !== 'newToken' || positions >= maxPositions) continue;
  positions++;
  snipe(event.mint, printable(event.symbol))
    .catch((error) => console.log(`${event.mint}: ${error.message}`))
    .finally(() => void positions--);
}
