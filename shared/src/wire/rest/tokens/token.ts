import { Type, type Static } from 'typebox';
import { Traits } from '../../values/event-parts.ts';
import { metadataFields, QuoteRate, Reserves } from '../../events/events.ts';
import { defineEndpoint } from '../endpoint.ts';
import { Limit, priceNullMeaning, priceNullReasons, SolUsd, tokenRead, Venue } from '../fields.ts';
import {
  Address,
  Bps,
  Closed,
  closed,
  Count,
  Decimals,
  Group,
  Ms,
  Nullable,
  Raw,
  RequestedMint,
  Slot,
  Titled,
  TokenName,
  TokenUri,
  Ui,
} from '../../values/values.ts';

/** The mint in the path. A text that is not a mint is refused with INVALID_MINT. */
export const mintParams = Closed({ mint: RequestedMint() });

const TransferFee = Closed({
  bps: Bps('Withheld from every transfer, basis points.'),
  maxFee: Raw('Maximum amount that one transfer pays.'),
  nextBps: Nullable(Bps(), 'Rate that is already set for a later epoch; null if there is none.'),
  nextMaxFee: Nullable(Raw('Maximum amount that one transfer then pays.'), 'Null if `nextBps` is.'),
  nextEpoch: Nullable(Count(), 'The first epoch with the new rate; null if `nextBps` is.'),
  configAuthority: Nullable(Address('May change the fee.'), 'Null: no one may.'),
  withdrawAuthority: Nullable(Address('May withdraw the withheld fees.'), 'Null: no one may.'),
});

const Extensions = Group('Extensions of the mint that affect holders. All null or false for SPL Token mints, which have no extensions.', {
  transferFee: Nullable(TransferFee, 'Fee that is withheld from transfers; null if the mint has no such extension.'),
  transferHook: Nullable(
    Closed({
      programId: Nullable(Address('Program that every transfer calls. It can refuse the transfer.'), 'Null: currently none.'),
      authority: Nullable(Address('May set the program.'), 'Null: no one may.'),
    }),
    'Null if the mint has no such extension.',
  ),
  permanentDelegate: Nullable(Address('May move or burn the tokens of every holder.'), 'Null: no one may.'),
  defaultAccountState: Nullable(
    Type.Enum(['initialized', 'frozen'], { description: 'State of new token accounts. A `frozen` account can neither receive nor send.' }),
    'Null if the mint has no such extension.',
  ),
  nonTransferable: Type.Boolean({ description: 'Tokens cannot be moved, only burned.' }),
  pausable: Nullable(
    Closed({
      paused: Type.Boolean({ description: 'Whether transfers, mints and burns are paused now.' }),
      authority: Nullable(Address('May pause and resume.'), 'Null: no one may.'),
    }),
    'Null if the mint has no such extension.',
  ),
  confidentialTransfer: Type.Boolean({ description: 'Amounts of transfers may be hidden.' }),
  interestBearing: Nullable(
    Closed({
      rateBps: Type.Integer({
        minimum: -32_768,
        maximum: 32_767,
        description: 'Yearly interest by which UI amounts grow, basis points; may be negative.',
      }),
      authority: Nullable(Address('May set the rate.'), 'Null: no one may.'),
    }),
    'Other programs may display UI amounts with interest; sluice never does. Null if the mint has no such extension.',
  ),
  scaledUiAmount: Nullable(
    Closed({
      multiplier: Type.Number({ description: 'Other programs multiply UI amounts by it; sluice never does.' }),
      authority: Nullable(Address('May set it.'), 'Null: no one may.'),
    }),
    'Null if the mint has no such extension.',
  ),
  closeAuthority: Nullable(Address('May close the mint once its supply is 0.'), 'Null: no one may.'),
  others: Type.Array(Type.Integer({ minimum: 0, maximum: 65_535 }), {
    maxItems: 256,
    description: 'Other extensions of the mint, except metadata, by their type numbers in Token-2022.',
  }),
});

