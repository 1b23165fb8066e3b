import { Type, type Static } from 'typebox';
import { BundleId, OrderFault, orderFields, orderStates, OrderStatus } from '../../orders/orders.ts';
import { tradedVenueNames, venueNames } from '../../venues.ts';
import { defineEndpoint } from '../endpoint.ts';
import { autoMeaning, buyAmountMeaning, QuoteObject, Slippage } from './quote.ts';
import { Limit, Venue } from '../fields.ts';
import {
  Address,
  Base64,
  BlockHeight,
  Closed,
  closed,
  Count,
  exampleMint,
  exampleOrderId,
  exampleWallet,
  Group,
  Nullable,
  OrderId,
  orderIdPattern,
  Raw,
  RequestedMint,
  RequestedRaw,
  RequestedSale,
  Signature,
  Slot,
  Titled,
  Ui,
} from '../../values/values.ts';

/** Priority fee of a transaction, SOL. */
export const priorityFeeLimits = { min: 0.00001, max: 0.01 } as const;
/** Orders of one answer. */
export const orderPageLimits = { default: 50, max: 200 } as const;
/** Base64 of the longest transaction: 1,232 bytes, or 4,096 in version 1. */
const maxTransactionChars = 5_464;

/** A bound of the caller, in addition to its slippage. */
const Bound = (description: string) =>
  Type.Optional(RequestedRaw(`${description} The order obeys the stricter of this limit and \`slippage\`.`));

/** Of an order, also of one that a trigger places. */
export const tradeFields = {
  slippage: Slippage(),
  priorityFee: Type.Optional(
    Type.Number({
      minimum: priorityFeeLimits.min,
      maximum: priorityFeeLimits.max,
      'x-unit': 'SOL',
      description:
        'Priority fee of the whole transaction in SOL. Default: estimated from the recent fees of the accounts that the transaction writes, with a cap.',
    }),
  ),
  pool: Type.Optional(
    Type.Enum(['auto', ...venueNames], {
      default: 'auto',
      documented: { enum: ['auto', ...tradedVenueNames] },
      description: `${autoMeaning} An order is refused if nearly all liquidity of the token is on venues without trading. Such a venue is refused, too.`,
    }),
  ),
  maxIn: Bound('Maximum amount to pay. A sale of a part of the balance sells no more than this.'),
  minOut: Bound('The least to receive. Give the `minOut` of the quote that you have shown or decided on.'),
} as const;

const common = {
  publicKey: Address('Wallet that signs and pays.'),
  mint: RequestedMint(),
  ...tradeFields,
  dryRun: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Quotes, builds, simulates, and asks the signing process for its decision, but signs and sends nothing and creates no order.',
    }),
  ),
  skipSimulation: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'If true, sluice does not simulate the transaction. It checks balance, quote and accounts only against the state that it has.',
    }),
  ),
} as const;

export const BuyBody = Type.Object(
  {
    ...common,
    amount: Type.Number({
      description: `${buyAmountMeaning} It can have as many decimals as that coin; further digits, such as those of a floating-point error (0.1 + 0.2), are rounded.`,
      exclusiveMinimum: 0,
    }),
  },
  { ...closed, examples: [{ publicKey: exampleWallet, mint: exampleMint, amount: 0.1, slippage: 5 }] },
);
export type BuyBody = Static<typeof BuyBody>;

export const SellBody = Type.Object(
  {
    ...common,
    amount: Type.Optional(
      RequestedSale(
        'Tokens, or a part of the balance in the associated token account of `publicKey`, for example "50%". A number can have as many decimals as the coin, a percentage four.',
      ),
    ),
    sellAll: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Sells the whole balance in the associated token account of `publicKey` at the moment of the quote. Tokens that arrive later stay in the account. The account stays open. `amount` is then optional.',
      }),
    ),
  },
  {
    ...closed,
    documented: { anyOf: [{ required: ['amount'] }, { properties: { sellAll: { const: true } }, required: ['sellAll'] }] },
    examples: [{ publicKey: exampleWallet, mint: exampleMint, amount: '50%' }],
  },
);
export type SellBody = Static<typeof SellBody>;

const StepMs = (what: string) => Type.Optional(Type.Number({ minimum: 0, description: `${what} Milliseconds.` }));
export const OrderTiming = Group('How long each step took on the server. Steps that did not happen are absent.', {
  totalMs: Type.Number({ minimum: 0, description: 'From the request to the answer. Milliseconds.' }),
  quoteMs: StepMs('Quoting.'),
  buildMs: StepMs('Building the message.'),
  signMs: StepMs('Signing it.'),
  storeMs: StepMs('Storing the order.'),
  simulateMs: StepMs('Simulating it.'),
  sendMs: StepMs('Sending it to the nodes.'),
});
export type OrderTiming = Static<typeof OrderTiming>;

