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
