const kilobyte = 1_024;
const megabyte = 1_024 * kilobyte;

/** How much an endpoint may answer. */
export interface AnswerLimit {
  /** After unpacking. An answer that is longer is not read further, and not parsed. */
  readonly bytes: number;
  /** The node alone decides how long the answer is: a longer one is a fault of the node, and never of what is on the chain. */
  readonly isFixed: boolean;
}

/** A number, a hash, or a few of them. */
const single: AnswerLimit = { bytes: 4 * kilobyte, isFixed: true };
const fixed = (bytes: number): AnswerLimit => ({ bytes, isFixed: true });
const ofOthers = (bytes: number): AnswerLimit => ({ bytes, isFixed: false });

/** Bytes of one account that are read; the longest that quotes need (arrays of ticks and bins) have some ten thousand. */
export const maxAccountBytes = 16 * kilobyte;

/** About twice the longest true answer to what is asked here. */
const limits: ReadonlyMap<string, AnswerLimit> = new Map([
  ['getBalance', single],
  ['getBlockTime', single],
  ['getEpochInfo', single],
  ['getFirstAvailableBlock', single],
  ['getGenesisHash', single],
  ['getHealth', single],
  ['getLatestBlockhash', single],
  ['getSlot', single],
  ['getVersion', single],
  ['isBlockhashValid', single],
  // 150 blocks.
  ['getRecentPrioritizationFees', fixed(32 * kilobyte)],
  // 256 signatures.
  ['getSignatureStatuses', fixed(128 * kilobyte)],
  ['sendTransaction', fixed(64 * kilobyte)],
  // A log has ten thousand bytes by default; a node may be set to keep more.
  ['simulateTransaction', fixed(512 * kilobyte)],
  // One account.
  ['getAccountInfo', fixed(64 * kilobyte)],
  // 64 inner instructions of ten thousand bytes.
  ['getTransaction', fixed(2 * megabyte)],
  // 100 accounts, of each no more than `maxAccountBytes`.
  ['getMultipleAccounts', fixed(4 * megabyte)],
  // A page of 1,000.
  ['getSignaturesForAddress', fixed(2 * megabyte)],
  ['getBlocks', fixed(megabyte)],
  // A full block with its votes has five to ten megabytes. What its transactions log is up to others.
  ['getBlock', ofOthers(24 * megabyte)],
  // Some 40,000 token accounts: anybody may send a wallet coins.
  ['getTokenAccountsByOwner', ofOthers(16 * megabyte)],
]);

/** Of a method that is not listed: enough for anything small. */
const unlisted = ofOthers(64 * kilobyte);

/** How long an answer to this method may be. */
export function answerLimit(method: string): AnswerLimit {
  return limits.get(method) ?? unlisted;
}
