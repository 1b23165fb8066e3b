import { keepDerived } from '@sluice/shared/solana/addresses/derived.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, u128At, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { binArray, binArrayLength, binsPerArray, bin as at } from './layout.ts';
import { accountDiscriminators, binArrayAddress } from './program.ts';

/** A bin with liquidity. */
export interface Bin {
  readonly id: number;
  readonly amountX: bigint;
  readonly amountY: bigint;
  /** Q64.64; 0 in a bin that never had liquidity. */
  readonly price: bigint;
  /** Limit orders wait here. They sell X if `asks`, and Y otherwise. */
  readonly orders: bigint;
  readonly asks: boolean;
}

/** Address of a bin array, derived once. */
export const arrayAt = keepDerived((pair: string, index: string) => binArrayAddress(pair, Number(index)));

/** The number of the array that has a bin. */
export const arrayOf = (id: number): number => Math.floor(id / binsPerArray);

/** The bins of an array of this pair that hold coins, the lowest first; null if the bytes are not such an array. Never throws. */
export function decodeBinArray(data: Uint8Array, pair: string, index: number): readonly Bin[] | null {
  if (data.length < binArrayLength || !hasPrefix(data, accountDiscriminators.binArray)) return null;
  const view = viewOf(data);
  if (encodeBase58(data, binArray.pair, 32) !== pair || view.getBigInt64(binArray.index, true) !== BigInt(index)) return null;
  const bins: Bin[] = [];
  for (let place = 0; place < binsPerArray; place++) {
    const from = binArray.bins + place * binArray.binLength;
    const u64 = (field: number): bigint => view.getBigUint64(from + field, true);
    const bin = {
      id: index * binsPerArray + place,
      amountX: u64(at.amountX),
      amountY: u64(at.amountY),
      price: u128At(view, from + at.price),
      orders: u64(at.openOrders) + u64(at.processedOrders),
      asks: data[from + at.asks] !== 0,
    };
    if (bin.amountX + bin.amountY + bin.orders > 0n) bins.push(bin);
  }
  return bins;
}
