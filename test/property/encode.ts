import { BorshCoder } from '@coral-xyz/anchor';
import { PublicKey } from '@solana/web3.js';
import { pumpAmmIdl, pumpIdl } from '../golden/anchor.ts';
import { BN } from '../support/chain/bn.ts';

/** Turns a record of plain values into what anchor encodes: bigint and number → BN, bytes → PublicKey. */
function toAnchor(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return new BN(value.toString());
  if (value instanceof Uint8Array) return new PublicKey(value);
  if (Array.isArray(value)) return value.map(toAnchor);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, smallFields.has(name) ? item : toAnchor(item)]));
  return value;
}

const coders = { pump: new BorshCoder(pumpIdl), 'pump-amm': new BorshCoder(pumpAmmIdl) };
const idls = { pump: pumpIdl, 'pump-amm': pumpAmmIdl };
/** Fields of u8 and u16, which anchor accepts as plain numbers. */
const smallFields: ReadonlySet<string> = new Set(['index', 'base_mint_decimals', 'quote_mint_decimals', 'pool_bump', 'share_bps']);

/** A record as the program would write it: discriminator and Borsh body, by anchor's coder. */
export function encodeWith(
  program: keyof typeof coders,
  kind: 'events' | 'accounts',
  name: string,
  record: Record<string, unknown>,
): Buffer {
  const discriminator = idls[program][kind]!.find((item) => item.name === name)!.discriminator;
  return Buffer.concat([Buffer.from(discriminator), coders[program].types.encode(name, toAnchor(record))]);
}
