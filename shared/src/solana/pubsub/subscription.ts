/** A subscription as an endpoint is asked for it. A socket without an answer to a required one is given up. */
export interface Subscription {
  /** Tells it from the others of its socket. */
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
/**
 * Longest notification of each kind, in bytes of JSON. The runtime cuts logs at 10,000 bytes, which escapes make 60,000; accounts that
 * are followed have at most `maxFollowedBytes` of data, those of programs some hundred.
 */
const maxNotificationBytes: ReadonlyMap<string, number> = new Map([
  ['slotNotification', kibibyte],
  ['logsNotification', 256 * kibibyte],
  ['programNotification', 64 * kibibyte],
  ['accountNotification', 256 * kibibyte],
]);
/** Longest answer to a request, and longest frame of a kind that is not known. */
const maxOtherBytes = 16 * kibibyte;
/** Below it no frame is too long. */
export const shortFrameBytes = kibibyte;
/** An account with more data than this is read and not followed: a notification of it would be longer than any may be. */
export const maxFollowedBytes = 128 * kibibyte;

/** By the `method` of the frame; null for an answer. */
export function maxFrameBytes(method: string | null): number {
  return (method === null ? undefined : maxNotificationBytes.get(method)) ?? maxOtherBytes;
}

/** Longest frame of a connection that carries subscriptions of these methods (`slotSubscribe` and the like). */
export function longestFrameBytes(subscribeMethods: Iterable<string>): number {
  let longest = maxOtherBytes;
  for (const method of subscribeMethods) longest = Math.max(longest, maxFrameBytes(method.replace(/Subscribe$/, 'Notification')));
  return longest;
}
