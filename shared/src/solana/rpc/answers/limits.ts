const kilobyte = 1_024;
const megabyte = 1_024 * kilobyte;

/** Bounds of an endpoint's answers. */
export interface AnswerLimit {
  /** Bytes after unpacking. A longer answer is neither read to its end nor parsed. */
  readonly bytes: number;
  /** The node alone decides the length, never the content of the chain. So an answer that is too long is a fault of the node. */
  readonly isFixed: boolean;
}

/** For a number, a hash, or a few of them. */
const single: AnswerLimit = { bytes: 4 * kilobyte, isFixed: true };
const fixed = (bytes: number): AnswerLimit => ({ bytes, isFixed: true });
const ofOthers = (bytes: number): AnswerLimit => ({ bytes, isFixed: false });

/** Bytes of one account that are read. The longest that quotes need (arrays of ticks and bins) have about ten thousand. */
export const maxAccountBytes = 16 * kilobyte;

/** About twice the longest correct answer to the calls that this project makes. */
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
  // A log has ten thousand bytes by default; a node may be configured to store more.
  ['simulateTransaction', fixed(512 * kilobyte)],
  // Five transactions.
  ['simulateBundle', fixed(2_560 * kilobyte)],
  ['sendBundle', single],
  // One account.
  ['getAccountInfo', fixed(64 * kilobyte)],
  // 64 inner instructions of ten thousand bytes.
  ['getTransaction', fixed(2 * megabyte)],
  // 100 accounts, at most `maxAccountBytes` of each.
  ['getMultipleAccounts', fixed(4 * megabyte)],
  // 20 accounts.
  ['getTokenLargestAccounts', fixed(16 * kilobyte)],
  // A page of 1,000.
  ['getSignaturesForAddress', fixed(2 * megabyte)],
  ['getBlocks', fixed(megabyte)],
  // A full block with its votes has five to ten megabytes. Anybody's transactions can add logs to it.
  ['getBlock', ofOthers(24 * megabyte)],
  // About 40,000 token accounts: anyone can send coins to a wallet.
  ['getTokenAccountsByOwner', ofOthers(16 * megabyte)],
]);

/** For a method that is not listed: enough for any small answer. */
const unlisted = ofOthers(64 * kilobyte);

/** The longest allowed answer to this method. */
export function answerLimit(method: string): AnswerLimit {
  return limits.get(method) ?? unlisted;
}
