import { Type, type Static } from 'typebox';
import { errorTable, type ErrorCode } from '../errors.ts';
import { commitments, Venue } from '../values/event-parts.ts';
import {
  Address,
  BlockHeight,
  BlockTime,
  Closed,
  Decimals,
  EventId,
  FreeText,
  Group,
  Message,
  Nullable,
  OrderId,
  Raw,
  Signature,
  SignedRaw,
  Slot,
  Ui,
  UnixMs,
  UnixUs,
} from '../values/values.ts';

/**
 * The states of an order. It only moves forward: `submitted` → `processed` → `confirmed` → `finalized`. From each state before `finalized` it
 * can move to `failed` (it landed and failed). A dry run is `simulated`; `accepted` is for orders that wait before they are sent. From `submitted` it moves to `unknown` if no
 * node answers, and from there to the state that is found out. It moves to `expired` once its message can no longer land.
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

export const OrderStatus = Type.Enum([...orderStates], {
  description:
    '`accepted`: stored, not sent yet (no order is, so far). `simulated`: a dry run that passed; nothing was stored or sent. `submitted`: sent to the chain. `processed`, `confirmed`, `finalized`: in a block with this commitment. `failed`: it landed and failed. `expired`: it can no longer land. `unknown`: no node reports its state yet; sluice keeps asking. `finalized`, `failed` and `expired` are final.',
});

const OrderFill = Group('What the transaction did, read from the landed transaction.', {
  pool: Venue,
  baseAmount: Raw('Tokens traded.'),
  baseDecimals: Decimals(),
  baseUiAmount: Ui('baseAmount in whole tokens.'),
  quoteAmount: Raw('Quote coins through the pool, without fees.'),
  quoteDecimals: Decimals(),
  quoteUiAmount: Ui('quoteAmount in whole quote coins.'),
  traderQuoteAmount: Raw('Quote coins that the wallet paid (buy) or received (sell), with all fees of the venue.'),
  traderQuoteUiAmount: Ui('traderQuoteAmount in whole quote coins.'),
  venueFees: Raw('Fees that the venue charged in the quote coin. Fees in the token are part of baseAmount.'),
  venueFeesUi: Ui('venueFees in whole quote coins.'),
  price: Ui('Quote coins for one token, with all fees of the venue.'),
  networkFee: Raw('Base fee and priority fee, lamports.'),
  otherLamports: SignedRaw(
    'Everything else that the wallet paid, lamports: rent of created accounts, less that of closed ones, and tips. Negative if it received more than it paid. Wrapped SOL of the wallet counts as its SOL.',
  ),
  slot: Slot('Slot of the block.'),
  blockTime: BlockTime(),
});

export const OrderFault = Closed({
  code: Type.Enum(Object.keys(errorTable) as ErrorCode[], { description: 'From the table of errors.' }),
  message: FreeText('For people.'),
  details: Type.Record(Type.String(), Type.Unknown(), { description: 'Further data; the table of errors shows the fields of each code.' }),
});

export const BundleId = () =>
  Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      description:
        'Present if the order is part of a bundle: the same for all of its orders. At the block engine, it is the id of the bundle.',
    }),
  );

/** The fields of an order in answers and events. */
export const orderFields = {
  orderId: OrderId('Id of the order.'),
  version: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Counts the changes of the order. The report with the higher version is the newer one.',
  }),
  kind: Type.Enum([...orderKinds], {
    description:
      '`lightning`: signed by a custodial wallet. `sent`: signed by the caller (`/transaction/send`). `paper`: filled against live state by the same quotes, and never sent.',
  }),
  status: OrderStatus,
  side: Nullable(
    Type.Enum(['buy', 'sell']),
    "Null if the caller's transaction is not a known trade. This also holds for the next five fields.",
  ),
  mint: Nullable(Address('Mint of the token.')),
  quoteMint: Nullable(Address('Mint of the quote coin; wrapped SOL for SOL.')),
  pool: Nullable(Venue, 'Venue that the order was built for.'),
  poolAddress: Nullable(Address('The bonding curve or pool.')),
  publicKey: Nullable(Address('Wallet that signs and pays.')),
  signature: Nullable(Signature(), 'Signature of its transaction; null before it was signed.'),
  lastValidBlockHeight: Nullable(BlockHeight(), 'Block height up to which it can land; null before it was signed.'),
  fill: Nullable(OrderFill, 'Null until the landed transaction was read.'),
  bundleId: BundleId(),
  error: Nullable(OrderFault, 'Why the order failed, or expired with its simulated chain; null otherwise.'),
  createdAtMs: UnixMs('When it was accepted, Unix milliseconds.'),
  updatedAtMs: UnixMs('When it last changed, Unix milliseconds.'),
} as const;

export const OrderEvent = Message('order', 'An order of this API key changed.', {
  type: Type.Literal('order'),
  id: EventId('`<order id>:<version>`: unique.'),
  ...orderFields,
  slot: Nullable(Slot(), 'Slot of its block; null if no block is known.'),
  blockTime: BlockTime(),
  commitment: Nullable(Type.Enum([...commitments]), 'Commitment at which its block was seen; null if no block is known.'),
  ts: Closed({
    received: UnixUs('When the change was stored, Unix microseconds.'),
    published: UnixUs('When it was published, Unix microseconds.'),
  }),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true on the simulated chain.' })),
});
export type OrderEvent = Static<typeof OrderEvent>;
