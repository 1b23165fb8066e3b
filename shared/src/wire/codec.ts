import type { Fees, PriceEvent, Reserves, StreamEvent, TradeEvent } from './events.ts';
import { map, map16, nil, packNumber, packText, packValue, yes } from './msgpack.ts';

/** An event in the two forms that clients read: UTF-8 JSON and MessagePack (maps; integers as integers, up to 2^53; other numbers as float64). */
export interface EncodedEvent {
  readonly json: Uint8Array;
  readonly msgpack: Uint8Array;
}

/**
 * Encodes an event once for all its readers. Trades and prices, nearly all of the stream, have writers of their own:
 * everything in them is ASCII without a character that JSON escapes (the schema's patterns), so that one pass of string
 * building gives both forms. The event must be of its schema; numbers must be finite.
 */
export function encodeEvent(event: StreamEvent): EncodedEvent {
  if (event.type === 'trade') return encodeTrade(event);
  if (event.type === 'price') return encodePrice(event);
  return { json: Buffer.from(JSON.stringify(event)), msgpack: bytesOf(packValue(event)) };
}

/** The MessagePack of an event whose JSON is at hand: the very bytes that `encodeEvent` made of it. */
export function msgpackOf(json: Uint8Array): Uint8Array {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');
  return encodeEvent(JSON.parse(text) as StreamEvent).msgpack;
}

function encodeTrade(event: TradeEvent): EncodedEvent {
  const sighting = sightingOf(event);
  const values = valuationOf(event);
  const reserves = reservesOf(event.reserves);
  const json = `{"type":"trade","id":"${event.id}",${sighting.json},"side":"${event.side}","trader":"${event.trader}","feePayer":${quoted(event.feePayer)},"baseAmount":"${event.baseAmount}","baseDecimals":${event.baseDecimals},"quoteAmount":"${event.quoteAmount}","quoteDecimals":${event.quoteDecimals},"tokenAmount":${event.tokenAmount},"solAmount":${event.solAmount},"quoteUiAmount":${event.quoteUiAmount},${values.json},"fees":${feesJson(event.fees)},"reserves":${reserves.json}${event.curveCompleted === true ? ',"curveCompleted":true' : ''}}`;
  const fields = 28 + (event.late === true ? 1 : 0) + (event.simulated === true ? 1 : 0) + (event.curveCompleted === true ? 1 : 0);
  const msgpack =
    map16(fields) +
    tradeTypeField +
    keyId +
    packText(event.id) +
    sighting.msgpack +
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
    values.msgpack +
    keyFees +
    feesMsgpack(event.fees) +
    keyReserves +
    reserves.msgpack +
    (event.curveCompleted === true ? curveCompletedField : '');
  return { json: bytesOf(json), msgpack: bytesOf(msgpack) };
}

function encodePrice(event: PriceEvent): EncodedEvent {
  const sighting = sightingOf(event);
  const values = valuationOf(event);
  const reserves = reservesOf(event.reserves);
  const { solUsd } = event;
  const solUsdJson = solUsd === null ? 'null' : `{"price":${solUsd.price},"slot":${solUsd.slot},"ageMs":${solUsd.ageMs}}`;
  const json = `{"type":"price","id":"${event.id}",${sighting.json},"source":"${event.source}",${values.json},"solUsd":${solUsdJson},"reserves":${reserves.json}}`;
  const msgpack =
    map16(19 + (event.late === true ? 1 : 0) + (event.simulated === true ? 1 : 0)) +
    priceTypeField +
    keyId +
    packText(event.id) +
    sighting.msgpack +
    keySource +
    packText(event.source) +
    values.msgpack +
    keySolUsd +
    (solUsd === null
      ? nil
      : solUsdHead + keyPrice + packNumber(solUsd.price) + keySlot + packNumber(solUsd.slot) + keyAgeMs + packNumber(solUsd.ageMs)) +
    keyReserves +
    reserves.msgpack;
  return { json: bytesOf(json), msgpack: bytesOf(msgpack) };
}

/** Bytes that encoded events are cut from, so that not each of them is an allocation of its own. */
const slabBytes = 64 * 1024;
let slab = Buffer.allocUnsafeSlow(slabBytes);
let slabUsed = 0;

/** The text's characters as bytes; each is below 256. */
function bytesOf(text: string): Uint8Array {
  const { length } = text;
  if (length > slabBytes) return Buffer.from(text, 'latin1');
  if (slabUsed + length > slabBytes) {
    slab = Buffer.allocUnsafeSlow(slabBytes);
    slabUsed = 0;
  }
  slab.write(text, slabUsed, 'latin1');
  const bytesOfText = slab.subarray(slabUsed, slabUsed + length);
  slabUsed += length;
  return bytesOfText;
}

/** A part of an event in both forms. A trade and the price that follows it share most of theirs: the last one made is kept. */
interface Part {
  readonly json: string;
  readonly msgpack: string;
}

