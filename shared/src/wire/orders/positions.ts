import { Type, type Static } from 'typebox';
import { Address, Closed, Count, Decimals, EventId, Message, Nullable, Raw, Ui, UnixMs, UnixUs } from '../values/values.ts';

const Sol = (description: string) => Type.Number({ description, 'x-unit': 'SOL' });
const unpriced = 'Null if no current price is known.';

/** A position in answers and events. */
export const positionFields = {
  mint: Address('Mint of the token.'),
  amount: Raw('What the wallet holds, raw: bought tokens and unexplained ones.'),
  decimals: Nullable(Decimals(), 'Null if it is unknown; the next field is then null, too.'),
  uiAmount: Nullable(Ui('amount in whole tokens.')),
  averageCostSol: Nullable(
    Ui('What one bought token cost on average, with the fees of the venue, SOL. Tokens that arrived without a trade do not change it.'),
    'Null if the wallet holds no bought tokens.',
  ),
  costSol: Ui('What the bought tokens that it still holds cost, SOL.'),
  valueSol: Nullable(Ui('amount at the current price, SOL.'), unpriced),
  realizedSol: Sol(
    'What its sales returned, less what the sold tokens cost, SOL. A sale takes bought tokens first. Tokens that arrived without a trade cost 0.',
  ),
  unrealizedSol: Nullable(Sol('valueSol less costSol.'), unpriced),
  profitPct: Nullable(
    Type.Number({ description: 'How far the current price is above (or below) averageCostSol, percent.' }),
    'Null if `averageCostSol` or the price is.',
  ),
  feesSol: Ui('Network fees, priority fees and tips of the orders that were placed here, SOL. They are in no other field.'),
  buys: Count('Buys.'),
  sells: Count('Sells.'),
  openedAt: Nullable(UnixMs('When `amount` last rose from 0, Unix milliseconds.'), 'Null before its first token.'),
  unexplained: Raw('The part of `amount` that arrived without a trade of known value, raw. It cost 0.'),
} as const;

export const PositionEvent = Message('position change', 'A position of a wallet that this API key follows changed.', {
  type: Type.Literal('position'),
  id: EventId('Unique.'),
  publicKey: Address('The wallet.'),
  ...positionFields,
  ts: Closed({
    received: UnixUs('When the change was noticed, Unix microseconds.'),
    published: UnixUs('When it was published, Unix microseconds.'),
  }),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true on the simulated chain.' })),
});
export type PositionEvent = Static<typeof PositionEvent>;
