import { Packr } from 'msgpackr';
import type { Fees, PriceEvent, Reserves, StreamEvent, TradeEvent } from './events.ts';

/** An event in the two forms that clients read: UTF-8 JSON and MessagePack (maps, integers up to 2^32 as integers, other numbers as float64). */
export interface EncodedEvent {
  readonly json: Uint8Array;
  readonly msgpack: Uint8Array;
}

// Plain maps: clients' decoders know nothing of msgpackr's record extension.
const packr = new Packr({ useRecords: false });

/**
 * Encodes an event once for all its readers. Trades and prices, nearly all of the stream, have writers of their own:
 * everything in them is ASCII without a character that JSON escapes (the schema's patterns), so that one pass of string
 * building gives both forms. The event must be of its schema; numbers must be finite.
 */
export function encodeEvent(event: StreamEvent): EncodedEvent {
  if (event.type === 'trade') return encodeTrade(event);
  if (event.type === 'price') return encodePrice(event);
  return { json: Buffer.from(JSON.stringify(event)), msgpack: packr.pack(event) };
}

function encodeTrade(event: TradeEvent): EncodedEvent {
  const json = `{"type":"trade",${commonJson(event)},"side":"${event.side}","trader":"${event.trader}","feePayer":${quoted(event.feePayer)},"baseAmount":"${event.baseAmount}","baseDecimals":${event.baseDecimals},"quoteAmount":"${event.quoteAmount}","quoteDecimals":${event.quoteDecimals},"tokenAmount":${event.tokenAmount},"solAmount":${event.solAmount},"quoteUiAmount":${event.quoteUiAmount},${valuationJson(event)},"fees":${feesJson(event.fees)},"reserves":${reservesJson(event.reserves)}${event.curveCompleted === true ? ',"curveCompleted":true' : ''}}`;
  const fields = 28 + (event.simulated === true ? 1 : 0) + (event.curveCompleted === true ? 1 : 0);
  const msgpack =
    map16(fields) +
    tradeTypeField +
    commonMsgpack(event) +
    keySide +
    packText(event.side) +
    keyTrader +
    packText(event.trader) +
    keyFeePayer +
    packText(event.feePayer) +
    keyBaseAmount +
    packText(event.baseAmount) +
    keyBaseDecimals +
    packNumber(event.baseDecimals) +
    keyQuoteAmount +
    packText(event.quoteAmount) +
    keyQuoteDecimals +
    packNumber(event.quoteDecimals) +
    keyTokenAmount +
    packNumber(event.tokenAmount) +
    keySolAmount +
    packNumber(event.solAmount) +
    keyQuoteUiAmount +
    packNumber(event.quoteUiAmount) +
    valuationMsgpack(event) +
    keyFees +
    feesMsgpack(event.fees) +
    keyReserves +
    reservesMsgpack(event.reserves) +
    (event.curveCompleted === true ? curveCompletedField : '');
  return { json: Buffer.from(json, 'latin1'), msgpack: Buffer.from(msgpack, 'latin1') };
}

function encodePrice(event: PriceEvent): EncodedEvent {
  const { solUsd } = event;
  const solUsdJson = solUsd === null ? 'null' : `{"price":${solUsd.price},"slot":${solUsd.slot},"ageMs":${solUsd.ageMs}}`;
  const json = `{"type":"price",${commonJson(event)},"source":"${event.source}",${valuationJson(event)},"solUsd":${solUsdJson},"reserves":${reservesJson(event.reserves)}}`;
  const msgpack =
    map16(19 + (event.simulated === true ? 1 : 0)) +
    priceTypeField +
    commonMsgpack(event) +
    keySource +
    packText(event.source) +
    valuationMsgpack(event) +
    keySolUsd +
    (solUsd === null
      ? nil
      : solUsdHead + keyPrice + packNumber(solUsd.price) + keySlot + packNumber(solUsd.slot) + keyAgeMs + packNumber(solUsd.ageMs)) +
    keyReserves +
    reservesMsgpack(event.reserves);
  return { json: Buffer.from(json, 'latin1'), msgpack: Buffer.from(msgpack, 'latin1') };
}