const Window = Closed({
  buys: Count('Buys.'),
  sells: Count('Sells.'),
  volumeSol: Ui('Volume in SOL. Trades in another quote coin count with their value in SOL, if it is known.'),
  volumeUsd: Ui('Volume in USD, without trades that had no price in USD.'),
});

const Windows = Nullable(
  Group(
    'Trades in all followed pools, by block time: in the current minute and the 4, 59 or 1,439 minutes before it. Trades before this installation began to follow the chain are missing.',
    { '5m': Window, '1h': Window, '24h': Window },
  ),
  'Null if the stored trades cannot be read.',
);

const OffChain = Nullable(
  Closed(metadataFields),
  'Content of the JSON document at `uri`; null if it is not known yet. The first request starts to fetch it.',
);

/** Pools of one answer: as many as the directory stores for a mint. */
export const maxTokenPools = 16;

const TokenPool = Closed({
  venue: Venue('Venue of the pool.'),
  poolAddress: Address('The pool or curve.'),
  quoteMint: Address('Its quote coin; wrapped SOL for SOL.'),
  slot: Slot('Slot of the values: of the last price event of the pool, or of the read (`chain`).'),
  priceQuote: Nullable(
    Ui('Quote coins for one token in this pool.'),
    'Null if no current price is known, or if the curve is complete. A pool that was drained may show its last price; `liquiditySol` is then 0.',
  ),
  priceSol: Nullable(Ui('SOL for one token.'), 'Null if `priceQuote` is, or if the value of the quote coin in SOL is unknown.'),
  priceUsd: Nullable(Ui('USD for one token.'), 'Null if `priceQuote` is, or if the value of the quote coin in USD is unknown.'),
  liquiditySol: Nullable(
    Ui(
      'Liquidity: quote coins that the pool holds and can pay out (without virtual reserves), in SOL. With concentrated liquidity as of `chain`.',
    ),
    'Null if it is unknown, or if the curve is complete.',
  ),
  liquidityUsd: Nullable(Ui('The same in USD.'), 'Null if it is unknown, or if the curve is complete.'),
});

