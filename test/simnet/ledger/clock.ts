import type { ChainAccount } from '../chain.ts';
import { lamportsPerByte, minimumBalance } from './rent.ts';

const sysvarOwner = 'Sysvar1111111111111111111111111111111111111';
const slotsPerEpoch = 432_000;
const clockBytes = 40;
const rentBytes = 17;

function sysvar(data: Uint8Array): ChainAccount {
  return { lamports: minimumBalance(data.length), owner: sysvarOwner, data, executable: false };
}

/** The Clock sysvar: slot, epoch start, epoch, leader schedule epoch, Unix time. */
export function clockData(slot: number, unixTimestamp: number): ChainAccount {
  const data = Buffer.alloc(clockBytes);
  const epoch = Math.floor(slot / slotsPerEpoch);
  data.writeBigUInt64LE(BigInt(slot), 0);
  data.writeBigInt64LE(BigInt(unixTimestamp), 8);
  data.writeBigUInt64LE(BigInt(epoch), 16);
  data.writeBigUInt64LE(BigInt(epoch + 1), 24);
  data.writeBigInt64LE(BigInt(unixTimestamp), 32);
  return sysvar(data);
}

/** The Rent sysvar: lamports for each byte, exemption threshold (1, since the rate includes it), burn share. */
export function rentData(): ChainAccount {
  const data = Buffer.alloc(rentBytes);
  data.writeBigUInt64LE(lamportsPerByte, 0);
  data.writeDoubleLE(1, 8);
  data[16] = 50;
  return sysvar(data);
}
