import { encodeBase58 } from '../encoding/base58.ts';
import { BorshReader, isZeroKey } from '../encoding/bytes.ts';

/** Extensions of a Token-2022 mint by their numbers in the program (`ExtensionType`). */
const extensionTypes = {
  transferFeeConfig: 1,
  mintCloseAuthority: 3,
  confidentialTransferMint: 4,
  defaultAccountState: 6,
  nonTransferable: 9,
  interestBearingConfig: 10,
  permanentDelegate: 12,
  transferHook: 14,
  confidentialTransferFeeConfig: 16,
  metadataPointer: 18,
  tokenMetadata: 19,
  scaledUiAmount: 25,
  pausable: 26,
} as const;

/** A fee that applies from an epoch on. */
export interface TransferFeeSetting {
  readonly epoch: bigint;
  readonly maxFee: bigint;
  readonly bps: number;
}

export interface TransferFees {
  readonly configAuthority: string | null;
  readonly withdrawAuthority: string | null;
  /** Applies until the epoch of `newer`. */
  readonly older: TransferFeeSetting;
  readonly newer: TransferFeeSetting;
}

/** Slots of an epoch on a cluster without warm-up epochs, such as mainnet. */
const slotsPerEpoch = 432_000;

/** The fee that applies in a slot. */
export function transferFeeAt({ older, newer }: Pick<TransferFees, 'older' | 'newer'>, slot: number): TransferFeeSetting {
  return BigInt(Math.floor(slot / slotsPerEpoch)) >= newer.epoch ? newer : older;
}

/** What is withheld from a transfer of `amount`; rounded up, as the token program does. */
export function withheldFrom(amount: bigint, { bps, maxFee }: TransferFeeSetting): bigint {
  const fee = (amount * BigInt(bps) + 9_999n) / 10_000n;
  return fee < maxFee ? fee : maxFee;
}

/** The smallest amount to send so that `received` arrives, as the token program computes it. */
export function sentFor(received: bigint, { bps, maxFee }: TransferFeeSetting): bigint {
  if (received === 0n || bps === 0) return received;
  const part = 10_000n - BigInt(bps);
  const sent = part === 0n ? null : (received * 10_000n + part - 1n) / part;
  return sent === null || sent - received >= maxFee ? received + maxFee : sent;
}

/** Metadata that the mint's account itself contains. */
export interface MintMetadata {
  readonly updateAuthority: string | null;
  readonly mint: string;
  readonly name: string;
  readonly symbol: string;
  readonly uri: string;
}

/** Content of a mint's extensions; null or false for those that it does not have. An authority is null if no one has it. */
export interface MintExtensions {
  readonly transferFee: TransferFees | null;
  readonly closeAuthority: string | null;
  readonly confidentialTransfer: boolean;
  readonly defaultAccountState: 'initialized' | 'frozen' | null;
  readonly nonTransferable: boolean;
  readonly interestBearing: { readonly authority: string | null; readonly rateBps: number } | null;
  readonly permanentDelegate: string | null;
  readonly transferHook: { readonly authority: string | null; readonly programId: string | null } | null;
  /** The account with the metadata: the mint itself, or another one. */
  readonly metadataPointer: string | null;
  readonly metadata: MintMetadata | null;
  readonly scaledUiAmount: {
    readonly authority: string | null;
    readonly multiplier: number;
    /** Unix seconds from which `newMultiplier` applies instead. */
    readonly newFromS: number;
    readonly newMultiplier: number;
  } | null;
  readonly pausable: { readonly authority: string | null; readonly paused: boolean } | null;
  /** Types without a field above, in the order of the account. */
  readonly others: readonly number[];
}

export const noExtensions: MintExtensions = {
  transferFee: null,
  closeAuthority: null,
  confidentialTransfer: false,
  defaultAccountState: null,
  nonTransferable: false,
  interestBearing: null,
  permanentDelegate: null,
  transferHook: null,
  metadataPointer: null,
  metadata: null,
  scaledUiAmount: null,
  pausable: null,
  others: [],
};

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Draft = Mutable<Omit<MintExtensions, 'others'>> & { others: number[] };
interface Reader {
  readonly length: number | null;
  readonly read: (value: Uint8Array, view: DataView, into: Draft) => boolean;
}

function keyOrNull(bytes: Uint8Array, at: number): string | null {
  return isZeroKey(bytes, at) ? null : encodeBase58(bytes, at, 32);
}

function feeSetting(view: DataView, at: number): TransferFeeSetting {
  return { epoch: view.getBigUint64(at, true), maxFee: view.getBigUint64(at + 8, true), bps: view.getUint16(at + 16, true) };
}

