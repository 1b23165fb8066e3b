import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, i128At, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { keepDerived } from '@sluice/shared/solana/addresses/derived.ts';
import { arraysAhead, type LiquidityTick } from '../../kit/ticks.ts';
import { tickArray, tickArrayLength, ticksPerArray } from './layout.ts';
import { accountDiscriminators, tickArrayAddress } from './program.ts';

/** The first ticks of the arrays with ticks that a swap passes, in its order, as the pool's bitmap shows them. */
export function arrayStarts(bitmap: Uint8Array, currentTick: number, tickSpacing: number, falls: boolean): readonly number[] {
  const span = ticksPerArray * tickSpacing;
  return arraysAhead(bitmap, Math.floor(currentTick / span), falls).map((array) => array * span);
}

/** Address of a tick array, derived once. */
export const arrayAt = keepDerived((pool: string, start: string) => tickArrayAddress(pool, Number(start)));

/** The ticks of an array of this pool that hold liquidity or orders, the lowest first; null if the bytes are not such an array. Never throws. */
export function decodeTickArray(data: Uint8Array, pool: string): readonly LiquidityTick[] | null {
  if (data.length < tickArrayLength || !hasPrefix(data, accountDiscriminators.tickArray)) return null;
  if (encodeBase58(data, tickArray.pool, 32) !== pool) return null;
  const view = viewOf(data);
  const ticks: LiquidityTick[] = [];
  for (let index = 0; index < ticksPerArray; index++) {
    const at = tickArray.ticks + index * tickArray.tickLength;
    const isEmpty = (from: number, bytes: number): boolean => data.subarray(at + from, at + from + bytes).every((byte) => byte === 0);
    const hasOrders = !isEmpty(tickArray.orders, 16);
    if (isEmpty(tickArray.gross, 16) && !hasOrders) continue;
    ticks.push({ tick: view.getInt32(at, true), net: i128At(view, at + tickArray.net), isEnd: hasOrders });
  }
  return ticks;
}
