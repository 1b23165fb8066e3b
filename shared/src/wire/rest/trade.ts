import { Type, type Static } from 'typebox';
import { OrderFault, orderFields, orderIdPattern, orderStates, OrderStatus } from '../orders.ts';
import { venueNames } from '../events.ts';
import { defineEndpoint } from './endpoint.ts';
import { Address, closed, OrNull, Raw, Ui, Venue } from './fields.ts';
import { buyLimits, QuoteObject, slippageLimits } from './quote.ts';
import {
  exampleMint,
  exampleOrderId,
  exampleWallet,
  orderExample,
  sendExample,
  tradeExample,
  transactionExample,
} from './trade-examples.ts';

/** SOL. */
const priorityFeeLimits = { min: 0.00001, max: 0.01 } as const;
/** Orders of one answer. */
export const orderPageLimits = { default: 50, max: 200 } as const;
/** Base64 of the longest transaction that is taken: 1,232 bytes, of version 1 4,096. */
const maxTransactionChars = 5_464;

const RawText = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^[0-9]+$',
      maxLength: 20,
      description: `${description} Raw integer in its smallest unit, as a decimal string; the order obeys the tighter of it and what \`slippage\` gives.`,
    }),
  );

const common = {
  publicKey: Address('Wallet that signs and pays.'),
  mint: Type.String({ maxLength: 64, description: 'Mint of the token, base58.' }),
  slippage: Type.Optional(
    Type.Number({
      minimum: slippageLimits.min,
      maximum: slippageLimits.max,
      default: slippageLimits.default,
      description: 'Percent that the price may move against the trader; at most two decimals.',
    }),
  ),
  priorityFee: Type.Optional(
    Type.Number({
      minimum: priorityFeeLimits.min,
      maximum: priorityFeeLimits.max,
      description: 'Priority fee of the whole transaction in SOL. Left out: by the recent fees of the accounts that it writes, with a cap.',
    }),
  ),
  pool: Type.Optional(
    Type.Enum(['auto', ...venueNames], {
      default: 'auto',
      description:
        'Venue. `auto` is the bonding curve until it is complete, then the pool with the best quote: most out for a fixed amount in, least in for a fixed amount out. A venue that takes no orders yet is refused.',
    }),
  ),
  maxIn: RawText('Most to give.'),
  minOut: RawText('Least to get.'),
  dryRun: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Quotes, builds, simulates, reports what the signing process would refuse, and sends nothing: no order is made.',
    }),
  ),
  skipSimulation: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Checks of balance, quote and account state on what is at hand take the place of the simulation.',
    }),
  ),
} as const;

export const BuyBody = Type.Object(
  {
    ...common,
    amount: Type.Number({
      description: `Whole quote coins to spend, all fees of the venue inside, ${buyLimits.min}–${buyLimits.max}: SOL, or, of a coin that trades against another coin, that one (say USDC). At most as many decimals as that coin has; what floating point leaves beyond them (0.1 + 0.2) is rounded off.`,
      minimum: buyLimits.min,
      maximum: buyLimits.max,
    }),
  },
  { ...closed, examples: [{ publicKey: exampleWallet, mint: exampleMint, amount: 0.1, slippage: 5 }] },
);
export type BuyBody = Static<typeof BuyBody>;

export const SellBody = Type.Object(
  {
    ...common,
    amount: Type.Optional(
      Type.Union([Type.Number(), Type.String({ maxLength: 16 })], {
        description:
          'Whole tokens, or a part of what `publicKey` holds in its associated token account, as "50%". A number has at most as many decimals as the coin, a percentage four.',
      }),
    ),
    sellAll: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Sells all that `publicKey` holds in its associated token account, and closes the account; `amount` may then be left out.',
      }),
    ),
  },
  { ...closed, examples: [{ publicKey: exampleWallet, mint: exampleMint, amount: '50%' }] },
);
export type SellBody = Static<typeof SellBody>;