/** Fields that describe the trade, in the answers of trades and of unsigned transactions. */
const answerFields = {
  side: Type.Enum(['buy', 'sell'], { description: "The taker's side." }),
  mint: Address('Mint.'),
  pool: Venue('Venue of the trade.'),
  poolAddress: Address('The bonding curve or pool.'),
  quoteMint: Address('Mint of the quote coin; wrapped SOL for SOL.'),
  publicKey: Address('Wallet that signs and pays.'),
  quote: QuoteObject,
} as const;

const Simulation = Nullable(
  Closed({ unitsConsumed: Count('Compute units.'), slot: Slot('Slot of the state that the simulation used.') }),
  'The simulation that the transaction passed; null if there was none.',
);

export const TradeAnswer = Titled('trade answer', {
  orderId: Nullable(OrderId(), 'Id for `GET /trade/orders/{id}`; null for a `dryRun`.'),
  status: OrderStatus,
  signature: Nullable(Signature(), 'Signature of the transaction; null if nothing was signed.'),
  ...answerFields,
  bundleId: BundleId(),
  lastValidBlockHeight: Nullable(BlockHeight(), 'Last block height at which the transaction can land; null if nothing is sent.'),
  simulation: Simulation,
  error: Nullable(OrderFault, 'Set if a repeated request returns an order that has failed: why it failed. Otherwise null.'),
  dryRun: Type.Optional(Type.Literal(true, { description: 'Present and true if nothing was sent because the request was a dry run.' })),
  paper: Type.Optional(Type.Literal(true, { description: 'Present and true if nothing was sent because the server is in paper trading.' })),
  timing: OrderTiming,
});
export type TradeAnswer = Static<typeof TradeAnswer>;

const expiryMeaning = 'Whole seconds in which the transaction can still land, at the current speed of the chain.';

const TransactionAnswer = Titled('transaction answer', {
  transaction: Base64('The unsigned transaction (v0, one signer: `publicKey`), base64.', { minLength: 4, maxLength: maxTransactionChars }),
  ...answerFields,
  blockhash: Address('Blockhash of the transaction.'),
  lastValidBlockHeight: BlockHeight('Last block height at which the transaction can land.'),
  expiresInSeconds: Count(expiryMeaning),
  computeUnitLimit: Count('Compute units that the transaction requests.'),
  priorityFee: Raw('Priority fee that the transaction offers, in lamports.'),
  priorityFeeUi: Ui('The same in SOL.'),
  simulation: Simulation,
  timing: OrderTiming,
});
type TransactionAnswer = Static<typeof TransactionAnswer>;

export const SendBody = Closed({
  transaction: Base64('The signed transaction, base64. It is sent unchanged.', { minLength: 1, maxLength: maxTransactionChars }),
  skipSimulation: Type.Optional(Type.Boolean({ default: false, description: 'Sends the transaction without a simulation.' })),
});
export type SendBody = Static<typeof SendBody>;

export const SendAnswer = Titled('send answer', {
  orderId: OrderId('Id for `GET /trade/orders/{id}`.'),
  status: OrderStatus,
  signature: Signature('The first signature of the transaction, which identifies it on the chain.'),
  publicKey: Address('The fee payer of the transaction.'),
  lastValidBlockHeight: Nullable(
    BlockHeight(),
    'Last block height at which sluice sends the transaction again. After this height it can no longer land.',
  ),
  expiresInSeconds: Nullable(
    Count(),
    `${expiryMeaning} If its blockhash is not from sluice, the most that is possible. Null if the order has ended.`,
  ),
  simulation: Simulation,
  error: Nullable(OrderFault, 'Set if a repeated request returns an order that has failed: why it failed. Otherwise null.'),
  timing: OrderTiming,
});
export type SendAnswer = Static<typeof SendAnswer>;

export const OrderObject = Titled('order state', {
  ...orderFields,
  genesisHash: Nullable(
    Address(),
    'Genesis hash of the chain of the order; null if it was not stored. If the nodes now belong to another chain, the answer contains the last stored state of the order.',
  ),
  quote: Nullable(QuoteObject, 'The quote of the order; null if there was none.'),
  timing: Nullable(OrderTiming, 'Timing of the request that placed the order; null if it is unknown.'),
});
export type OrderObject = Static<typeof OrderObject>;

const idempotent =
  'A repeated request with the same `Idempotency-Key` and body returns the same order, for at least 24 hours, and until the order is no longer open. Hours in which no gateway runs do not count. This is also true after a crash. The answer then has the current state of the order and the header `Idempotency-Replayed: true`.';
