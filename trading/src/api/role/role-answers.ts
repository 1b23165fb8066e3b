import type { OrderAnswer } from '../order-call.ts';

const forAMoment = { error: 'UPSTREAM_UNAVAILABLE', retryAfterSeconds: 1 } as const;

export const nobodyTrades: OrderAnswer = {
  ...forAMoment,
  message: 'No gateway is known to hold the trading role. Nothing was placed.',
};

export const tooManyWait: OrderAnswer = {
  ...forAMoment,
  message: 'Too many orders wait for the gateway that holds the trading role. Nothing was placed.',
};

/** For a call that cannot spend and that no holder of the role answered. */
export const noAnswer: OrderAnswer = {
  ...forAMoment,
  message: 'The gateway that holds the trading role did not answer in time.',
};

/** For a call that a holder of the role may have run, or may still run. */
export function uncertain(idempotencyKey: string | null): OrderAnswer {
  return {
    ...forAMoment,
    message:
      'The gateway that holds the trading role did not answer in time, so the order may or may not be placed. Send it again with the Idempotency-Key in details: it is placed at most once.',
    details: { idempotencyKey },
  };
}
