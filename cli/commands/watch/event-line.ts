import { oneLine, printableValue } from '@sluice/shared/runtime/log/terminal-text.ts';
import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import type { ProgramRecord } from '@sluice/shared/wire/events/program-events.ts';
import type { OrderEvent } from '@sluice/shared/wire/orders/orders.ts';
import type { TriggerEvent } from '@sluice/shared/wire/orders/triggers.ts';
import type { PositionEvent } from '@sluice/shared/wire/orders/positions.ts';
import type {
  CandleEvent,
  MigrationEvent,
  NewTokenEvent,
  PoolEvent,
  PriceEvent,
  StreamEvent,
  TokenMetadataEvent,
  TradeEvent,
} from '@sluice/shared/wire/events/events.ts';
import type { Channel } from '@sluice/shared/wire/stream/topics.ts';
import { column, priceText as writtenPrice, rightColumn, usdText } from './columns.ts';
import type { Paint } from './paint.ts';

/** The symbol of a token, or null. */
interface Symbols {
  symbolOf(mint: string): string | null;
}

const widths = {
  kind: 4,
  token: 10,
  name: 24,
  mint: 44,
  amount: 16,
  tokens: 14,
  price: 13,
  cap: 9,
  venue: 15,
  wallet: 10,
  interval: 8,
  begin: 19,
  trades: 6,
  orderId: 30,
  status: 9,
} as const;

const right = (name: string, width: keyof typeof widths): string => rightColumn(name, widths[width]);
const left = (name: string, width: keyof typeof widths): string => column(name, widths[width]);

const poolWord = (word: string): string => column(word, 'REMOVED'.length);
const migration = ' '.repeat('MIGRATION'.length);

/** Names of the columns of a channel, in line with its events. */
const headings: Readonly<Record<Channel, string>> = {
  newTokens: `${left('', 'kind')} ${left('token', 'token')} ${left('name', 'name')} ${left('mint', 'mint')} ${left('venue', 'venue')} ${left('creator', 'wallet')} first buy`,
  trades: `${left('side', 'kind')} ${left('token', 'token')} ${right('amount', 'amount')} ${right('tokens', 'tokens')} ${right('price SOL', 'price')} ${right('mkt cap', 'cap')}  ${left('venue', 'venue')} ${left('trader', 'wallet')} mint`,
  prices: `${left('token', 'token')} ${right('price SOL', 'price')} ${right('mkt cap', 'cap')}  ${left('venue', 'venue')} from`,
  migrations: `${migration} ${left('token', 'token')} ${left('mint', 'mint')} ${left('from', 'venue')} ${left('to', 'venue')} ${right('moved', 'amount')}`,
  candles: `${left('token', 'token')} ${left('interval', 'interval')} ${left('begins (UTC)', 'begin')} ${['open', 'high', 'low', 'close'].map((name) => right(name, 'price')).join(' ')} ${right('SOL', 'amount')} ${right('trades', 'trades')}  state`,
  pools: `${poolWord('')} ${left('token', 'token')} ${right('amount', 'amount')} ${right('tokens', 'tokens')} ${right('left', 'amount')}  ${left('venue', 'venue')} ${left('by', 'wallet')} mint`,
  programs: `${left('program', 'name')} ${left('kind', 'status')} ${left('name', 'name')} data`,
  orders: `${left('order', 'orderId')}  ${left('status', 'status')} ${left('side', 'kind')} ${left('token', 'token')} ${right('tokens', 'tokens')} ${right('coins', 'amount')}  kind`,
};

/** The names of the columns in the lines of a channel. */
export function headingLine(channel: Channel): string {
  return `time (UTC)    ${headings[channel]}`;
}

/** One event as a line of text. Control characters and direction marks are removed from every text of the event: a gateway may lie. */
export function eventLine(received: StreamEvent, paint: Paint, symbols: Symbols): string {
  try {
    return lineOf(printableValue(received), paint, symbols);
  } catch (error) {
    // The gateway sent an event without a field, or with one of another type.
    if (error instanceof TypeError || error instanceof RangeError) return paint.faint('an event in a wrong form');
    throw error;
  }
}

function lineOf(event: StreamEvent, paint: Paint, symbols: Symbols): string {
  switch (event.type) {
    case 'trade':
      return line(event, tradeText(event, paint, symbols), paint);
    case 'price':
      return line(event, priceText(event, paint, symbols), paint);
    case 'newToken':
      return line(event, newTokenText(event, paint), paint);
    case 'tokenMetadata':
      return line(event, metadataText(event, paint), paint);
    case 'migration':
      return line(event, migrationText(event, paint, symbols), paint);
    case 'poolCreated':
    case 'liquidityAdded':
    case 'liquidityRemoved':
      return line(event, poolText(event, paint, symbols), paint);
    case 'candle':
      return line(event, candleText(event, paint, symbols), paint);
    case 'programEvent':
    case 'programInstruction':
    case 'programAccount':
      return line(event, programText(event, paint), paint);
    case 'order':
      return line(event, orderText(event, paint, symbols), paint);
    case 'trigger':
      return line(event, triggerText(event, paint, symbols), paint);
    case 'position':
      return line(event, positionText(event, paint, symbols), paint);
    case 'retract':
      return paint.faint(`retracted ${event.id}: its fork died`);
    default:
      return paint.faint('an event in a wrong form');
  }
}