/** Why an order cannot be placed. */
export const tradeRefusals = ['INVALID_MINT', 'INSUFFICIENT_BALANCE', 'SLIPPAGE_EXCEEDED', 'SIMULATION_FAILED', 'NOT_FOUND'] as const;
/** Errors of every call that may spend. */
export const spendingErrors = ['IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_MISMATCH', 'UPSTREAM_UNAVAILABLE', 'TRADING_HALTED'] as const;

const trade = {
  method: 'POST',
  withApiPrefix: true,
  access: 'trade',
  idempotent: true,
  tag: 'trading',
  description: `Quotes the trade, builds and simulates the transaction, signs it with a custodial wallet, stores the order and sends it. The order is then followed to its end. It is stored before any node receives the signed transaction. ${idempotent}`,
  answer: TradeAnswer,
  errors: [...tradeRefusals, ...spendingErrors],
} as const;

export const tradeBuyEndpoint = defineEndpoint({
  ...trade,
  id: 'tradeBuy',
  path: '/trade/buy',
  summary: 'Buys with a custodial wallet.',
  body: BuyBody,
});
export const tradeSellEndpoint = defineEndpoint({
  ...trade,
  id: 'tradeSell',
  path: '/trade/sell',
  summary: 'Sells with a custodial wallet.',
  body: SellBody,
});

const transaction = {
  method: 'POST',
  withApiPrefix: true,
  access: 'read',
  tag: 'trading',
  description:
    'Returns a v0 transaction that any wallet can sign. Nothing is stored or sent. It is simulated first, without its signature, unless `skipSimulation` is true. Its blockhash is at most a second old, or the newest one if the nodes answer slowly. Sign and send it within `expiresInSeconds`: about 30 seconds.',
  answer: TransactionAnswer,
  errors: [...tradeRefusals, 'UPSTREAM_UNAVAILABLE'],
} as const;

export const transactionBuyEndpoint = defineEndpoint({
  ...transaction,
  id: 'transactionBuy',
  path: '/transaction/buy',
  summary: 'The unsigned transaction of a buy, with its quote.',
  body: BuyBody,
});
export const transactionSellEndpoint = defineEndpoint({
  ...transaction,
  id: 'transactionSell',
  path: '/transaction/sell',
  summary: 'The unsigned transaction of a sell, with its quote.',
  body: SellBody,
});

export const transactionSendEndpoint = defineEndpoint({
  id: 'transactionSend',
  method: 'POST',
  path: '/transaction/send',
  withApiPrefix: true,
  access: 'trade',
  idempotent: true,
  tag: 'trading',
  summary: 'Sends a transaction that the caller signed, and follows it like an order.',
  description: `The signatures are verified, and the transaction is simulated first. If you send the same transaction twice, sluice creates only one order. A transaction with a durable nonce instead of a blockhash is refused. So is one whose blockhash has expired (\`TRANSACTION_EXPIRED\`): build it again. ${idempotent}`,
  body: SendBody,
  answer: SendAnswer,
  errors: ['INSUFFICIENT_BALANCE', 'SLIPPAGE_EXCEEDED', 'TRANSACTION_EXPIRED', 'SIMULATION_FAILED', ...spendingErrors],
});

const orderRead = {
  method: 'GET',
  withApiPrefix: true,
  access: 'trade',
  tag: 'trading',
  description: 'A key can read the orders of its account. A key of the operator can read only the orders that were placed with this key.',
} as const;

export const orderEndpoint = defineEndpoint({
  ...orderRead,
  id: 'tradeOrder',
  path: '/trade/orders/{id}',
  summary: 'State and fill of an order.',
  params: Closed({ id: Type.String({ minLength: 1, maxLength: 64, examples: [exampleOrderId], description: 'Id of the order.' }) }),
  answer: OrderObject,
  errors: ['NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
});

export const orderPageEndpoint = defineEndpoint({
  ...orderRead,
  id: 'tradeOrders',
  path: '/trade/orders',
  summary: 'A page of orders, newest first.',
  query: Closed({
    before: Type.Optional(
      Type.String({
        pattern: orderIdPattern,
        examples: [exampleOrderId],
        description: 'Return only orders older than this id: `next` of the previous answer.',
      }),
    ),
    status: Type.Optional(Type.Enum([...orderStates], { description: 'Only orders in this state.' })),
    limit: Limit('orders', orderPageLimits),
  }),
  answer: Titled('tradeOrders', {
    orders: Type.Array(OrderObject, { maxItems: orderPageLimits.max }),
    next: Nullable(OrderId(), 'Send it as `before` for the next, older orders; null if there are none.'),
  }),
  errors: ['UPSTREAM_UNAVAILABLE'],
});
