import { Type } from 'typebox';
import { errorTable, type ErrorCode } from '../errors/codes.ts';
import { Address, Nullable, Raw, Ui, Venue } from './event-parts.ts';

/**
 * The life of an order. It moves forward only: `accepted` → `simulated` → `submitted` → `processed` → `confirmed` → `finalized`;
 * out of any of the first states to `failed` (nothing can land, or it landed and failed), from `submitted` to `unknown` where nobody
 * answers and back to what is found out, and to `expired` once the message can no longer land.
 */
export const orderStates = [
  'accepted',
  'simulated',
  'submitted',
  'processed',
  'confirmed',
  'finalized',
  'failed',
  'expired',
  'unknown',
] as const;
export type OrderState = (typeof orderStates)[number];

/** `lightning`: signed by a custodial wallet. `sent`: signed by the caller. `paper`: filled against live state, never sent. */
export const orderKinds = ['lightning', 'sent', 'paper'] as const;
export type OrderKind = (typeof orderKinds)[number];

const closed = { additionalProperties: false } as const;
const Signed = (description: string) =>
  Type.String({
    pattern: '^-?[0-9]+$',
    examples: ['2039280'],
    description: `${description} Raw integer in its smallest unit, as a decimal string.`,
  });

/** What ids of orders look like. */
export const orderIdPattern = '^ord_[0-9A-HJKMNP-TV-Z]{26}$';

export const OrderStatus = Type.Enum([...orderStates], {
  description:
    '`accepted`: stored, not sent yet. `simulated`: the signed bytes passed a simulation. `submitted`: on its way. `processed`, `confirmed`, `finalized`: in a block, by commitment. `failed`: refused before it was sent, or it landed and failed. `expired`: it can land no more. `unknown`: nobody answers who could tell, and it is being found out. `finalized`, `failed` and `expired` are ends.',
});

const OrderFill = Type.Object(
  {
    pool: Venue,
    baseAmount: Raw('Tokens traded.'),
    baseDecimals: Type.Integer(),
    baseUiAmount: Ui('baseAmount in whole tokens.'),
    quoteAmount: Raw('Quote coins through the pool, fees apart.'),
    quoteDecimals: Type.Integer(),
    quoteUiAmount: Ui('quoteAmount in whole quote coins.'),
    traderQuoteAmount: Raw('Quote coins that the wallet paid (buy) or received (sell), all fees of the venue inside.'),
    traderQuoteUiAmount: Ui('traderQuoteAmount in whole quote coins.'),
    venueFees: Raw('Fees of the venue, in the quote coin.'),
    venueFeesUi: Ui('venueFees in whole quote coins.'),
    price: Ui('Quote coins for one token, all fees of the venue inside.'),
    networkFee: Raw('Base fee and priority fee, lamports.'),
    otherLamports: Signed(
      'Rent of accounts that were made, less that of accounts that were closed, and tips, lamports; below 0 where more came back.',
    ),
    slot: Type.Integer({ minimum: 0, description: 'Slot of the block.' }),
    blockTime: Nullable(Type.Integer(), 'Unix seconds by the chain clock, null where not known.'),
  },
  { ...closed, description: 'What the landed transaction did, read from the transaction itself.' },
);

export const OrderFault = Type.Object(
  {
    code: Type.Enum(Object.keys(errorTable) as ErrorCode[], { description: 'From the table of errors.' }),
    message: Type.String({ description: 'For people.' }),
    details: Type.Record(Type.String(), Type.Unknown(), { description: 'What the code says more, by the table of errors.' }),
  },
  closed,
);

/** The fields of an order in answers and events. */
export const orderFields = {
  orderId: Type.String({ description: 'Id of the order.' }),
  version: Type.Integer({
    minimum: 1,
    description: 'Counts the changes of the order: of two tellings the one with the higher version is the newer.',
  }),
  kind: Type.Enum([...orderKinds], {
    description:
      '`lightning`: signed by a custodial wallet. `sent`: signed by the caller (`/transaction/send`). `paper`: filled against live state by the same quotes, and never sent.',
  }),
  status: OrderStatus,
  side: Nullable(Type.Enum(['buy', 'sell']), 'Null where a transaction of the caller is no trade that is known here; so the five below.'),
  mint: Nullable(Address('Mint of the token.')),
  quoteMint: Nullable(Address('Mint of the quote coin; wrapped SOL for SOL.')),
  pool: Nullable(Venue, 'Venue that the order was built for.'),
  poolAddress: Nullable(Address('The bonding curve or pool.')),
  publicKey: Nullable(Address('Wallet that signs and pays.')),
  signature: Nullable(Type.String(), 'Signature of its transaction; null before it was signed.'),
  lastValidBlockHeight: Nullable(Type.Integer({ minimum: 0 }), 'Block height up to which it can land; null before it was signed.'),
  fill: Nullable(OrderFill, 'Null until the landed transaction was read.'),
  error: Nullable(OrderFault, 'Why it failed; null otherwise.'),
  createdAtMs: Type.Integer({ description: 'When it was accepted, Unix milliseconds.' }),
  updatedAtMs: Type.Integer({ description: 'When it last changed, Unix milliseconds.' }),
} as const;