function line(event: Exclude<StreamEvent, { type: 'retract' }>, text: string, paint: Paint): string {
  const time = new Date(event.ts.received / 1000).toISOString().slice(11, 23);
  const mark = event.simulated === true ? paint.faint('  (simulated)') : '';
  return `${paint.faint(time)}  ${text}${mark}`;
}

function tradeText(event: TradeEvent, paint: Paint, symbols: Symbols): string {
  const paid = `${amount(event.quoteUiAmount)} ${coin(event.quoteMint)}`;
  const sizes = `${right(paid, 'amount')} ${right(amount(event.tokenAmount), 'tokens')}`;
  const place = paint.faint(`${left(event.pool, 'venue')} ${left(short(event.trader), 'wallet')} ${short(event.mint)}`);
  const done = event.curveCompleted === true ? paint.strong('  curve complete') : '';
  return `${side(event.side, paint)} ${token(event.mint, symbols, paint)} ${sizes} ${price(event)}  ${place}${done}`;
}

function side(of: 'buy' | 'sell' | null, paint: Paint): string {
  if (of === null) return left('', 'kind');
  return of === 'buy' ? paint.buy(left('BUY', 'kind')) : paint.sell(left('SELL', 'kind'));
}

function priceText(event: PriceEvent, paint: Paint, symbols: Symbols): string {
  const from = event.source === 'account' ? 'an account' : 'a trade';
  return `${token(event.mint, symbols, paint)} ${price(event)}  ${paint.faint(`${left(event.pool, 'venue')} ${from}`)}`;
}

function token(mint: string, symbols: Symbols, paint: Paint): string {
  const symbol = oneLine(symbols.symbolOf(mint) ?? '');
  return symbol === '' ? left(short(mint), 'token') : paint.strong(left(symbol, 'token'));
}

function newTokenText(event: NewTokenEvent, paint: Paint): string {
  const bought = event.initialBuy === null ? '-' : inCoins(event.initialBuy.quoteAmount, quoteCoins.get(event.quoteMint)?.decimals);
  const names = `${paint.strong(left(event.symbol, 'token'))} ${left(event.name, 'name')}`;
  const place = paint.faint(`${left(event.pool, 'venue')} ${left(short(event.creator), 'wallet')}`);
  return `${paint.strong(left('NEW', 'kind'))} ${names} ${left(event.mint, 'mint')} ${place} ${bought} ${coin(event.quoteMint)}`;
}

function metadataText(event: TokenMetadataEvent, paint: Paint): string {
  const links = [event.website, event.twitter, event.telegram].flatMap((link) => (link === null ? [] : [cut(link)]));
  const said = event.description === null || event.description === '' ? '' : `${cut(event.description)}  `;
  const names = `${paint.strong(left(event.symbol, 'token'))} ${left(event.name, 'name')}`;
  return `${left('META', 'kind')} ${names} ${left(event.mint, 'mint')} ${said}${paint.faint(links.join(' '))}`;
}

function migrationText(event: MigrationEvent, paint: Paint, symbols: Symbols): string {
  const venues = `${left(event.from.pool, 'venue')} ${left(event.pool, 'venue')}`;
  const moved = right(`${inCoins(event.quoteAmount, event.quoteDecimals)} ${coin(event.quoteMint)}`, 'amount');
  return `${paint.strong('MIGRATION')} ${token(event.mint, symbols, paint)} ${left(event.mint, 'mint')} ${venues} ${moved}`;
}

const poolWords = { poolCreated: 'POOL', liquidityAdded: 'ADDED', liquidityRemoved: 'REMOVED' } as const;

function poolText(event: PoolEvent, paint: Paint, symbols: Symbols): string {
  const word = poolWord(poolWords[event.type]);
  const isNew = event.type === 'poolCreated';
  const of = coin(event.quoteMint);
  const moved = event.quoteUiAmount === null ? '-' : `${amount(event.quoteUiAmount)} ${of}`;
  const rest = isNew || event.quoteLeft === null ? '-' : `${inCoins(event.quoteLeft, event.quoteDecimals)} ${of}`;
  const tokens = event.tokenAmount === null ? '-' : amount(event.tokenAmount);
  const sizes = `${right(moved, 'amount')} ${right(tokens, 'tokens')} ${right(rest, 'amount')}`;
  const by = isNew ? event.creator : event.provider;
  const place = paint.faint(`${left(event.pool, 'venue')} ${left(short(by), 'wallet')} ${short(event.mint)}`);
  const shown = event.type === 'liquidityRemoved' ? paint.sell(word) : isNew ? paint.strong(word) : paint.buy(word);
  const burned = event.lpBurned !== null && event.lpBurned !== '0' && event.type !== 'liquidityRemoved' ? paint.strong('  LP burned') : '';
  return `${shown} ${token(event.mint, symbols, paint)} ${sizes}  ${place}${burned}`;
}

