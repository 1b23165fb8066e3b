import type { OrderAnswer } from '../api/order-call.ts';

const forAMoment = { error: 'UPSTREAM_UNAVAILABLE', retryAfterSeconds: 1 } as const;

export const nobodyTrades: OrderAnswer = {
  ...forAMoment,
  message: 'No gateway is known to hold the trading role. Nothing was placed.',
};

export const tooManyWait: OrderAnswer = {
  ...forAMoment,
  message: 'Too many orders wait for the gateway that holds the trading role. Nothing was placed.',
};

/** No holder of the role took a call that cannot spend. */
export const notTaken: OrderAnswer = {
  ...forAMoment,
  message: 'The gateway that holds the trading role did not answer in time.',
};

/** For a call that a holder of the role may have run, or may still run. */
export function uncertain(idempotencyKey: string | null): OrderAnswer {
  return {
    ...forAMoment,
    message:
      'The gateway that holds the trading role did not answer in time: the order may be placed, or not. Send it again with the Idempotency-Key in details, and it is placed at most once.',
    details: { idempotencyKey },
  };
}
