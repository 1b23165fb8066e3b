import { Type, type Static } from 'typebox';
import { pumpPortalPools, pumpPortalVenue, tradedVenueNames } from '../../venues.ts';
import { OrderStatus } from '../../orders/orders.ts';
import { defineEndpoint, expiryHeader, keylessQuota } from '../endpoint.ts';
import { slippageLimits } from './quote.ts';
import { refusedNames } from '../fields.ts';
import {
  addressPattern,
  closed,
  decimalPattern,
  type Described,
  exampleMint,
  exampleWallet,
  FreeText,
  Nullable,
  OrderId,
  percentPattern,
  Signature,
  Titled,
  upToHundredPattern,
  upToTenthPattern,
} from '../../values/values.ts';

/**
 * Orders in PumpPortal's format. Flags and numbers may be strings, as in forms. Required fields, flags and numbers are checked after the schema, so that
 * an unsupported action is reported first, and all wrong fields together.
 */

/** `maxSol`: SOL that a buy may spend. `maxSlippage`: percent. `maxPriorityFee`: SOL. They are wider than those of `/trade/*`, like PumpPortal's. */
export const pumpPortalLimits = { maxSol: 100, maxSlippage: 100, maxPriorityFee: 0.1, maxBatch: 5 } as const;

/** The fields that are true or false. */
export const pumpPortalFlags = ['denominatedInSol', 'skipPreflight', 'isMayhemMode', 'isCashback', 'jitoOnly'] as const;

/** Texts in any case, as programs in several languages write them. */
const [trueText, falseText] = ['([Tt][Rr][Uu][Ee]|1)', '([Ff][Aa][Ll][Ss][Ee]|0)'];
const Flag = (description: string) =>
  Type.Optional(
    Type.Union(
      [
        Type.Boolean(),
        Type.Integer({ minimum: 0, maximum: 1 }),
        Type.String({ maxLength: 48, documented: { pattern: `^(${trueText}|${falseText})$` } }),
      ],
      { description },
    ),
  );
const isFlag = (value: boolean) => ({
  anyOf: [{ enum: [value, Number(value)] }, { type: 'string', pattern: `^${value ? trueText : falseText}$` }],
});
/** `ofNumber` and `ofText` document the form as a number and the form as a text. */
const Decimal = (description: string, ofNumber: Described['documented'] = {}, ofText: Described['documented'] = {}) =>
  Type.Optional(
    Type.Union([Type.Number({ documented: ofNumber }), Type.String({ minLength: 1, maxLength: 48, documented: ofText })], { description }),
  );
const Text = (maxLength: number, description: string, documented: Described['documented'] = {}) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, documented, description }));

const order = {
  action: Type.String({
    minLength: 1,
    maxLength: 32,
    documented: { enum: ['buy', 'sell'] },
    description: '`buy` or `sell`. Others, for example `create`, are refused.',
  }),
  mint: Text(128, 'Mint of the token, base58. Required.', { pattern: addressPattern, maxLength: 44 }),
  amount: Decimal(
    `The amount, in the unit given by \`denominatedInSol\`. For a sell, also a part of the wallet's balance, for example "100%". Required. A buy in SOL spends at most ${pumpPortalLimits.maxSol} SOL. Decimals beyond those of the coin are ignored.`,
    { exclusiveMinimum: 0 },
    { anyOf: [{ pattern: decimalPattern }, { pattern: percentPattern }] },
  ),
  denominatedInSol: Flag(
    '`true`: `amount` is SOL: what a buy spends with all fees, or what a sell gives after all fees. `false`: `amount` is the exact number of tokens. Required unless `amount` is a percentage.',
  ),
  slippage: Decimal(
    `Percent that the price may move against the trader, 0 to ${pumpPortalLimits.maxSlippage}; default ${slippageLimits.default}.`,
    { minimum: 0, maximum: pumpPortalLimits.maxSlippage },
    { pattern: upToHundredPattern },
  ),
  priorityFee: Decimal(
    `Priority fee of the whole transaction in SOL, 0 to ${pumpPortalLimits.maxPriorityFee}. Default: estimated from the recent fees of the accounts that the transaction writes, with a cap.`,
    { minimum: 0, maximum: pumpPortalLimits.maxPriorityFee },
    { pattern: upToTenthPattern },
  ),
  pool: Text(32, `A venue, or \`auto\`. Default: \`${pumpPortalVenue}\`. Venues that are not supported for trading are refused.`, {
    enum: ['auto', ...tradedVenueNames, ...Object.keys(pumpPortalPools)],
  }),
  skipPreflight: Flag('`true`: the order is checked against the known state instead of simulated.'),
  tokenMetadata: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String({ maxLength: 2_000 }), Type.Boolean()]), {
      propertyNames: { not: { enum: [...refusedNames] } },
      description: 'For `create`, which is not supported.',
    }),
  ),
  isMayhemMode: Flag('For `create`, which is not supported.'),
  isCashback: Flag('For `create`, which is not supported.'),
} as const;

const example = {
  publicKey: exampleWallet,
  action: 'buy',
  mint: exampleMint,
  amount: 0.1,
  denominatedInSol: 'true',
  slippage: 10,
  priorityFee: 0.00005,
  pool: 'auto',
};

const jitoOnlyMeaning =
  '`true` at `/api/trade`: the order is sent to the block engine (`JITO_URL`) alone. Without one it is sent as usual, and `warnings` says so. It has no effect at `/api/trade-local`.';