const StepMs = (what: string) => Type.Optional(Type.Number({ minimum: 0, description: `${what} Milliseconds.` }));
export const OrderTiming = Type.Object(
  {
    totalMs: Type.Number({ minimum: 0, description: 'From the request to the answer. Milliseconds.' }),
    quoteMs: StepMs('Quoting.'),
    buildMs: StepMs('Building the message.'),
    signMs: StepMs('Signing it.'),
    storeMs: StepMs('Storing the order.'),
    simulateMs: StepMs('Simulating it.'),
    sendMs: StepMs('Handing it to the nodes.'),
  },
  { ...closed, description: "The server's own times, by step; a step that was not taken is not there." },
);
export type OrderTiming = Static<typeof OrderTiming>;

/** What a trade is, in the answers of trades and of unsigned transactions. */
const tradeFields = {
  side: Type.Enum(['buy', 'sell'], { description: "The taker's side." }),
  mint: Address('Mint.'),
  pool: Venue('Venue that is traded on.'),
  poolAddress: Address('The bonding curve or pool.'),
  quoteMint: Address('Mint of the quote coin; wrapped SOL for SOL.'),
  publicKey: Address('Wallet that signs and pays.'),
  quote: QuoteObject,
} as const;

const Simulation = OrNull(
  Type.Object(
    {
      unitsConsumed: Type.Integer({ minimum: 0, description: 'Compute units.' }),
      slot: Type.Integer({ minimum: 0, description: 'Slot of the state that it ran on.' }),
    },
    closed,
  ),
  'The simulation that was passed; null where there was none.',
);

export const TradeAnswer = Type.Object(
  {
    orderId: OrNull(Type.String(), 'Leads to `GET /trade/orders/{id}`; null of a `dryRun`.'),
    status: OrderStatus,
    signature: OrNull(Type.String(), 'Signature of its transaction; null where nothing was signed.'),
    ...tradeFields,
    lastValidBlockHeight: OrNull(Type.Integer({ minimum: 0 }), 'Block height up to which it can land; null where nothing is sent.'),
    simulation: Simulation,
    error: OrNull(OrderFault, 'Why an order failed that was sent before and is answered again; null otherwise.'),
    dryRun: Type.Optional(Type.Literal(true, { description: 'Present and true where nothing was sent because the request said so.' })),
    paper: Type.Optional(
      Type.Literal(true, { description: 'Present and true where nothing was sent because the server trades on paper.' }),
    ),
    timing: OrderTiming,
  },
  { ...closed, title: 'trade answer', examples: [tradeExample] },
);
export type TradeAnswer = Static<typeof TradeAnswer>;

const TransactionAnswer = Type.Object(
  {
    transaction: Type.String({ description: 'The unsigned transaction (v0, one signer: `publicKey`), base64.' }),
    ...tradeFields,
    blockhash: Type.String({ description: 'Blockhash of the transaction, base58.' }),
    lastValidBlockHeight: Type.Integer({ minimum: 0, description: 'Block height up to which it can land.' }),
    computeUnitLimit: Type.Integer({ minimum: 0, description: 'Compute units that it asks for.' }),
    priorityFee: Raw('Priority fee that it offers, lamports.'),
    priorityFeeUi: Ui('The same in SOL.'),
    simulation: Simulation,
    timing: OrderTiming,
  },
  { ...closed, title: 'transaction answer', examples: [transactionExample] },
);
type TransactionAnswer = Static<typeof TransactionAnswer>;

export const SendBody = Type.Object(
  {
    transaction: Type.String({
      minLength: 1,
      maxLength: maxTransactionChars,
      pattern: '^[A-Za-z0-9+/]+={0,2}$',
      description: 'The signed transaction, base64. It is sent as it is, byte for byte.',
    }),
    skipSimulation: Type.Optional(Type.Boolean({ default: false, description: 'Sends it without a simulation before.' })),
  },
  closed,
);
export type SendBody = Static<typeof SendBody>;

export const SendAnswer = Type.Object(
  {
    orderId: Type.String({ description: 'Leads to `GET /trade/orders/{id}`.' }),
    status: OrderStatus,
    signature: Type.String({ description: 'Its first signature, by which the chain knows it.' }),
    publicKey: Address('Its fee payer.'),
    lastValidBlockHeight: OrNull(
      Type.Integer({ minimum: 0 }),
      'Block height up to which it is sent again, and after which it can land no more.',
    ),
    simulation: Simulation,
    error: OrNull(OrderFault, 'Why an order failed that was sent before and is answered again; null otherwise.'),
    timing: OrderTiming,
  },
  { ...closed, title: 'send answer', examples: [sendExample] },
);
export type SendAnswer = Static<typeof SendAnswer>;