function candleText(event: CandleEvent, paint: Paint, symbols: Symbols): string {
  const begins = new Date(event.start * 1000).toISOString().slice(0, widths.begin).replace('T', ' ');
  const prices = [event.open, event.high, event.low, event.close].map((value) => right(writtenPrice(value), 'price')).join(' ');
  const sizes = `${right(amount(event.volumeSol), 'amount')} ${right(String(event.trades), 'trades')}`;
  const state = event.closed ? 'closed' : paint.faint('open');
  return `${token(event.mint, symbols, paint)} ${left(event.interval, 'interval')} ${begins} ${prices} ${sizes}  ${state}`;
}

function orderText(event: OrderEvent, paint: Paint, symbols: Symbols): string {
  const what = event.mint === null ? left('', 'token') : token(event.mint, symbols, paint);
  const unit = event.quoteMint === null ? '' : ` ${coin(event.quoteMint)}`;
  const [tokens, coins] =
    event.fill === null ? ['-', '-'] : [amount(event.fill.baseUiAmount), `${amount(event.fill.traderQuoteUiAmount)}${unit}`];
  const failed = event.error === null ? '' : `  ${paint.sell(event.error.code)}`;
  const state = `${left(event.orderId, 'orderId')}  ${paint.strong(left(event.status, 'status'))}`;
  return `${state} ${side(event.side, paint)} ${what} ${right(tokens, 'tokens')} ${right(coins, 'amount')}  ${paint.faint(event.kind)}${failed}`;
}

function triggerText(event: TriggerEvent, paint: Paint, symbols: Symbols): string {
  const what = event.mint === null ? left('', 'token') : token(event.mint, symbols, paint);
  const more = event.error?.code ?? event.waitingFor;
  const state = `${left(event.triggerId, 'orderId')}  ${paint.strong(left(event.status, 'status'))}`;
  const why = more === null ? '' : `  ${event.error === null ? more : paint.sell(more)}`;
  return `${state} ${side(event.side, paint)} ${what} ${right(String(event.amount), 'tokens')} ${right('', 'amount')}  ${paint.faint('trigger')}${why}`;
}

function positionText(event: PositionEvent, paint: Paint, symbols: Symbols): string {
  const what = `${left('position', 'orderId')}  ${paint.faint(left(short(event.publicKey), 'status'))} ${left('', 'kind')}`;
  const held = event.uiAmount === null ? event.amount : amount(event.uiAmount);
  const result = `${amount(event.costSol)} SOL`;
  return `${what} ${token(event.mint, symbols, paint)} ${right(held, 'tokens')} ${right(result, 'amount')}  ${paint.faint('cost')}`;
}

const programWords = { programEvent: 'event', programInstruction: 'call', programAccount: 'account' } as const;
const maxDataLength = 200;

function programText(event: ProgramRecord, paint: Paint): string {
  const data = JSON.stringify(event.data) ?? '';
  const shown = data.length > maxDataLength ? `${data.slice(0, maxDataLength)}…` : data;
  return `${left(event.programName, 'name')} ${left(programWords[event.type], 'status')} ${paint.strong(left(event.name, 'name'))} ${shown}`;
}

const maxNameLength = 40;

function cut(text: string): string {
  return text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text;
}

function short(address: string): string {
  return `${address.slice(0, 4)}…${address.slice(-4)}`;
}

/** A quote coin, so short that an amount of it fits into its column. */
function coin(mint: string): string {
  return quoteCoins.get(mint)?.symbol ?? `${mint.slice(0, 4)}…`;
}

/** A raw amount in whole coins. `?` if their decimals are unknown. */
function inCoins(raw: string, decimals: number | undefined): string {
  return decimals === undefined ? '?' : amount(Number(raw) / 10 ** decimals);
}

function amount(value: number): string {
  const digits = Math.abs(value) >= 1000 ? 0 : 4;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

/** The columns price and market cap. */
function price({ priceSol, priceQuote, quoteMint, marketCapUsd, marketCapSol }: TradeEvent | PriceEvent): string {
  const shown = priceSol === null ? (priceQuote === null ? '-' : `${writtenPrice(priceQuote)} ${coin(quoteMint)}`) : writtenPrice(priceSol);
  const cap = marketCapUsd === null ? (marketCapSol === null ? '-' : `${amount(marketCapSol)} SOL`) : usdText(marketCapUsd);
  return `${right(shown, 'price')} ${right(cap, 'cap')}`;
}
