/** A price of one token in quote coins and in USD; `usd` is null if it is unknown. */
export interface Price {
  readonly quote: number;
  readonly usd: number | null;
}

/** The spot price of the main pool at the end of a slot in which the mint traded, in any pool. */
export interface SlotPrice extends Price {
  readonly slot: number;
  /** Unix seconds of the slot. */
  readonly atS: number;
  /** When its last trade was received. */
  readonly receivedUs: number;
  /** The main pool traded in the slot. If not, the price is that of the slot before. */
  readonly isOwn: boolean;
  /** The spot price before the slot; null if it is not known. */
  readonly before: Price | null;
  /** The price that counts for the slot; null until it is decided. */
  readonly counted: Price | null;
}

/** Called with each price of a slot that counts, and with the price at which the slot opens. */
export type Count = (price: Price, at: SlotPrice) => void;

/** A slot of which no later one is known counts this long after its last trade was received: longer than two slots take. */
export const lastsMs = 1_000;

/**
 * Notes the price after a trade of a slot. The rule: **the price of a slot is the median of the spot prices of the main pool at the end of the slot
 * before it, of the slot itself and of the slot after it.** So what happens within a slot does not count, and neither does a price that lasts for
 * one slot only. A slot without a trade has the price of the slot before it.
 */
export function noteSlot(prices: readonly SlotPrice[], seen: SlotPrice): SlotPrice[] {
  const at = prices.findLastIndex(({ slot }) => slot <= seen.slot);
  const known = prices[at]?.slot === seen.slot ? prices[at] : null;
  const noted = known === null ? seen : joined(known, seen);
  const rest = prices.slice(at + 1);
  // Slots without a trade in the main pool have the price of the slot before.
  const until = rest.findIndex(({ isOwn }) => isOwn);
  const carried = rest.map((one, index) => (until === -1 || index < until ? { ...one, quote: noted.quote, usd: noted.usd } : one));
  return [...prices.slice(0, known === null ? at + 1 : at), noted, ...carried];
}

function joined(known: SlotPrice, seen: SlotPrice): SlotPrice {
  if (!seen.isOwn) return { ...known, receivedUs: seen.receivedUs };
  return { ...seen, before: known.isOwn ? known.before : seen.before };
}

/** Whether the price of a slot can no longer be one of the list: it or a later one was counted. */
export function isCounted(prices: readonly SlotPrice[], slot: number): boolean {
  return prices.some((one) => one.counted !== null && one.slot >= slot);
}

/**
 * Counts the slots that are decided, oldest first, and returns those that are needed further. `endedUs`: slots whose last trade was received before
 * this have ended, and the slot after them too.
 */
export function countSlots(prices: readonly SlotPrice[], endedUs: number, count: Count): SlotPrice[] {
  let last = prices[0]?.counted == null ? -1 : 0;
  const known = [...prices];
  for (let at = last + 1; at < known.length; at++) {
    const counted = countedOf(known, at, endedUs);
    if (counted === null) break;
    const one = (known[at] = { ...known[at]!, counted });
    count(counted, one);
    const next = known[at + 1];
    if (next !== undefined) count(next.slot === one.slot + 1 ? counted : (next.before ?? counted), next);
    last = at;
  }
  return known.slice(Math.max(0, last));
}

/** Counts also what is not decided yet, as it is shown until then: with the last price that counted, or with its own if none did. */
export function countAll(prices: readonly SlotPrice[], endedUs: number, count: Count): void {
  const [first, ...others] = countSlots(prices, endedUs, count);
  if (first === undefined) return;
  for (const one of first.counted === null ? [first, ...others] : others) count(first.counted ?? one, one);
}

/** The price that counts for a slot; null if a later trade can still change it. */
function countedOf(prices: readonly SlotPrice[], at: number, endedUs: number): Price | null {
  const one = prices[at]!;
  const next = prices[at + 1];
  const hasEnded = ({ receivedUs }: SlotPrice): boolean => receivedUs <= endedUs;
  if (next === undefined) return hasEnded(one) ? priceOnly(one) : null;
  // It was also the price at the end of the slot after it.
  if (next.slot > one.slot + 1) return priceOnly(one);
  if (prices[at + 2] === undefined && !hasEnded(next)) return null;
  return priceOnly([one.before ?? prices[at - 1] ?? one, one, next].toSorted((a, b) => a.quote - b.quote)[1]!);
}

function priceOnly({ quote, usd }: Price): Price {
  return { quote, usd };
}