export const OrderObject = Type.Object(
  {
    ...orderFields,
    genesisHash: OrNull(
      Type.String(),
      'Genesis hash of the chain that it was made on; null where that was not stored. A server whose nodes are of another chain returns the order as it was last seen.',
    ),
    quote: OrNull(QuoteObject, 'What was quoted; null where nothing was.'),
    timing: OrNull(OrderTiming, 'Times of the request that made it; null where they are not known.'),
  },
  { ...closed, title: 'order state', examples: [orderExample] },
);
export type OrderObject = Static<typeof OrderObject>;

const idempotent =
  'With the header `Idempotency-Key` the same key and body give the same order for 24 hours, and for as long as it is open, also after a crash: the answer then describes the order as it is, and `Idempotency-Replayed: true` says so.';
const refusals = ['INVALID_MINT', 'INSUFFICIENT_BALANCE', 'SLIPPAGE_EXCEEDED', 'SIMULATION_FAILED', 'NOT_FOUND'] as const;
const spending = ['IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_MISMATCH', 'UPSTREAM_UNAVAILABLE', 'TRADING_HALTED'] as const;

const trade = {
  method: 'POST',
  bothForms: true,
  access: 'trade',
  idempotent: true,
  tag: 'trading',
  description: `Quotes, builds, simulates the message, signs what passed with a custodial wallet, stores and broadcasts it; the order is then followed to its end. No node is shown a signed message before its order is stored. ${idempotent}`,
  answer: TradeAnswer,
  errors: [...refusals, ...spending],
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
  bothForms: true,
  access: 'read',
  tag: 'trading',
  description:
    'A v0 transaction that any wallet can sign; nothing is stored or sent. It is simulated before it is handed out, without its signature, unless `skipSimulation` says otherwise.',
  answer: TransactionAnswer,
  errors: [...refusals, 'UPSTREAM_UNAVAILABLE'],
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
  bothForms: true,
  access: 'trade',
  idempotent: true,
  tag: 'trading',
  summary: 'Broadcasts a transaction that the caller signed, and follows it like an order.',
  description: `Simulated first, without its signatures, which are verified here. The same transaction sent twice is one order. One with a durable nonce in place of its blockhash is refused. ${idempotent}`,
  body: SendBody,
  answer: SendAnswer,
  errors: ['INSUFFICIENT_BALANCE', 'SLIPPAGE_EXCEEDED', 'SIMULATION_FAILED', ...spending],
});

export const orderEndpoint = defineEndpoint({
  id: 'tradeOrder',
  method: 'GET',
  path: '/trade/orders/{id}',
  bothForms: true,
  access: 'trade',
  tag: 'trading',
  summary: "An order's state and its fill.",
  description: 'Orders of the account that the key belongs to; of a key of the operator, those of this key.',
  params: Type.Object(
    { id: Type.String({ minLength: 1, maxLength: 64, examples: [exampleOrderId], description: 'Id of the order.' }) },
    closed,
  ),
  answer: OrderObject,
  errors: ['NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
});

export const orderPageEndpoint = defineEndpoint({
  id: 'tradeOrders',
  method: 'GET',
  path: '/trade/orders',
  bothForms: true,
  access: 'trade',
  tag: 'trading',
  summary: 'A page of orders, newest first.',
  description: 'Orders of the account that the key belongs to; of a key of the operator, those of this key.',
  query: Type.Object(
    {
      before: Type.Optional(
        Type.String({
          pattern: orderIdPattern,
          examples: [exampleOrderId],
          description: 'Id of an order: only older ones. As `next` of the answer before.',
        }),
      ),
      status: Type.Optional(Type.Enum([...orderStates], { description: 'Only orders in this state.' })),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: orderPageLimits.max,
          description: `Most orders; ${orderPageLimits.default} where it is not given.`,
        }),
      ),
    },
    closed,
  ),
  answer: Type.Object(
    {
      orders: Type.Array(OrderObject),
      next: OrNull(Type.String(), '`before` for the orders behind these; null where there are no older ones.'),
    },
    { ...closed, title: 'tradeOrders', examples: [{ orders: [orderExample], next: null }] },
  ),
  errors: ['UPSTREAM_UNAVAILABLE'],
});
