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

/** ANSI colours, or none. */
export interface Paint {
  readonly buy: (text: string) => string;
  readonly sell: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly strong: (text: string) => string;
}

const wrap = (code: number, text: string): string => `\u001B[${code}m${text}\u001B[0m`;
export const colourPaint: Paint = {
  buy: (text) => wrap(32, text),
  sell: (text) => wrap(31, text),
  faint: (text) => wrap(2, text),
  strong: (text) => wrap(1, text),
};
const same = (text: string): string => text;
export const plainPaint: Paint = { buy: same, sell: same, faint: same, strong: same };

/** One event as a line of text. Control characters are removed from the names and texts of tokens. */
export function eventLine(event: StreamEvent, paint: Paint): string {
  switch (event.type) {
    case 'trade':
      return line(event, tradeText(event, paint), paint);
    case 'price':
      return line(event, priceText(event, paint), paint);
    case 'newToken':
      return line(event, newTokenText(event, paint), paint);
    case 'tokenMetadata':
      return line(event, metadataText(event, paint), paint);
    case 'migration':
      return line(event, migrationText(event, paint), paint);
    case 'candle':
      return line(event, candleText(event, paint), paint);
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

function tradeText(event: TradeEvent, paint: Paint): string {
  const side = event.side === 'buy' ? paint.buy('BUY ') : paint.sell('SELL');
  const paid = event.solAmount === null ? `${amount(event.quoteUiAmount)} quote` : `${amount(event.solAmount)} SOL`;
  const done = event.curveCompleted === true ? '  curve complete' : '';
  return `${side} ${amount(event.tokenAmount).padStart(14)} for ${paid.padEnd(14)} ${short(event.mint)}  at ${price(event)}${marketCap(event)}  ${paint.faint(`${event.pool} by ${short(event.trader)}`)}${done}`;
}

function priceText(event: PriceEvent, paint: Paint): string {
  return `PRICE ${short(event.mint)}  ${price(event)}${marketCap(event)}  ${paint.faint(`${event.pool}, from a${event.source === 'account' ? 'n account' : ' trade'}`)}`;
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

function candleText(event: CandleEvent, paint: Paint): string {
  const begins = new Date(event.start * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const prices = [event.open, event.high, event.low, event.close].map((value) => value.toPrecision(4)).join(' ');
  const state = event.closed ? 'closed' : paint.faint('open');
  return `CANDLE ${short(event.mint)}  ${event.interval} ${begins}  ${prices}  ${amount(event.volumeSol)} SOL in ${event.trades} trades  ${state}`;
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

function price(event: TradeEvent | PriceEvent): string {
  if (event.priceSol === null) return event.priceQuote === null ? 'no price' : `${event.priceQuote.toPrecision(4)} quote`;
  const usd = event.priceUsd === null ? '' : ` ($${event.priceUsd.toPrecision(4)})`;
  return `${event.priceSol.toPrecision(4)} SOL${usd}`;
}

function marketCap(event: TradeEvent | PriceEvent): string {
  if (event.marketCapSol === null) return '';
  return `  cap ${amount(event.marketCapSol)} SOL`;
}
