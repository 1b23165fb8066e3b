import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { OrderEvent } from '@sluice/shared/wire/order-event.ts';
import type {
  CandleEvent,
  MigrationEvent,
  NewTokenEvent,
  PriceEvent,
  StreamEvent,
  TokenMetadataEvent,
  TradeEvent,
} from '@sluice/shared/wire/events.ts';
import { column, priceText as writtenPrice, rightColumn, usdText } from './columns.ts';
import type { Paint } from './paint.ts';

/** The symbol of a token, or null. */
interface Symbols {
  symbolOf(mint: string): string | null;
}

const widths = { token: 10, amount: 12, tokens: 14, price: 12, cap: 9, venue: 15 } as const;

/** The column headings for trades and prices; null for other events. */
export function headingLine(type: StreamEvent['type']): string | null {
  const time = 'time (UTC)  ';
  const value = `${rightColumn('price SOL', widths.price)} ${rightColumn('mkt cap', widths.cap)}`;
  const name = column('token', widths.token);
  const end = column('venue', widths.venue);
  if (type === 'price') return `${time}  ${name} ${value}  ${end} from`;
  if (type !== 'trade') return null;
  return `${time}  side ${name} ${rightColumn('SOL', widths.amount)} ${rightColumn('tokens', widths.tokens)} ${value}  ${end} trader     mint`;
}

/** One event as a line of text. Control characters are removed from the names and texts of tokens. */
export function eventLine(event: StreamEvent, paint: Paint, symbols: Symbols): string {
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
      return line(event, migrationText(event, paint), paint);
    case 'candle':
      return line(event, candleText(event, paint, symbols), paint);
    case 'order':
      return line(event, orderText(event, paint), paint);
    case 'retract':
      return paint.faint(`retracted ${event.id}: its fork died`);
  }
}

function line(event: Exclude<StreamEvent, { type: 'retract' }>, text: string, paint: Paint): string {
  const time = new Date(event.ts.received / 1000).toISOString().slice(11, 23);
  const mark = event.simulated === true ? paint.faint('  (simulated)') : '';
  return `${paint.faint(time)}  ${text}${mark}`;
}

function tradeText(event: TradeEvent, paint: Paint, symbols: Symbols): string {
  const side = event.side === 'buy' ? paint.buy('BUY ') : paint.sell('SELL');
  const paid = event.solAmount === null ? `${amount(event.quoteUiAmount)} ${short(event.quoteMint)}` : amount(event.solAmount);
  const sizes = `${rightColumn(paid, widths.amount)} ${rightColumn(amount(event.tokenAmount), widths.tokens)}`;
  const place = paint.faint(`${column(event.pool, widths.venue)} ${column(short(event.trader), 10)} ${short(event.mint)}`);
  const done = event.curveCompleted === true ? paint.strong('  curve complete') : '';
  return `${side} ${token(event.mint, symbols, paint)} ${sizes} ${price(event)}  ${place}${done}`;
}

function priceText(event: PriceEvent, paint: Paint, symbols: Symbols): string {
  const from = event.source === 'account' ? 'an account' : 'a trade';
  return `${token(event.mint, symbols, paint)} ${price(event)}  ${paint.faint(`${column(event.pool, widths.venue)} ${from}`)}`;
}

function token(mint: string, symbols: Symbols, paint: Paint): string {
  const symbol = clean(symbols.symbolOf(mint) ?? '');
  return symbol === '' ? column(short(mint), widths.token) : paint.strong(column(symbol, widths.token));
}

function newTokenText(event: NewTokenEvent, paint: Paint): string {
  const bought = event.initialBuy?.solAmount ?? null;
  const buy = bought === null ? '' : `  creator bought for ${amount(bought)} SOL`;
  return `${paint.strong('NEW ')} ${paint.strong(`${clean(event.name)} (${clean(event.symbol)})`)}  ${event.mint}  ${paint.faint(`${event.pool} by ${short(event.creator)}`)}${buy}`;
}

function metadataText(event: TokenMetadataEvent, paint: Paint): string {
  const links = [event.website, event.twitter, event.telegram].flatMap((link) => (link === null ? [] : [clean(link)]));
  const said = event.description === null || event.description === '' ? '' : `  ${clean(event.description)}`;
  return `${paint.strong('META')} ${clean(event.name)} (${clean(event.symbol)})  ${event.mint}${said}  ${paint.faint(links.join(' '))}`;
}

function migrationText(event: MigrationEvent, paint: Paint): string {
  const moved = event.solAmount === null ? '' : `  with ${amount(event.solAmount)} SOL`;
  return `${paint.strong('MIGRATION')} ${event.mint}  ${event.from.pool} to ${event.pool}${moved}`;
}

function candleText(event: CandleEvent, paint: Paint, symbols: Symbols): string {
  const begins = new Date(event.start * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const prices = [event.open, event.high, event.low, event.close].map((value) => writtenPrice(value)).join(' ');
  const state = event.closed ? 'closed' : paint.faint('open');
  return `CANDLE ${token(event.mint, symbols, paint)} ${event.interval} ${begins}  ${prices}  ${amount(event.volumeSol)} SOL in ${event.trades} trades  ${state}`;
}

function orderText(event: OrderEvent, paint: Paint): string {
  const side = event.side === null ? '' : event.side === 'buy' ? paint.buy('BUY ') : paint.sell('SELL ');
  const what = event.mint === null ? '' : short(event.mint);
  const coin = event.quoteMint === null ? '' : event.quoteMint === wrappedSolMint ? 'SOL' : short(event.quoteMint);
  const done = event.fill === null ? '' : `  ${amount(event.fill.baseUiAmount)} for ${amount(event.fill.traderQuoteUiAmount)} ${coin}`;
  const failed = event.error === null ? '' : `  ${event.error.code}`;
  return `ORDER ${event.orderId}  ${paint.strong(event.status)}  ${side}${what}${done}${failed}  ${paint.faint(event.kind)}`;
}

const maxNameLength = 40;

/** Anyone can choose these texts. Escape sequences and direction marks must not reach the terminal. */
function clean(text: string): string {
  const printable = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
  return printable.length > maxNameLength ? `${printable.slice(0, maxNameLength)}…` : printable;
}

function short(address: string): string {
  return `${address.slice(0, 4)}…${address.slice(-4)}`;
}

function amount(value: number): string {
  const digits = Math.abs(value) >= 1000 ? 0 : 4;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

/** The columns price and market cap. */
function price({ priceSol, priceQuote, marketCapUsd, marketCapSol }: TradeEvent | PriceEvent): string {
  const shown = priceSol === null ? (priceQuote === null ? '-' : `${writtenPrice(priceQuote)} quote`) : writtenPrice(priceSol);
  const cap = marketCapUsd === null ? (marketCapSol === null ? '-' : `${amount(marketCapSol)} SOL`) : usdText(marketCapUsd);
  return `${rightColumn(shown, widths.price)} ${rightColumn(cap, widths.cap)}`;
}
