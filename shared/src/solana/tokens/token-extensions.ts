import { encodeBase58 } from '../encoding/base58.ts';
import { BorshReader, isZeroKey, viewOf } from '../encoding/bytes.ts';

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

function keyOrNull(bytes: Uint8Array, at: number): string | null {
  return isZeroKey(bytes, at) ? null : encodeBase58(bytes, at, 32);
}

function readTransferFee(value: Uint8Array, view: DataView): TransferFees | undefined {
  const [older, newer] = [72, 90].map((at) => ({
    epoch: view.getBigUint64(at, true),
    maxFee: view.getBigUint64(at + 8, true),
    bps: view.getUint16(at + 16, true),
  })) as [TransferFeeSetting, TransferFeeSetting];
  if (older.bps > 10_000 || newer.bps > 10_000) return undefined;
  return { configAuthority: keyOrNull(value, 0), withdrawAuthority: keyOrNull(value, 32), older, newer };
}

/** Further pairs of key and value may follow. They are not used. */
function readMetadata(value: Uint8Array): MintMetadata | undefined {
  if (value.length < 64) return undefined;
  const reader = new BorshReader(value, 32);
  const mint = reader.address();
  const [name, symbol, uri] = [reader.text(), reader.text(), reader.text()];
  return reader.failed ? undefined : { updateAuthority: keyOrNull(value, 0), mint, name, symbol, uri };
}

function readScaledUiAmount(value: Uint8Array, view: DataView): MintExtensions['scaledUiAmount'] | undefined {
  const [multiplier, newMultiplier] = [view.getFloat64(32, true), view.getFloat64(48, true)];
  if (!Number.isFinite(multiplier) || !Number.isFinite(newMultiplier)) return undefined;
  return { authority: keyOrNull(value, 0), multiplier, newFromS: Number(view.getBigInt64(40, true)), newMultiplier };
}

type Field = Exclude<keyof MintExtensions, 'others'>;

/** How a known extension is read. */
interface Extension {
  readonly field: Field;
  /** Bytes of the value; null for any number. */
  readonly length: number | null;
  /** Undefined if the value is invalid. */
  readonly read: (value: Uint8Array, view: DataView) => MintExtensions[Field] | undefined;
}

function extension<F extends Field>(
  field: F,
  length: number | null,
  read: (value: Uint8Array, view: DataView) => MintExtensions[F] | undefined,
): Extension {
  return { field, length, read };
}

/** By their numbers in the program (`ExtensionType`); null for one without a field, which appears only together with another. */
const known: ReadonlyMap<number, Extension | null> = new Map([
  [1, extension('transferFee', 108, readTransferFee)],
  [3, extension('closeAuthority', 32, (value) => keyOrNull(value, 0))],
  [4, extension('confidentialTransfer', 65, () => true)],
  [6, extension('defaultAccountState', 1, ([state]) => (state === 1 ? 'initialized' : state === 2 ? 'frozen' : undefined))],
  [9, extension('nonTransferable', 0, () => true)],
  [10, extension('interestBearing', 52, (value, view) => ({ authority: keyOrNull(value, 0), rateBps: view.getInt16(50, true) }))],
  [12, extension('permanentDelegate', 32, (value) => keyOrNull(value, 0))],
  [14, extension('transferHook', 64, (value) => ({ authority: keyOrNull(value, 0), programId: keyOrNull(value, 32) }))],
  [16, null], // the fees of confidential transfers
  [18, extension('metadataPointer', 64, (value) => keyOrNull(value, 32))],
  [19, extension('metadata', null, readMetadata)],
  [25, extension('scaledUiAmount', 56, readScaledUiAmount)],
  [26, extension('pausable', 33, (value) => (value[32]! > 1 ? undefined : { authority: keyOrNull(value, 0), paused: value[32] === 1 }))],
]);

const headerBytes = 4;

/** Reads the entries (u16 type, u16 length, value) from byte `at`. Null if one is cut short or invalid: then nothing of the mint is reliable. */
export function readMintExtensions(data: Uint8Array, at: number): MintExtensions | null {
  const view = viewOf(data);
  const others: number[] = [];
  const found = { ...noExtensions, others };
  let offset = at;
  // Fewer bytes than a header are padding, and so is type 0.
  while (offset + headerBytes <= data.length) {
    const type = view.getUint16(offset, true);
    if (type === 0) break;
    const length = view.getUint16(offset + 2, true);
    const value = data.subarray(offset + headerBytes, offset + headerBytes + length);
    if (value.length < length) return null;
    const one = known.get(type);
    if (one === undefined) others.push(type);
    else if (one !== null) {
      const read = one.length !== null && one.length !== length ? undefined : one.read(value, viewOf(value));
      if (read === undefined) return null;
      Object.assign(found, { [one.field]: read });
    }
    offset += headerBytes + length;
  }
  return found;
}