export const TokenInfo = Titled('tokenInfo', {
  mint: Address('Mint.'),
  asOfMs: Ms('Unix time of this answer. All ages are relative to it. An answer may be reused for up to 250 ms.'),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true if the chain is simulated.' })),
  name: Nullable(TokenName(), 'From the metadata that the mint points to: in the mint itself or of Metaplex. Null if there is none.'),
  symbol: Nullable(TokenName(), 'Like `name`.'),
  uri: Nullable(TokenUri(), 'Address of the off-chain metadata. From the same source as `name`.'),
  metadataSource: Nullable(
    Type.Enum(['token-2022', 'metaplex', 'event'], { description: '`event`: from the creation event, because no account has them.' }),
    'Source of name, symbol and URI; null if there is none.',
  ),
  updateAuthority: Nullable(Address('May change name, symbol and URI.'), 'Null if no one may, or if it is unknown.'),
  offChain: OffChain,
  tokenProgram: Address('SPL Token or Token-2022.'),
  decimals: Decimals(),
  supply: Raw('Supply as of `chain`.'),
  supplyUi: Ui('Supply in whole tokens.'),
  mintAuthority: Nullable(Address('May mint more tokens.'), 'Null: no one may.'),
  freezeAuthority: Nullable(Address('May freeze the accounts of holders.'), 'Null: no one may.'),
  extensions: Extensions,
  chain: Group(
    'When supply, authorities, extensions and metadata were read from the chain. They are read again every minute as long as there are requests.',
    { slot: Slot('Slot of the read.'), ageMs: Ms('Age of the read at `asOfMs`.') },
  ),
  creator: Nullable(Address('Creator according to the venue, who receives the creator fee.'), 'Null if it is unknown.'),
  traits: Nullable(Traits, 'Null if they are not known.'),
  creatorFeeBps: Nullable(Bps('Creator fee that was set for this token; 0 if the venue decides.'), 'Null if it is not known.'),
  venue: Nullable(
    Venue(
      'Venue of the main pool: the bonding curve until it is complete, and then the pool to which it migrated. Without a curve, the main pool is chosen by its depth: what sellers receive until the price has fallen by 1 %.',
    ),
    'Null if no supported venue trades it.',
  ),
  poolAddress: Nullable(Address('The main pool or curve.'), 'Null if `venue` is.'),
  quoteMint: Nullable(Address('Its quote coin; wrapped SOL for SOL.'), 'Null if `venue` is.'),
  pools: Type.Array(TokenPool, {
    maxItems: maxTokenPools,
    description:
      'The known pools of the token, its curve included: the main pool first, then the deepest. Empty if no supported venue trades it. A pool becomes known when it is opened, by its trades, or because its address follows from the mint.',
  }),
  curve: Nullable(
    Closed({
      poolAddress: Address('The bonding curve.'),
      progressPercent: Nullable(
        Type.Number({ minimum: 0, maximum: 100 }),
        'How far the curve is: by tokens sold or, if its goal is an amount of quote coins, by quote coins received; null if no current value is known.',
      ),
      complete: Type.Boolean({ description: 'The curve has reached its goal. It no longer trades, and the token moves to a pool.' }),
    }),
    'Null if the token has no bonding curve.',
  ),
  reserves: Nullable(Reserves, 'Reserves of the main pool, raw integers; null if no current value is known.'),
  priceQuote: Nullable(
    Ui('Quote coins for one token: the price of the main pool that counts. `pools` has its spot price.'),
    'Null if no current price is known; `priceNullReason` has the reason.',
  ),
  priceSol: Nullable(Ui('SOL for one token.'), 'Null if `priceQuote` is, or if the value of the quote coin in SOL is unknown.'),
  priceUsd: Nullable(Ui('USD for one token, at the current SOL/USD price.'), 'Null if `priceSol` or `solUsd` is.'),
  priceNullReason: Nullable(Type.Enum([...priceNullReasons], { description: priceNullMeaning }), 'Null if there is a price.'),
  priceSlot: Nullable(Slot('Slot of the newest state of the main pool.'), 'Null if there is no price.'),
  priceAgeMs: Nullable(Ms('Age of this state at `asOfMs`. It stays valid until the next trade.'), 'Null if there is no price.'),
  confirmedPrice: Nullable(
    Closed({
      priceQuote: Ui('Quote coins for one token.'),
      priceSol: Nullable(Ui('SOL for one token.'), 'Null if the value of the quote coin in SOL is unknown.'),
      priceUsd: Nullable(Ui('USD for one token, at the current SOL/USD price.'), 'Null if `priceSol` or `solUsd` is.'),
      slot: Slot('Confirmed slot of the price.'),
    }),
    'Newest spot price of the main pool whose slot is confirmed, so that it cannot be retracted; null if there is no price, or if none was confirmed since this gateway knows the token.',
  ),
  solUsd: SolUsd,
  quoteRate: Type.Optional(QuoteRate),
  marketCapSol: Nullable(
    Ui('Price times supply, in SOL.'),
    'Null if the price is, or if the mint states no supply, as that of wrapped SOL.',
  ),
  marketCapUsd: Nullable(
    Ui('Price times supply, in USD.'),
    'Null if the price is, or if the mint states no supply, as that of wrapped SOL.',
  ),
  liquiditySol: Nullable(
    Ui('Liquidity of the main pool: quote coins that it holds and can pay out (without virtual reserves), in SOL.'),
    'Null if it is unknown.',
  ),
  liquidityUsd: Nullable(Ui('The same in USD.'), 'Null if it is unknown.'),
  windows: Windows,
});
export type TokenInfo = Static<typeof TokenInfo>;

