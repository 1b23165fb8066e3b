import { createHash } from 'node:crypto';
import { BorshReader, discriminatorHex, discriminatorLength, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import type { DecodeContext, DecodedAccount, DecodeOutcome, TokenTerms, Venue, VenueAccount, VenueEvent } from '../seam/venue.ts';
import { sendsEvent } from './sibling-events.ts';

/** The terms of a token of which the venue records nothing. */
export const noTerms: TokenTerms = Object.freeze({ traits: [], supplyByMint: true, creatorFeeBps: 0 });

/** One object, because it says nothing about the event itself. */
const decoded: DecodeOutcome = { kind: 'decoded' };
const incomplete: DecodeOutcome = { kind: 'incomplete' };

/** The result if nothing was decoded. */
export function malformed(reason: string): Extract<DecodeOutcome & DecodedAccount, { kind: 'malformed' }> {
  return { kind: 'malformed', reason };
}

/** A discriminator. */
export const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

/** Names by discriminator, in hex. */
export type Names = ReadonlyMap<string, string>;

/** Names of Anchor, separated by white space. Their discriminators are the first eight bytes of sha256 of `event:Name` or `account:Name`. */
export function anchorNames(kind: 'event' | 'account', names: string): Names {
  const discriminatorOf = (name: string): Buffer =>
    createHash('sha256').update(`${kind}:${name}`).digest().subarray(0, discriminatorLength);
  return new Map(names.split(/\s+/).map((name) => [discriminatorOf(name).toString('hex'), name]));
}

/** Bytes with a discriminator that is not decoded: known by name, or unknown. */
export function undecoded(
  data: Uint8Array,
  ignored: Names,
  tagBytes = discriminatorLength,
): Extract<DecodeOutcome & DecodedAccount, { kind: 'ignored' | 'unknown' }> {
  const discriminator = discriminatorHex(data.subarray(0, tagBytes));
  const name = ignored.get(discriminator);
  return name === undefined ? { kind: 'unknown', discriminator } : { kind: 'ignored', name };
}

/** How records with this discriminator are read. */
export interface RecordForm {
  readonly discriminator: Uint8Array;
  readonly name: string;
  /** If it is an instruction, and no event. */
  readonly isInstruction?: true;
  /** Bytes of its shortest layout. */
  readonly minLength?: number;
  /** If the same instruction also sends the event with this discriminator by self-CPI, that one shows the same, and this one is ignored. */
  readonly unlessSent?: Uint8Array;
  /**
   * Reads the fields from front to back, and returns the event, or several; a text if it is malformed; null if it needs its instruction, and only logs
   * are known. Of a record that ends inside a field, the result is not used.
   */
  readonly read: (reader: BorshReader, context: DecodeContext) => VenueEvent | VenueEvent[] | string | null;
}

/** Decodes records of these forms, the most frequent first. Of others, only the names are known. `tagBytes`: the length of all discriminators. */
export function recordDecoder(forms: readonly RecordForm[], ignored: Names, tagBytes = discriminatorLength): Venue['decode'] {
  return (context, emit) => {
    const { data } = context;
    if (data.length < tagBytes) return malformed('shorter than a discriminator');
    for (const { discriminator, name, isInstruction = false, minLength = 0, unlessSent, read } of forms) {
      if (!hasPrefix(data, discriminator) || isInstruction !== (context.record === 'instruction')) continue;
      if (data.length < minLength) return malformed(`${name} too short`);
      if (unlessSent !== undefined) {
        const emitting = context.instruction();
        if (emitting === null) return incomplete;
        if (sendsEvent(emitting, unlessSent)) return { kind: 'ignored', name };
      }
      const reader = new BorshReader(data, tagBytes);
      const event = read(reader, context);
      if (reader.failed) return malformed(`${name} ends inside a field or has an invalid value`);
      if (typeof event === 'string') return malformed(`${name} ${event}`);
      if (event === null) return incomplete;
      if (Array.isArray(event)) event.forEach(emit);
      else emit(event);
      return decoded;
    }
    return undecoded(data, ignored, tagBytes);
  };
}

export type DecodedAs<A> = Exclude<DecodedAccount, { kind: 'decoded' | 'more' }> | { readonly kind: 'decoded'; readonly account: A };

/** Decodes the accounts with this discriminator. `read` returns a text if one is malformed. Of others, only the names are known. */
export function accountDecoder<A extends VenueAccount>(
  discriminator: Uint8Array,
  read: (data: Uint8Array) => A | string,
  ignored: Names,
): (data: Uint8Array) => DecodedAs<A> {
  return (data) => {
    if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
    if (!hasPrefix(data, discriminator)) return undecoded(data, ignored);
    const account = read(data);
    return typeof account === 'string' ? malformed(account) : { kind: 'decoded', account };
  };
}