function readMetadata(value: Uint8Array, _view: DataView, into: Draft): boolean {
  const reader = new BorshReader(value, 0);
  if (value.length < 64) return false;
  const updateAuthority = keyOrNull(value, 0);
  reader.skip(32);
  const mint = reader.address();
  const [name, symbol, uri] = [reader.text(), reader.text(), reader.text()];
  // Further pairs of key and value may follow. They are not used.
  if (reader.failed) return false;
  into.metadata = { updateAuthority, mint, name, symbol, uri };
  return true;
}

/** By type: length of the value (null: any), and its reader, which returns whether the value is valid. */
const readers: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [
    extensionTypes.transferFeeConfig,
    {
      length: 108,
      read: (value, view, into) => {
        const [older, newer] = [feeSetting(view, 72), feeSetting(view, 90)];
        into.transferFee = { configAuthority: keyOrNull(value, 0), withdrawAuthority: keyOrNull(value, 32), older, newer };
        return older.bps <= 10_000 && newer.bps <= 10_000;
      },
    },
  ],
  [
    extensionTypes.mintCloseAuthority,
    {
      length: 32,
      read: (value, _view, into) => {
        into.closeAuthority = keyOrNull(value, 0);
        return true;
      },
    },
  ],
  [extensionTypes.confidentialTransferMint, { length: 65, read: (_value, _view, into) => (into.confidentialTransfer = true) }],
  // Appears only together with the extension above.
  [extensionTypes.confidentialTransferFeeConfig, { length: null, read: () => true }],
  [
    extensionTypes.defaultAccountState,
    {
      length: 1,
      read: (value, _view, into) => {
        into.defaultAccountState = value[0] === 2 ? 'frozen' : 'initialized';
        return value[0] === 1 || value[0] === 2;
      },
    },
  ],
  [extensionTypes.nonTransferable, { length: 0, read: (_value, _view, into) => (into.nonTransferable = true) }],
  [
    extensionTypes.interestBearingConfig,
    {
      length: 52,
      read: (value, view, into) => {
        into.interestBearing = { authority: keyOrNull(value, 0), rateBps: view.getInt16(50, true) };
        return true;
      },
    },
  ],
  [
    extensionTypes.permanentDelegate,
    {
      length: 32,
      read: (value, _view, into) => {
        into.permanentDelegate = keyOrNull(value, 0);
        return true;
      },
    },
  ],
  [
    extensionTypes.transferHook,
    {
      length: 64,
      read: (value, _view, into) => {
        into.transferHook = { authority: keyOrNull(value, 0), programId: keyOrNull(value, 32) };
        return true;
      },
    },
  ],
  [
    extensionTypes.metadataPointer,
    {
      length: 64,
      read: (value, _view, into) => {
        into.metadataPointer = keyOrNull(value, 32);
        return true;
      },
    },
  ],
  [extensionTypes.tokenMetadata, { length: null, read: readMetadata }],
  [
    extensionTypes.scaledUiAmount,
    {
      length: 56,
      read: (value, view, into) => {
        const [multiplier, newMultiplier] = [view.getFloat64(32, true), view.getFloat64(48, true)];
        into.scaledUiAmount = { authority: keyOrNull(value, 0), multiplier, newFromS: Number(view.getBigInt64(40, true)), newMultiplier };
        return Number.isFinite(multiplier) && Number.isFinite(newMultiplier);
      },
    },
  ],
  [
    extensionTypes.pausable,
    {
      length: 33,
      read: (value, _view, into) => {
        into.pausable = { authority: keyOrNull(value, 0), paused: value[32] === 1 };
        return value[32]! <= 1;
      },
    },
  ],
]);

const headerBytes = 4;

/**
 * Reads the entries (u16 type, u16 length, value) after the account type of a Token-2022 mint, from byte `at`. Null if they exceed the
 * account, or if a known one has a wrong length or an invalid value: then nothing about the mint is reliable.
 */
export function readMintExtensions(data: Uint8Array, at: number): MintExtensions | null {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const found: Draft = { ...noExtensions, others: [] };
  let offset = at;
  // Fewer bytes than a header are padding, and so is type 0.
  while (offset + headerBytes <= data.length) {
    const type = view.getUint16(offset, true);
    if (type === 0) break;
    const length = view.getUint16(offset + 2, true);
    const start = offset + headerBytes;
    if (start + length > data.length) return null;
    const known = readers.get(type);
    if (known === undefined) found.others.push(type);
    else {
      if (known.length !== null && known.length !== length) return null;
      const value = data.subarray(start, start + length);
      if (!known.read(value, new DataView(value.buffer, value.byteOffset, length), found)) return null;
    }
    offset = start + length;
  }
  return found;
}
