import { isReversedPair } from '@sluice/shared/wire/values/money.ts';
import type { AccountConstants, ReadAccount } from '../../seam/venue.ts';
import { arrayAt, arrayOf, decodeBinArray } from './bin-arrays.ts';
import { priceOfBin } from './bin-price.ts';
import type { DlmmPair } from './pair.ts';

/** The price after its fall, in percent. */
const [left, whole] = [99n, 100n];
const widest = Math.log(Number(whole) / Number(left));

/** The arrays that hold the bins within the depth. Null if the pair's bitmap does not show all of them. */
function arraysWithin({ binStep, activeId, bitmap }: DlmmPair, rises: boolean): readonly number[] | null {
  const bins = Math.ceil(widest / Math.log1p(binStep / 10_000));
  const [low, high] = [arrayOf(rises ? activeId : activeId - bins), arrayOf(rises ? activeId + bins : activeId)];
  const middle = bitmap.length * 4;
  if (binStep === 0 || low < -middle || high >= middle) return null;
  const arrays: number[] = [];
  for (let bit = low + middle; bit <= high + middle; bit++) if ((bitmap[bit >> 3]! & (1 << (bit & 7))) !== 0) arrays.push(bit - middle);
  return arrays;
}

/**
 * What the bins within 1 % of the price pay, in Y, to sellers of the coin that is not money (`isReversed`: Y is the coin, and X the money), and the
 * accounts that show it. Without one of these, the depth is missing.
 */
export function depthOfBins(
  pair: DlmmPair,
  address: string,
  read: ReadAccount,
): { readonly constants: AccountConstants; readonly further: readonly string[] } {
  const isReversed = isReversedPair(pair.mintX, pair.mintY);
  const indexes = arraysWithin(pair, isReversed);
  const price = priceOfBin(pair.binStep, pair.activeId);
  if (indexes === null || price === null) return { constants: {}, further: [] };
  const further = indexes.map((index) => arrayAt(address, String(index)));
  let depth = 0n;
  for (const [at, index] of indexes.entries()) {
    const data = read(further[at]!);
    const bins = data === null ? null : decodeBinArray(data, address, index);
    if (bins === null) return { constants: {}, further };
    for (const { id, price: here, amountX, amountY } of bins) {
      if (isReversed && id >= pair.activeId && here * left < price * whole) depth += (amountX * price) >> 64n;
      else if (!isReversed && id <= pair.activeId && here * whole > price * left) depth += amountY;
    }
  }
  return { constants: { depth, depthBin: BigInt(pair.activeId), isReversed: isReversed ? 1n : 0n }, further };
}
