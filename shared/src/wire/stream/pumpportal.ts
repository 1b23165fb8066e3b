import { Type, type Static } from 'typebox';
import { streamLimits } from './limits.ts';
import { Venue } from '../values/event-parts.ts';
import { Address, addressPattern, FreeText, Nullable, Signature, Slot, Titled } from '../values/values.ts';

/** PumpPortal's protocol on the stream (in names: dialect): commands with `method`, answers with `message`, and events as plain objects. */
export const dialectMethods = [
  'subscribeNewToken',
  'subscribeTokenTrade',
  'subscribeAccountTrade',
  'subscribeMigration',
  'subscribeRaydiumLiquidity',
  'unsubscribeNewToken',
  'unsubscribeTokenTrade',
  'unsubscribeAccountTrade',
  'unsubscribeMigration',
  'unsubscribeRaydiumLiquidity',
] as const;
export type DialectMethod = (typeof dialectMethods)[number];

/** Unknown fields are accepted, because its clients send some. */
export const DialectCommand = Type.Object(
  {
    method: Type.Enum([...dialectMethods]),
    keys: Type.Optional(
      Type.Array(Type.String({ documented: { pattern: addressPattern } }), {
        documented: { maxItems: streamLimits.keysPerCommand },
        description:
          'Mints or wallets, for the methods of trades; mints, for the methods of liquidity. `subscribeRaydiumLiquidity` without keys follows all mints. An `unsubscribe…` without keys, or with an empty list, ends all of its kind.',
      }),
    ),
  },
  { title: 'method', description: "A command of PumpPortal's protocol." },
);
export type DialectCommand = Static<typeof DialectCommand>;

/** Acknowledgements, errors and notices. They never have `mint` or `txType`, by which clients recognise events. */
const DialectMessage = Titled('message', { message: FreeText() });
export type DialectMessage = Static<typeof DialectMessage>;

export const dialectAcks: Readonly<Record<DialectMethod, string>> = {
  subscribeNewToken: 'Successfully subscribed to token creation events.',
  subscribeMigration: "Subscribed to 'migration' events.",
  subscribeRaydiumLiquidity: 'Successfully subscribed to liquidity events.',
  subscribeTokenTrade: 'Successfully subscribed to keys.',
  subscribeAccountTrade: 'Successfully subscribed to keys.',
  unsubscribeNewToken: 'Successfully unsubscribed from token creation events.',
  unsubscribeMigration: "Unsubscribed from 'migration' events.",
  unsubscribeRaydiumLiquidity: 'Successfully unsubscribed from liquidity events.',
  unsubscribeTokenTrade: 'Successfully unsubscribed from keys.',
  unsubscribeAccountTrade: 'Successfully unsubscribed from keys.',
};

const Amount = Type.Number({ minimum: 0, description: 'Whole coins, float64.' });
const Optional = <T extends typeof Amount>(schema: T) => Type.Optional(schema);
const tail = {
  quoteMint: Type.Optional(Address('Present only if the quote coin is not SOL.')),
  slot: Slot('Not in PumpPortal.'),
  blockUnixTime: Type.Optional(
    Type.Integer({
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Not in PumpPortal: block time in Unix seconds, if known.',
    }),
  ),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true for events of the simulated chain.' })),
} as const;

export const DialectCreate = Titled('create', {
  signature: Signature(),
  mint: Address(),
  traderPublicKey: Address(),
  txType: Type.Literal('create'),
  initialBuy: Type.Number({ minimum: 0, description: 'Tokens the creator bought.' }),
  solAmount: Amount,
  bondingCurveKey: Address(),
  vTokensInBondingCurve: Amount,
  vSolInBondingCurve: Optional(Amount),
  marketCapSol: Optional(Amount),
  name: FreeText(),
  symbol: FreeText(),
  uri: FreeText(),
  is_mayhem_mode: Type.Boolean(),
  pool: Venue,
  ...tail,
});
export const DialectTrade = Titled('buy, sell', {
  signature: Signature(),
  mint: Address(),
  traderPublicKey: Address(),
  txType: Type.Enum(['buy', 'sell']),
  tokenAmount: Amount,
  solAmount: Optional(Amount),
  newTokenBalance: Nullable(Amount, 'Tokens of the trader after the transaction; null if the source does not show it.'),
  bondingCurveKey: Type.Optional(Address()),
  vTokensInBondingCurve: Optional(Amount),
  vSolInBondingCurve: Optional(Amount),
  tokensInPool: Optional(Amount),
  solInPool: Optional(Amount),
  marketCapSol: Optional(Amount),
  pool: Venue,
  ...tail,
});
export const DialectMigrate = Titled('migrate', { signature: Signature(), mint: Address(), txType: Type.Literal('migrate'), pool: Venue });
export const DialectLiquidity = Titled('addLiquidity, removeLiquidity', {
  signature: Signature(),
  mint: Address(),
  traderPublicKey: Address('Not in PumpPortal: who opened the pool, or provided the liquidity.'),
  txType: Type.Enum(['addLiquidity', 'removeLiquidity'], {
    description: '`addLiquidity` also for a new pool. PumpPortal has no `removeLiquidity`.',
  }),
  tokenAmount: Optional(Amount),
  solAmount: Optional(Amount),
  tokensInPool: Optional(Amount),
  solInPool: Optional(Amount),
  marketId: Address('Address of the pool.'),
  marketCapSol: Optional(Amount),
  price: Type.Optional(Type.Number({ minimum: 0, description: 'SOL for one token.' })),
  pool: Venue,
  ...tail,
});
export const dialectSchemas = {
  message: DialectMessage,
  create: DialectCreate,
  trade: DialectTrade,
  migrate: DialectMigrate,
  liquidity: DialectLiquidity,
} as const;

export type DialectCreate = Static<typeof DialectCreate>;
export type DialectTrade = Static<typeof DialectTrade>;
export type DialectLiquidity = Static<typeof DialectLiquidity>;
export type DialectMigrate = Static<typeof DialectMigrate>;
