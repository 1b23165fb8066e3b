import { noPosition, type Position } from './position.ts';
import { newWallet, type StoredWalletState } from './wallet-state.ts';

/** The stored form: JSON, with a bigint as its digits and an `n`. Fields that an older version did not store have the values of a new state. */
export function encodePosition(position: Position): string {
  return encode(position);
}

export function decodePosition(text: string): Position {
  return { ...noPosition, ...(decode(text) as Partial<Position>) };
}

export function encodeWalletState(state: StoredWalletState): string {
  return encode(state);
}

export function decodeWalletState(text: string): StoredWalletState {
  return { ...newWallet, ...(decode(text) as Partial<StoredWalletState>) };
}

const integerForm = /^-?\d+n$/;

function encode(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) => (typeof one === 'bigint' ? `${one}n` : one));
}

function decode(text: string): unknown {
  return JSON.parse(text, (_name, one: unknown) => (typeof one === 'string' && integerForm.test(one) ? BigInt(one.slice(0, -1)) : one));
}