function commonJson(event: TradeEvent | PriceEvent): string {
  return `"id":"${event.id}","mint":"${event.mint}","quoteMint":"${event.quoteMint}","pool":"${event.pool}","poolAddress":"${event.poolAddress}","signature":${quoted(event.signature)},"slot":${event.slot},"blockTime":${event.blockTime},"commitment":"${event.commitment}","ts":{"received":${event.ts.received},"published":${event.ts.published}}${event.simulated === true ? ',"simulated":true' : ''}`;
}

function valuationJson(event: TradeEvent | PriceEvent): string {
  return `"priceQuote":${event.priceQuote},"priceSol":${event.priceSol},"priceUsd":${event.priceUsd},"marketCapSol":${event.marketCapSol},"marketCapUsd":${event.marketCapUsd}`;
}

function feesJson(fees: Fees): string {
  return `{"protocol":{"amount":"${fees.protocol.amount}","bps":${fees.protocol.bps}},"creator":{"amount":"${fees.creator.amount}","bps":${fees.creator.bps}},"lp":{"amount":"${fees.lp.amount}","bps":${fees.lp.bps}},"cashback":{"amount":"${fees.cashback.amount}","bps":${fees.cashback.bps}},"holderRewards":{"amount":"${fees.holderRewards.amount}","bps":${fees.holderRewards.bps}},"total":"${fees.total}"}`;
}

function reservesJson(reserves: Reserves): string {
  return `{"virtualBase":"${reserves.virtualBase}","virtualQuote":"${reserves.virtualQuote}","realBase":"${reserves.realBase}","realQuote":"${reserves.realQuote}"}`;
}

function quoted(text: string | null): string {
  return text === null ? 'null' : `"${text}"`;
}

// --- MessagePack, written as a string of bytes (one character, one byte) and turned into bytes at the end.

const nil = '\xc0';
const yes = '\xc3';
const prefixes = Array.from({ length: 256 }, (_, length) =>
  length < 32 ? String.fromCharCode(0xa0 | length) : `\xd9${String.fromCharCode(length)}`,
);
const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));

function packText(text: string | null): string {
  if (text === null) return nil;
  const prefix = prefixes[text.length];
  return prefix === undefined ? `\xda${byte(text.length >>> 8)}${byte(text.length)}${text}` : prefix + text;
}

const floatBytes = new Uint8Array(8);
const floatView = new DataView(floatBytes.buffer);

function packNumber(value: number | null): string {
  if (value === null) return nil;
  if (value >= 0 && value <= 0xffffffff && Math.floor(value) === value && !Object.is(value, -0)) {
    if (value < 0x80) return byte(value);
    if (value < 0x100) return `\xcc${byte(value)}`;
    if (value < 0x10000) return `\xcd${byte(value >>> 8)}${byte(value)}`;
    return `\xce${byte(value >>> 24)}${byte(value >>> 16)}${byte(value >>> 8)}${byte(value)}`;
  }
  floatView.setFloat64(0, value);
  return String.fromCharCode(
    0xcb,
    floatBytes[0]!,
    floatBytes[1]!,
    floatBytes[2]!,
    floatBytes[3]!,
    floatBytes[4]!,
    floatBytes[5]!,
    floatBytes[6]!,
    floatBytes[7]!,
  );
}

function byte(value: number): string {
  return bytes[value & 0xff]!;
}

function map16(entries: number): string {
  return `\xde\x00${byte(entries)}`;
}

function map(entries: number): string {
  return byte(0x80 | entries);
}