type HotEvent = TradeEvent | PriceEvent;

// The fields behind `seenPart`, copied: an event may change after it was encoded.
let seenSignature: string | null = null;
let seenMint = '';
let seenQuoteMint = '';
let seenPool = '';
let seenPoolAddress = '';
let seenSlot = -1;
let seenBlockTime: number | null = null;
let seenCommitment = '';
let seenReceived = -1;
let seenPublished = -1;
let seenLate = false;
let seenSimulated = false;
let seenPart: Part = { json: '', msgpack: '' };

/** All that a trade and its price have in common but the id. */
function sightingOf(event: HotEvent): Part {
  const { received, published } = event.ts;
  const late = event.late === true;
  const simulated = event.simulated === true;
  if (
    seenSignature === event.signature &&
    seenMint === event.mint &&
    seenPoolAddress === event.poolAddress &&
    seenSlot === event.slot &&
    seenPublished === published &&
    seenReceived === received &&
    seenBlockTime === event.blockTime &&
    seenQuoteMint === event.quoteMint &&
    seenPool === event.pool &&
    seenCommitment === event.commitment &&
    seenLate === late &&
    seenSimulated === simulated
  ) {
    return seenPart;
  }
  seenSignature = event.signature;
  seenMint = event.mint;
  seenQuoteMint = event.quoteMint;
  seenPool = event.pool;
  seenPoolAddress = event.poolAddress;
  seenSlot = event.slot;
  seenBlockTime = event.blockTime;
  seenCommitment = event.commitment;
  seenReceived = received;
  seenPublished = published;
  seenLate = late;
  seenSimulated = simulated;
  seenPart = { json: sightingJson(event), msgpack: sightingMsgpack(event) };
  return seenPart;
}

function sightingJson(event: HotEvent): string {
  return `"mint":"${event.mint}","quoteMint":"${event.quoteMint}","pool":"${event.pool}","poolAddress":"${event.poolAddress}","signature":${quoted(event.signature)},"slot":${event.slot},"blockTime":${event.blockTime},"commitment":"${event.commitment}","ts":{"received":${event.ts.received},"published":${event.ts.published}}${event.late === true ? ',"late":true' : ''}${event.simulated === true ? ',"simulated":true' : ''}`;
}

let valuedQuote: number | null = Number.NaN;
let valuedSol: number | null = null;
let valuedUsd: number | null = null;
let valuedCapSol: number | null = null;
let valuedCapUsd: number | null = null;
let valuedPart: Part = { json: '', msgpack: '' };

function valuationOf(event: HotEvent): Part {
  const { priceQuote, priceSol, priceUsd, marketCapSol, marketCapUsd } = event;
  if (
    valuedQuote === priceQuote &&
    valuedSol === priceSol &&
    valuedUsd === priceUsd &&
    valuedCapSol === marketCapSol &&
    valuedCapUsd === marketCapUsd
  ) {
    return valuedPart;
  }
  valuedQuote = priceQuote;
  valuedSol = priceSol;
  valuedUsd = priceUsd;
  valuedCapSol = marketCapSol;
  valuedCapUsd = marketCapUsd;
  valuedPart = { json: valuationJson(event), msgpack: valuationMsgpack(event) };
  return valuedPart;
}

function valuationJson(event: HotEvent): string {
  const { priceQuote, priceSol, marketCapSol } = event;
  const quoteText = `${priceQuote}`;
  const solText = priceSol === priceQuote ? quoteText : `${priceSol}`;
  return `"priceQuote":${quoteText},"priceSol":${solText},"priceUsd":${event.priceUsd},"marketCapSol":${marketCapSol},"marketCapUsd":${event.marketCapUsd}`;
}

let keptVirtualBase = '';
let keptVirtualQuote = '';
let keptRealBase = '';
let keptRealQuote = '';
let reservesPart: Part = { json: '', msgpack: '' };

function reservesOf(reserves: Reserves): Part {
  const { virtualBase, virtualQuote, realBase, realQuote } = reserves;
  if (
    keptVirtualBase === virtualBase &&
    keptVirtualQuote === virtualQuote &&
    keptRealBase === realBase &&
    keptRealQuote === realQuote &&
    reservesPart.json !== ''
  ) {
    return reservesPart;
  }
  keptVirtualBase = virtualBase;
  keptVirtualQuote = virtualQuote;
  keptRealBase = realBase;
  keptRealQuote = realQuote;
  reservesPart = { json: reservesJson(reserves), msgpack: reservesMsgpack(reserves) };
  return reservesPart;
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

// --- MessagePack.

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
const lateField = packText('late') + yes;
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

function sightingMsgpack(event: HotEvent): string {
  return (
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
    (event.late === true ? lateField : '') +
    (event.simulated === true ? simulatedField : '')
  );
}

function valuationMsgpack(event: HotEvent): string {
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
