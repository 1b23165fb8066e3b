import { discriminatorHex, hasPrefix } from '../solana/bytes.ts';
import type { DecodedAccount, DecodeOutcome } from './venue.ts';

export type UndecodedAccount = Exclude<DecodedAccount, { kind: 'decoded' }>;

/** One object for all events: it says nothing about the event itself. */
export const decoded: DecodeOutcome = { kind: 'decoded' };

/** What decoders return if nothing was decoded. */
export function malformed(reason: string): Extract<DecodeOutcome & DecodedAccount, { kind: 'malformed' }> {
  return { kind: 'malformed', reason };
}

/** An event of no interest by its name, or one that nobody knows. */
export function undecodedEvent(data: Uint8Array, ignored: ReadonlyMap<string, string>): DecodeOutcome {
  const discriminator = discriminatorHex(data);
  const name = ignored.get(discriminator);
  return name === undefined ? { kind: 'unknown', discriminator } : { kind: 'ignored', name };
}

/** An account of no interest by its name, or one that nobody knows. */
export function undecodedAccount(data: Uint8Array, ignored: readonly (readonly [Uint8Array, string])[]): UndecodedAccount {
  const known = ignored.find(([discriminator]) => hasPrefix(data, discriminator));
  return known === undefined ? { kind: 'unknown', discriminator: discriminatorHex(data) } : { kind: 'ignored', name: known[1] };
}
