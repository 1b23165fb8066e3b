import { whirlpool, whirlpoolDiscriminator, whirlpoolLength } from '../../../venues/src/orca/whirlpool/layout.ts';

/** A Whirlpool as its quote depends on it. */
export interface WhirlpoolParts {
  readonly tickSpacing: number;
  /** The tick spacing, if the fee is fixed. */
  readonly feeTierIndex?: number;
  readonly feeRate: number;
  readonly protocolFeeRate: number;
  readonly liquidity: bigint;
  readonly sqrtPrice: bigint;
  readonly tick: number;
  readonly mintA: Uint8Array;
  readonly mintB: Uint8Array;
}

export function whirlpoolAccountData(parts: WhirlpoolParts): Buffer {
  const data = Buffer.alloc(whirlpoolLength);
  data.set(whirlpoolDiscriminator, 0);
  data.writeUInt16LE(parts.tickSpacing, whirlpool.tickSpacing);
  data.writeUInt16LE(parts.feeTierIndex ?? parts.tickSpacing, whirlpool.feeTierIndex);
  data.writeUInt16LE(parts.feeRate, whirlpool.feeRate);
  data.writeUInt16LE(parts.protocolFeeRate, whirlpool.protocolFeeRate);
  writeU128(data, parts.liquidity, whirlpool.liquidity);
  writeU128(data, parts.sqrtPrice, whirlpool.sqrtPrice);
  data.writeInt32LE(parts.tick, whirlpool.tick);
  data.set(parts.mintA, whirlpool.mintA);
  data.set(parts.mintB, whirlpool.mintB);
  return data;
}

function writeU128(data: Buffer, value: bigint, at: number): void {
  data.writeBigUInt64LE(BigInt.asUintN(64, value), at);
  data.writeBigUInt64LE(BigInt.asUintN(64, value >> 64n), at + 8);
}

export type ArrayForm = 'fixed' | 'dynamic';

export interface ArrayTick {
  readonly tick: number;
  readonly net: bigint;
}

export interface TickArrayParts {
  readonly form: ArrayForm;
  readonly whirlpool: Uint8Array;
  readonly start: number;
  readonly tickSpacing: number;
  readonly ticks: readonly ArrayTick[];
}

const ticksPerArray = 88;
const tickFieldsLength = 112;
const forms: Readonly<Record<ArrayForm, string>> = { fixed: '4561bdbe6e0742bb', dynamic: '11d8f68ee1c7da38' };

/** The account of an array as the program writes it: all ticks at full length, or only those that are initialized. */
export function tickArrayData({ form, whirlpool: pool, start, tickSpacing, ticks }: TickArrayParts): Buffer {
  const startBytes = Buffer.alloc(4);
  startBytes.writeInt32LE(start);
  const listed = Array.from({ length: ticksPerArray }, (_, index) => ticks.find(({ tick }) => tick === start + index * tickSpacing));
  const written = listed.map((tick) => {
    if (tick === undefined) return Buffer.alloc(form === 'fixed' ? 1 + tickFieldsLength : 1);
    const bytes = Buffer.alloc(1 + tickFieldsLength);
    bytes[0] = 1;
    writeU128(bytes, tick.net, 1);
    return bytes;
  });
  const discriminator = Buffer.from(forms[form], 'hex');
  if (form === 'fixed') return Buffer.concat([discriminator, startBytes, ...written, pool]);
  const bitmap = Buffer.alloc(16);
  writeU128(
    bitmap,
    listed.reduce((bits, tick, index) => (tick === undefined ? bits : bits | (1n << BigInt(index))), 0n),
    0,
  );
  return Buffer.concat([discriminator, startBytes, pool, bitmap, ...written]);
}
