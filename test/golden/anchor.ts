import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { BorshAccountsCoder, BorshEventCoder, type Idl } from '@coral-xyz/anchor';

/** The IDLs that the pump SDK carries: the reference that our decoders are tested against. */
function idl(name: string): Idl {
  const sdk = createRequire(import.meta.url).resolve('@pump-fun/pump-sdk');
  return JSON.parse(readFileSync(new URL(`../src/idl/${name}.json`, `file://${sdk}`), 'utf8')) as Idl;
}

export const pumpIdl = idl('pump');
export const pumpAmmIdl = idl('pump_amm');
export const pumpEvents = new BorshEventCoder(pumpIdl);
export const pumpAmmEvents = new BorshEventCoder(pumpAmmIdl);
export const pumpAccounts = new BorshAccountsCoder(pumpIdl);
export const pumpAmmAccounts = new BorshAccountsCoder(pumpAmmIdl);

/** A field as anchor decodes it: BN, PublicKey, or a plain value. */
export type AnchorRecord = Readonly<Record<string, { toString(radix?: number): string }>>;

/** Anchor needs every field of its IDL, so older layouts are extended with zeros for the fields that they lack. */
export function anchorEvent(coder: BorshEventCoder, data: Uint8Array, missing = 0): AnchorRecord {
  const event = coder.decode(Buffer.concat([data, Buffer.alloc(missing)]).toString('base64'));
  if (event === null) throw new Error('anchor does not know this event');
  return event.data as AnchorRecord;
}
