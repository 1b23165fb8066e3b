import { keepDerived } from '@sluice/shared/solana/addresses/derived.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, i128At, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { maxTick, minTick, type LiquidityTick } from '../../kit/ticks.ts';
import * as layout from './layout.ts';
import { tickArrayAddress } from './program.ts';

/** Ticks of one account. */
const ticksPerArray = 88;
/** Maximum number of arrays that one swap may use. */
const arraysPerSwap = 3;

/** The first ticks of the arrays that a swap uses, in its order, and the tick at which they end. */
interface SwapWay {
  readonly starts: readonly number[];
  readonly end: number;
}

/** `aToB`: the price falls. Near the lowest and the highest tick, there are fewer arrays. */
export function swapWay(currentTick: number, tickSpacing: number, aToB: boolean): SwapWay {
  const span = ticksPerArray * tickSpacing;
  const base = Math.floor(currentTick / span) * span;
  // A rising price needs the ticks above the current one. At the end of an array, they are in the next one.
  const first = !aToB && currentTick + tickSpacing >= base + span ? base + span : base;
  const starts: number[] = [];
  for (let at = 0; at < arraysPerSwap; at++) {
    const start = aToB ? first - at * span : first + at * span;
    if (start > minTick - span && start <= maxTick) starts.push(start);
  }
  const last = starts.at(-1) ?? base;
  const end = aToB ? Math.max(last, minTick) : last + span > maxTick ? maxTick : last + span - 1;
  return { starts, end };
}

const arrayAt = keepDerived((pool: string, start: string) => tickArrayAddress(pool, Number(start)));

/** Addresses of all arrays that a swap in either direction may use, the lowest first. */
export function tickArraysAround(pool: string, currentTick: number, tickSpacing: number): readonly string[] {
  const starts = [true, false].flatMap((aToB) => swapWay(currentTick, tickSpacing, aToB).starts);
  return [...new Set(starts)].toSorted((one, other) => one - other).map((start) => arrayAt(pool, String(start)));
}

interface TickArray {
  readonly start: number;
  readonly whirlpool: string;
  /** Initialized ticks, the lowest first. */
  readonly ticks: readonly LiquidityTick[];
}

/** Reads a tick array of either form; null if the bytes are not one. Never throws. */
export function decodeTickArray(data: Uint8Array, tickSpacing: number): TickArray | null {
  if (hasPrefix(data, layout.fixedTickArrayDiscriminator)) return decodeFixed(data, tickSpacing);
  return hasPrefix(data, layout.dynamicTickArrayDiscriminator) ? decodeDynamic(data, tickSpacing) : null;
}

function decodeFixed(data: Uint8Array, tickSpacing: number): TickArray | null {
  if (data.length < layout.fixedTickArrayLength) return null;
  const view = viewOf(data);
  const start = view.getInt32(layout.fixedTickArray.start, true);
  const ticks: LiquidityTick[] = [];
  for (let index = 0; index < ticksPerArray; index++) {
    const at = layout.fixedTickArray.ticks + index * layout.fixedTickArray.tickLength;
    const initialized = data[at]!;
    if (initialized > 1) return null;
    if (initialized === 1) ticks.push({ tick: start + index * tickSpacing, net: i128At(view, at + layout.fixedTickArray.net) });
  }
  return { start, whirlpool: encodeBase58(data, layout.fixedTickArray.whirlpool, 32), ticks };
}

function decodeDynamic(data: Uint8Array, tickSpacing: number): TickArray | null {
  const { start: startAt, whirlpool, tickLength, net } = layout.dynamicTickArray;
  if (data.length < layout.dynamicTickArray.ticks + ticksPerArray) return null;
  const view = viewOf(data);
  const start = view.getInt32(startAt, true);
  const ticks: LiquidityTick[] = [];
  let at: number = layout.dynamicTickArray.ticks;
  for (let index = 0; index < ticksPerArray; index++) {
    const form = data[at];
    if (form === 0) {
      at++;
      continue;
    }
    if (form !== 1 || at + tickLength > data.length) return null;
    ticks.push({ tick: start + index * tickSpacing, net: i128At(view, at + net) });
    at += tickLength;
  }
  return { start, whirlpool: encodeBase58(data, whirlpool, 32), ticks };
}
