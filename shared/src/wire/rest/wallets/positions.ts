import { Type, type Static } from 'typebox';
import { positionFields } from '../../orders/positions.ts';
import { Address, Closed, Count, Ms, Nullable, Slot, Titled, UnixMs } from '../../values/values.ts';
import { defineEndpoint } from '../endpoint.ts';

/** Maximum number of positions that one answer lists. */
export const maxPositions = 1_000;
/** Wallets that a key can follow, by plan. If it asks for more, it no longer follows the one that it asked for longest ago. */
export const followedWallets = { standard: 25, premium: 250, enterprise: 2_500 } as const;

const WalletPosition = Titled('wallet position', positionFields);
export type WalletPosition = Static<typeof WalletPosition>;

export const Positions = Titled('positions', {
  publicKey: Address('The wallet.'),
  asOfMs: Ms('Unix time of this answer.'),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true if the chain is simulated.' })),
  complete: Type.Boolean({
    description:
      'False while trades of the wallet are still being read from the history of the chain. Ask again. Amounts and costs are those of the trades that are known.',
  }),
  cut: Type.Boolean({ description: 'True if the wallet has more transactions than are read. Tokens from before them are unexplained.' }),
  checkedAtMs: Nullable(
    UnixMs('When the amounts were last compared with the balances of the chain, Unix milliseconds.'),
    'Null before the first time, and for a paper wallet.',
  ),
  checkedSlot: Nullable(Slot('Slot of these balances.'), 'Null if `checkedAtMs` is.'),
  positions: Type.Array(WalletPosition, {
    maxItems: maxPositions,
    description: 'Tokens that the wallet has or had, the most valuable first. SOL, wrapped SOL and USDC are money and not listed.',
  }),
  omittedPositions: Count('Positions that are not listed, because an answer has a maximum.'),
});
export type Positions = Static<typeof Positions>;

export const positionsEndpoint = defineEndpoint({
  id: 'positions',
  method: 'GET',
  path: '/positions/{publicKey}',
  withApiPrefix: true,
  access: 'read',
  tag: 'portfolio',
  summary: 'What a wallet paid for its tokens, and what it has gained or lost.',
  description: `The server keeps positions of each custodial wallet, and of each wallet that a key follows. A key follows a wallet from its first request on; its events \`position\` are on the channel \`orders\`. A key follows at most ${followedWallets.standard} wallets on Standard, ${followedWallets.premium} on Premium and ${followedWallets.enterprise} on Enterprise; then it no longer follows the one that it asked for longest ago. The first request reads the wallet's history from the chain, the newest 1,000 transactions. Trades count as soon as the stream shows them. A custodial wallet of another account is \`FORBIDDEN\`.`,
  params: Closed({ publicKey: Address('The wallet.') }),
  answer: Positions,
  errors: ['FORBIDDEN', 'UPSTREAM_UNAVAILABLE'],
});
