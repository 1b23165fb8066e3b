import { discriminatorHex, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import type { DecodedAccount, DecodeOutcome, TokenTerms } from './venue.ts';

export type UndecodedAccount = Exclude<DecodedAccount, { kind: 'decoded' }>;

/** The result for every decoded event. One object, because it says nothing about the event itself. */
export const decoded: DecodeOutcome = { kind: 'decoded' };

/** The terms of a token of which the venue records nothing. */
export const noTerms: TokenTerms = Object.freeze({ traits: [], supplyByMint: true, creatorFeeBps: 0 });

/** The result if nothing was decoded. */
export function malformed(reason: string): Extract<DecodeOutcome & DecodedAccount, { kind: 'malformed' }> {
  return { kind: 'malformed', reason };
}

/** The name of an event that is not used, or `unknown` for an unknown discriminator. */
export function undecodedEvent(data: Uint8Array, ignored: ReadonlyMap<string, string>): DecodeOutcome {
  const discriminator = discriminatorHex(data);
  const name = ignored.get(discriminator);
  return name === undefined ? { kind: 'unknown', discriminator } : { kind: 'ignored', name };
}

/** The name of an account that is not used, or `unknown` for an unknown discriminator. */
export function undecodedAccount(data: Uint8Array, ignored: readonly (readonly [Uint8Array, string])[]): UndecodedAccount {
  const known = ignored.find(([discriminator]) => hasPrefix(data, discriminator));
  return known === undefined ? { kind: 'unknown', discriminator: discriminatorHex(data) } : { kind: 'ignored', name: known[1] };
}