export const tokenInfoEndpoint = defineEndpoint({
  ...tokenRead,
  id: 'tokenInfo',
  path: '/token/info/{mint}',
  summary: 'One token: identity, supply, authorities, market, price, volumes.',
  description: 'An unknown number is null, never 0. For a mint that no supported venue trades, `venue` and the prices are null.',
  params: mintParams,
  answer: TokenInfo,
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});

const FoundToken = Closed({
  mint: Address('Mint.'),
  symbol: Nullable(TokenName(), 'Null if it has none.'),
  name: Nullable(TokenName(), 'Null if it has none.'),
  createdAtMs: Nullable(Ms('Unix time at which its creation was received.'), 'Null if this gateway has not seen the creation.'),
});
export type FoundToken = Static<typeof FoundToken>;

/** Tokens of one answer. */
export const searchLimits = { default: 20, max: 100 } as const;

export const tokenSearchEndpoint = defineEndpoint({
  ...tokenRead,
  id: 'tokenSearch',
  path: '/token/search',
  summary: 'Tokens that the gateway knows, by a part of symbol, name or mint.',
  description:
    'Tokens with exactly this symbol come first, then the last ones that the gateway learned of. Searched are the tokens whose creation this gateway has received, and those that were requested from it, at most 30,000. Any other token can be read by its mint. Names are chosen freely: compare mints.',
  query: Type.Object(
    {
      text: Type.String({ minLength: 1, maxLength: 64, description: 'A part of symbol or name, in upper or lower case, or of the mint.' }),
      limit: Limit('tokens', searchLimits),
    },
    { ...closed, examples: [{ text: 'dog' }] },
  ),
  answer: Titled('tokenSearch', { tokens: Type.Array(FoundToken, { maxItems: searchLimits.max }) }),
  errors: [],
});

/** Holders of one answer: nodes list 20 accounts. */
export const maxHolders = 20;

const Holder = Closed({
  owner: Address('Owner of the accounts.'),
  kind: Type.Enum(['curve', 'pool', 'program', 'wallet'], {
    description:
      '`curve`, `pool`: the bonding curve, or a followed pool, of this token. `program`: an address without a private key, so a program holds the tokens: a pool of another venue, a lock, or a shared wallet. `wallet`: an address that may have a private key.',
  }),
  venue: Nullable(Venue('Venue of the curve or pool.'), 'Null for the other kinds.'),
  accounts: Count('The listed accounts of this owner.'),
  amount: Raw('Their balance in total.'),
  uiAmount: Ui('Whole tokens.'),
  sharePercent: Nullable(
    Type.Number({ minimum: 0, maximum: 100, description: 'Part of the supply, percent.' }),
    'Null if the supply is 0, or less than the balance because it changed in between.',
  ),
});

export const tokenHoldersEndpoint = defineEndpoint({
  ...tokenRead,
  id: 'tokenHolders',
  path: '/token/holders/{mint}',
  summary: 'The largest holders of one token, and their shares of the supply.',
  description:
    'From the 20 largest accounts that nodes list (`getTokenLargestAccounts`); accounts of one owner are added up. The number of all holders is not known.',
  params: mintParams,
  answer: Titled('tokenHolders', {
    mint: Address('Mint.'),
    asOfMs: Ms('Unix time of the read. An answer is reused for up to 30 s.'),
    simulated: Type.Optional(Type.Literal(true, { description: 'Present and true if the chain is simulated.' })),
    slot: Nullable(Slot('Slot of the read.'), 'Null if `holders` is.'),
    decimals: Decimals(),
    supply: Raw('Supply, as in `/token/info`.'),
    holders: Nullable(
      Type.Array(Holder, { maxItems: maxHolders, description: 'The largest balance first.' }),
      'Null if no node lists them: many nodes refuse the method, or refuse it for tokens with many holders.',
    ),
  }),
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});
