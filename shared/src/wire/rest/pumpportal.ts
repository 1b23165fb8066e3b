import { Type, type Static } from 'typebox';
import { OrderStatus } from '../orders.ts';
import { defineEndpoint } from './endpoint.ts';
import { closed, OrNull } from './fields.ts';
import { slippageLimits } from './quote.ts';

/**
 * Orders as PumpPortal's clients send them. Flags and numbers may be texts, as they are in forms. Which fields an action needs is read
 * behind the schema: the first fault reported is that an action is not supported, and not that its fields are missing.
 */

/** SOL that a buy may spend; percent; SOL. PumpPortal's own are wider than those of `/trade/*`. */
export const pumpPortalLimits = { maxSol: 100, maxSlippage: 100, maxPriorityFee: 0.1, maxBatch: 5 } as const;

const exampleMint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

const Flag = (description: string) => Type.Optional(Type.Union([Type.Boolean(), Type.Enum(['true', 'false'])], { description }));
const Decimal = (description: string) =>
  Type.Optional(Type.Union([Type.Number(), Type.String({ minLength: 1, maxLength: 48 })], { description }));
const Text = (maxLength: number, description: string) => Type.Optional(Type.String({ minLength: 1, maxLength, description }));

const order = {
  action: Type.String({ minLength: 1, maxLength: 32, description: '`buy` or `sell`. Others, `create` say, are refused by name.' }),
  mint: Text(128, 'Mint of the token, base58. Must be there.'),
  amount: Decimal(
    `How much, by \`denominatedInSol\`; of a sell also a part of what the wallet holds, as "100%". Must be there. A buy spends at most ${pumpPortalLimits.maxSol} SOL. Decimals beyond those of the coin are cut off.`,
  ),
  denominatedInSol: Flag(
    '`true`: `amount` is SOL, of a buy to spend with all fees inside, of a sell to receive with all fees off. `false`: it is tokens, exactly. Must be there unless `amount` is a percentage.',
  ),
  slippage: Decimal(
    `Percent that the price may move against the trader, 0 to ${pumpPortalLimits.maxSlippage}; ${slippageLimits.default} where it is not given.`,
  ),
  priorityFee: Decimal(
    `Priority fee of the whole transaction in SOL, 0 to ${pumpPortalLimits.maxPriorityFee}. Left out: by the recent fees of the accounts that it writes, with a cap.`,
  ),
  pool: Text(32, '`pump`, which it is where it is not given, `pump-amm` or `auto`. Venues that are not traded yet are refused by name.'),
  skipPreflight: Flag('`true`: checks on the state at hand take the place of the simulation.'),
  jitoOnly: Flag('`true` is refused at `/api/trade`: orders go to all nodes. Without meaning where the caller sends.'),
  tokenMetadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Of `create`, which is not done here.' })),
  isMayhemMode: Flag('Of `create`, which is not done here.'),
  isCashback: Flag('Of `create`, which is not done here.'),
} as const;

const example = {
  action: 'buy',
  mint: exampleMint,
  amount: 0.1,
  denominatedInSol: 'true',
  slippage: 10,
  priorityFee: 0.00005,
  pool: 'auto',
};

const PumpPortalBody = Type.Object(
  {
    publicKey: Text(
      64,
      'Wallet that signs and pays. At `/api/trade` a custodial wallet, to be named unless the account of the key has exactly one. At `/api/trade-local` it must be there.',
    ),
    ...order,
  },
  { ...closed, title: 'pumpPortal order', examples: [example] },
);
export type PumpPortalBody = Static<typeof PumpPortalBody>;

export const PumpPortalAnswer = Type.Object(
  {
    signature: OrNull(Type.String(), 'Signature of the transaction; null where the server trades on paper.'),
    errors: Type.Array(Type.String(), {
      description: 'Empty, unless an order is answered again (`Idempotency-Key`) that has failed meanwhile.',
    }),
    orderId: Type.String({ description: 'Leads to `GET /trade/orders/{id}`. Beyond PumpPortal.' }),
    status: OrderStatus,
  },
  { ...closed, title: 'pumpPortal answer' },
);
export type PumpPortalAnswer = Static<typeof PumpPortalAnswer>;

const refusals = ['INVALID_MINT', 'INSUFFICIENT_BALANCE', 'SLIPPAGE_EXCEEDED', 'SIMULATION_FAILED', 'NOT_FOUND'] as const;
const differences =
  'For clients of PumpPortal, unchanged but for the host. Errors are those of all endpoints, with their texts in `errors` beside them.';

export const pumpPortalTradeEndpoint = defineEndpoint({
  id: 'pumpPortalTrade',
  method: 'POST',
  path: '/api/trade',
  bothForms: false,
  access: 'trade',
  idempotent: true,
  tag: 'PumpPortal',
  summary: "Buys or sells with a custodial wallet, by PumpPortal's body.",
  description: `The same order as at \`/trade/buy\` and \`/trade/sell\`, with the same life. ${differences} A list of orders is refused.`,
  body: PumpPortalBody,
  form: true,
  errorList: true,
  answer: PumpPortalAnswer,
  errors: [...refusals, 'IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_MISMATCH', 'UPSTREAM_UNAVAILABLE', 'TRADING_HALTED'],
});

export const pumpPortalLocalEndpoint = defineEndpoint({
  id: 'pumpPortalTradeLocal',
  method: 'POST',
  path: '/api/trade-local',
  bothForms: false,
  access: 'read',
  tag: 'PumpPortal',
  summary: "The unsigned transaction of a buy or sell, by PumpPortal's body, as raw bytes.",
  description: `The same transaction as at \`/transaction/buy\` and \`/transaction/sell\`; nothing is stored or sent. ${differences} A key is needed, in the header or as \`?api-key=\`, where PumpPortal asks for none. Of a list the answer is a JSON list of transactions in base58, in the same order, for a bundle of Jito's: they are quoted on the state of now and not simulated, for each may need what the one before it does; the \`priorityFee\` of the first, which must be there, is the tip of the bundle, and those of the others do not count.`,
  body: PumpPortalBody,
  form: true,
  batch: {
    max: pumpPortalLimits.maxBatch,
    answer: Type.Array(Type.String({ description: 'An unsigned transaction, base58.' }), {
      title: 'pumpPortal bundle',
      examples: [['AbLFk5…', 'AcT7vQ…']],
    }),
  },
  errorList: true,
  answer: null,
  contentType: 'application/octet-stream',
  errors: [...refusals, 'UPSTREAM_UNAVAILABLE'],
});
