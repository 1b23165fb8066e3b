/** A subscription to request from an endpoint. If a required one is refused or gets no answer, the connection is closed. */
export interface Subscription {
  /** Unique among the subscriptions of its socket. */
  readonly name: string;
  /** `accountSubscribe` and the like. */
  readonly method: string;
  readonly params: readonly unknown[];
  readonly required: boolean;
}

export const slotSubscription = (required: boolean): Subscription => ({ name: 'slots', method: 'slotSubscribe', params: [], required });

/** One account at `processed`, in base64. */
export function accountSubscription(address: string): Subscription {
  return {
    name: `account:${address}`,
    method: 'accountSubscribe',
    params: [address, { encoding: 'base64', commitment: 'processed' }],
    required: false,
  };
}

const kibibyte = 1024;
/** Bytes of the longest notification. The runtime cuts logs at 10,000 bytes, which escapes can grow to 60,000; accounts have `maxFollowedBytes`. */
const maxNotificationBytes: ReadonlyMap<string, number> = new Map([
  ['slotNotification', kibibyte],
  ['logsNotification', 256 * kibibyte],
  ['programNotification', 64 * kibibyte],
  ['accountNotification', 256 * kibibyte],
  // As the answers to `getTransaction` and `getBlock`.
  ['transactionNotification', 2 * 1024 * kibibyte],
  ['blockNotification', 24 * 1024 * kibibyte],
]);
/** Longest answer to a request, and longest frame of an unknown kind. */
const maxOtherBytes = 16 * kibibyte;
/** A frame shorter than this is never too long. */
export const shortFrameBytes = kibibyte;
/** An account with more data is read but not followed, because a notification of it would exceed the limit. */
export const maxFollowedBytes = 128 * kibibyte;

/** By the `method` of the frame; null for an answer. */
export function maxFrameBytes(method: string | null): number {
  return (method === null ? undefined : maxNotificationBytes.get(method)) ?? maxOtherBytes;
}

/** Longest frame of a connection with subscriptions of these methods (`slotSubscribe` and the like). */
export function longestFrameBytes(subscribeMethods: Iterable<string>): number {
  let longest = maxOtherBytes;
  for (const method of subscribeMethods) longest = Math.max(longest, maxFrameBytes(method.replace(/Subscribe$/, 'Notification')));
  return longest;
}