const solText = { type: 'string', pattern: upToHundredPattern };
/** Which fields go together. */
const forms = [
  {
    properties: {
      action: { const: 'buy' },
      denominatedInSol: isFlag(true),
      amount: { anyOf: [{ type: 'number', exclusiveMinimum: 0, maximum: pumpPortalLimits.maxSol }, solText] },
    },
    required: ['denominatedInSol'],
  },
  {
    properties: {
      action: { const: 'buy' },
      denominatedInSol: isFlag(false),
      amount: {
        anyOf: [
          { type: 'number', exclusiveMinimum: 0 },
          { type: 'string', pattern: decimalPattern },
        ],
      },
    },
    required: ['denominatedInSol'],
  },
  { properties: { action: { const: 'sell' } }, required: ['denominatedInSol'] },
  { properties: { action: { const: 'sell' }, amount: { type: 'string', pattern: percentPattern } } },
];

const publicKey = Text(
  64,
  'Wallet that signs and pays. At `/api/trade`: a custodial wallet; without it, the default wallet of the key: the one set with `sluice wallets default`, otherwise the oldest of its account. At `/api/trade-local`: required.',
  { pattern: addressPattern, maxLength: 44 },
);
const bodyOf = (title: string, required: readonly string[]) =>
  Type.Object(
    { publicKey, ...order, jitoOnly: Flag(jitoOnlyMeaning) },
    { ...closed, title, documented: { required: ['action', 'mint', 'amount', ...required], anyOf: forms }, examples: [example] },
  );
const PumpPortalBody = bodyOf('pumpPortal order', []);
const PumpPortalLocalBody = bodyOf('pumpPortal local order', ['publicKey']);
export type PumpPortalBody = Static<typeof PumpPortalBody>;

export const PumpPortalAnswer = Titled('pumpPortal answer', {
  signature: Nullable(Signature(), 'Signature of the transaction; null in paper trading.'),
  errors: Type.Array(FreeText(), {
    maxItems: 1,
    description: 'Empty, except if a repeated `Idempotency-Key` returns an order that has failed since.',
  }),
  warnings: Type.Optional(
    Type.Array(Type.String({ maxLength: 256 }), {
      maxItems: 1,
      description: 'What was not carried out as the body says, and why. Not in PumpPortal.',
    }),
  ),
  orderId: OrderId('Id for `GET /trade/orders/{id}`. Not in PumpPortal.'),
  status: OrderStatus,
});
export type PumpPortalAnswer = Static<typeof PumpPortalAnswer>;

const refusals = ['INVALID_MINT', 'INSUFFICIENT_BALANCE', 'SLIPPAGE_EXCEEDED', 'SIMULATION_FAILED', 'NOT_FOUND'] as const;
const differences =
  'For clients of PumpPortal, which need to change only the host name. Errors have the common form, and also the list of strings `errors`.';

export const pumpPortalTradeEndpoint = defineEndpoint({
  id: 'pumpPortalTrade',
  method: 'POST',
  path: '/api/trade',
  withApiPrefix: false,
  access: 'trade',
  idempotent: true,
  tag: 'PumpPortal',
  summary: "Buys or sells with a custodial wallet; the body has PumpPortal's format.",
  description: `It places the same order as \`/trade/buy\` and \`/trade/sell\`. ${differences} A list of orders is refused.`,
  body: PumpPortalBody,
  form: true,
  dialect: true,
  answer: PumpPortalAnswer,
  errors: [...refusals, 'IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_MISMATCH', 'UPSTREAM_UNAVAILABLE', 'TRADING_HALTED'],
});

export const pumpPortalLocalEndpoint = defineEndpoint({
  id: 'pumpPortalTradeLocal',
  method: 'POST',
  path: '/api/trade-local',
  withApiPrefix: false,
  access: 'read',
  keyless: true,
  tag: 'PumpPortal',
  summary: "The unsigned transaction of a buy or sell as raw bytes; the body has PumpPortal's format.",
  description: `Returns the same transaction as \`/transaction/buy\` and \`/transaction/sell\`. Nothing is stored or sent. \`${expiryHeader}\` says in how many seconds it expires: about 30. ${differences} Without a key it works while \`PUMPPORTAL_KEYLESS\` is \`on\`, with at most ${keylessQuota.perMinute} requests a minute from one address. For a list, the answer is a JSON list of transactions in base58, in the same order, for a Jito bundle. They are quoted against the current state and not simulated, because each may depend on the previous one. The \`priorityFee\` of the first is required and is the tip of the bundle; the others are ignored. The first order that has room for the tip pays it.`,
  body: PumpPortalLocalBody,
  form: true,
  batch: {
    max: pumpPortalLimits.maxBatch,
    firstRequires: ['priorityFee'],
    answer: Type.Array(Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{1,1683}$', description: 'An unsigned transaction, base58.' }), {
      minItems: 1,
      maxItems: pumpPortalLimits.maxBatch,
      title: 'pumpPortal bundle',
      examples: [['AbLFk5NqE2', 'AcT7vQm4Rd']],
    }),
  },
  dialect: true,
  answer: null,
  contentType: 'application/octet-stream',
  answerHeaders: [expiryHeader],
  errors: [...refusals, 'UPSTREAM_UNAVAILABLE'],
});

/** What a client of PumpPortal can do instead, by the path that refuses its request: no such path here, or another method. */
export const pumpPortalAdvice: ReadonlyMap<string, string> = new Map([
  ['/api/data', 'This path is a WebSocket. Send an upgrade request.'],
  [pumpPortalTradeEndpoint.path, `Send the order with POST to ${pumpPortalTradeEndpoint.path}, as JSON or as a form.`],
  [pumpPortalLocalEndpoint.path, `Send the order with POST to ${pumpPortalLocalEndpoint.path}, as JSON or as a form.`],
  [
    '/api/create-wallet',
    'Wallets and API keys are not created here. Use the pages Wallets and API Keys of the dashboard, or `sluice wallets create` and `sluice keys create` at the server.',
  ],
]);