const keyId = packText('id');
const keyMint = packText('mint');
const keyQuoteMint = packText('quoteMint');
const keyPool = packText('pool');
const keyPoolAddress = packText('poolAddress');
const keySignature = packText('signature');
const keySlot = packText('slot');
const keyBlockTime = packText('blockTime');
const keyCommitment = packText('commitment');
const tsHead = packText('ts') + map(2) + packText('received');
const keyPublished = packText('published');
const simulatedField = packText('simulated') + yes;
const keySide = packText('side');
const keyTrader = packText('trader');
const keyFeePayer = packText('feePayer');
const keyBaseAmount = packText('baseAmount');
const keyBaseDecimals = packText('baseDecimals');
const keyQuoteAmount = packText('quoteAmount');
const keyQuoteDecimals = packText('quoteDecimals');
const keyTokenAmount = packText('tokenAmount');
const keySolAmount = packText('solAmount');
const keyQuoteUiAmount = packText('quoteUiAmount');
const keyPriceQuote = packText('priceQuote');
const keyPriceSol = packText('priceSol');
const keyPriceUsd = packText('priceUsd');
const keyMarketCapSol = packText('marketCapSol');
const keyMarketCapUsd = packText('marketCapUsd');
const keyFees = packText('fees');
const keyReserves = packText('reserves');
const keySource = packText('source');
const keySolUsd = packText('solUsd');
const solUsdHead = map(3);
const keyPrice = packText('price');
const keyAgeMs = packText('ageMs');
const curveCompletedField = packText('curveCompleted') + yes;
const tradeTypeField = packText('type') + packText('trade');
const priceTypeField = packText('type') + packText('price');
const feePartHead = map(2) + packText('amount');
const keyBps = packText('bps');
const feesHead = map(6) + packText('protocol');
const keyCreator = packText('creator');
const keyLp = packText('lp');
const keyCashback = packText('cashback');
const keyHolderRewards = packText('holderRewards');
const keyTotal = packText('total');
const reservesHead = map(4) + packText('virtualBase');
const keyVirtualQuote = packText('virtualQuote');
const keyRealBase = packText('realBase');
const keyRealQuote = packText('realQuote');

function commonMsgpack(event: TradeEvent | PriceEvent): string {
  return (
    keyId +
    packText(event.id) +
    keyMint +
    packText(event.mint) +
    keyQuoteMint +
    packText(event.quoteMint) +
    keyPool +
    packText(event.pool) +
    keyPoolAddress +
    packText(event.poolAddress) +
    keySignature +
    packText(event.signature) +
    keySlot +
    packNumber(event.slot) +
    keyBlockTime +
    packNumber(event.blockTime) +
    keyCommitment +
    packText(event.commitment) +
    tsHead +
    packNumber(event.ts.received) +
    keyPublished +
    packNumber(event.ts.published) +
    (event.simulated === true ? simulatedField : '')
  );
}

function valuationMsgpack(event: TradeEvent | PriceEvent): string {
  return (
    keyPriceQuote +
    packNumber(event.priceQuote) +
    keyPriceSol +
    packNumber(event.priceSol) +
    keyPriceUsd +
    packNumber(event.priceUsd) +
    keyMarketCapSol +
    packNumber(event.marketCapSol) +
    keyMarketCapUsd +
    packNumber(event.marketCapUsd)
  );
}

function feePart(part: Fees['protocol']): string {
  return feePartHead + packText(part.amount) + keyBps + packNumber(part.bps);
}

function feesMsgpack(fees: Fees): string {
  return (
    feesHead +
    feePart(fees.protocol) +
    keyCreator +
    feePart(fees.creator) +
    keyLp +
    feePart(fees.lp) +
    keyCashback +
    feePart(fees.cashback) +
    keyHolderRewards +
    feePart(fees.holderRewards) +
    keyTotal +
    packText(fees.total)
  );
}

function reservesMsgpack(reserves: Reserves): string {
  return (
    reservesHead +
    packText(reserves.virtualBase) +
    keyVirtualQuote +
    packText(reserves.virtualQuote) +
    keyRealBase +
    packText(reserves.realBase) +
    keyRealQuote +
    packText(reserves.realQuote)
  );
}
