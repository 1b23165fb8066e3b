import { Type, type Static } from 'typebox';
import { closed, exampleMint, exampleWallet, Titled } from '../../values/values.ts';
import { ErrorAnswer } from '../answers.ts';
import { defineEndpoint } from '../endpoint.ts';
import { BuyBody, SellBody, spendingErrors, TradeAnswer, tradeRefusals } from './trade.ts';

/** Orders of one batch, and of one that is a bundle. */
export const batchLimits = { min: 2, max: 20, bundle: 5 } as const;

export const BatchBuy = Type.Object({ side: Type.Literal('buy'), ...BuyBody.properties }, { ...closed, title: 'batch buy' });
export const BatchSell = Type.Object({ side: Type.Literal('sell'), ...SellBody.properties }, { ...closed, title: 'batch sell' });

export const BatchBody = Type.Object(
  {
    orders: Type.Array(Type.Union([BatchBuy, BatchSell]), {
      minItems: batchLimits.min,
      maxItems: batchLimits.max,
      description:
        'The fields of `/trade/buy` or `/trade/sell`, and `side`. Orders of different wallets are placed at the same time. Orders of one wallet are placed one after the other, in this order.',
    }),
    bundle: Type.Optional(
      Type.Boolean({
        default: false,
        description: `True: at most ${batchLimits.bundle} orders, which land together in one block or not at all. The orders are sent as one bundle to the block engine (\`JITO_URL\`), and the last order pays the tip.`,
      }),
    ),
  },
  {
    ...closed,
    examples: [
      {
        orders: [
          { side: 'buy', publicKey: exampleWallet, mint: exampleMint, amount: 0.1, dryRun: true },
          { side: 'sell', publicKey: exampleWallet, mint: exampleMint, amount: '50%', dryRun: true },
        ],
      },
    ],
  },
);
export type BatchBody = Static<typeof BatchBody>;

export const RefusedOrder = Titled('refused order', { error: ErrorAnswer.properties.error });

export const BatchAnswer = Titled('batch answer', {
  results: Type.Array(Type.Union([TradeAnswer, RefusedOrder]), {
    minItems: batchLimits.min,
    maxItems: batchLimits.max,
    description:
      'One entry for each order, in the order of the request: the answer of the order, or why it was not placed. If a bundle is refused, the answer is an error, whose `details` name the order.',
  }),
});
export type BatchAnswer = Static<typeof BatchAnswer>;

export const tradeBatchEndpoint = defineEndpoint({
  id: 'tradeBatch',
  method: 'POST',
  path: '/trade/batch',
  withApiPrefix: true,
  access: 'trade',
  idempotent: true,
  countsEach: 'orders',
  tag: 'trading',
  summary: 'Places several orders, each with its own outcome.',
  description:
    'Places each order as `/trade/buy` or `/trade/sell` does. An order that is refused does not affect the others. The batch counts as one request for each of its orders. The `Idempotency-Key` covers the whole batch: a repeated batch with the same key and body returns the orders that exist, and places the others. So after a crash or a timeout each order exists exactly once. The header `Idempotency-Replayed: true` says that at least one order was placed by an earlier request.',
  body: BatchBody,
  answer: BatchAnswer,
  errors: [...tradeRefusals, ...spendingErrors],
});
