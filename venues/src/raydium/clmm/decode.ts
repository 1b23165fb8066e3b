import { hasPrefix, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { cappedDepth, concentratedPool, positionChanged, stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { accountDecoder, recordDecoder } from '../../kit/decode.ts';
import { feesInParts, type TierRates } from '../../kit/fee-tier.ts';
import { decimalsOf, heldIn, pairOf, swapTrade, type Charge } from '../../kit/swap-trade.ts';
import type { AccountConstants, DecodeContext, LiquidityChanged, VenueEvent, VenueTrade } from '../../seam/venue.ts';
import { swapEventLength, swapEventTail } from './layout.ts';
import { decodePool } from './pool.ts';
import * as program from './program.ts';

function readSwap(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const [pool, trader] = [reader.address(), reader.address()];
  reader.skip(64); // the user's token accounts
  const [amount0, transfer0, amount1, transfer1] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const isSell = reader.bool(); // zero_for_one: coin 0 comes in
  const [sqrtPrice, liquidity] = [reader.u128(), reader.u128()];
  reader.u32(); // tick
  const [trade0, trade1] = reader.has(swapEventTail) ? [reader.u64(), reader.u64()] : [0n, 0n];
  const side0 = { amount: amount0, transferFee: transfer0, tradeFee: trade0 };
  const side1 = { amount: amount1, transferFee: transfer1, tradeFee: trade1 };
  const [given, gotten] = isSell ? [side0, side1] : [side1, side0];
  // Of the output, the event states what the trader received.
  const sent = gotten.amount + gotten.transferFee;
  const [through, left] = [given.amount - given.tradeFee, sent + gotten.tradeFee];
  if (through < 0n || sqrtPrice === 0n) return 'has an invalid amount';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts, data } = emitting;
  const isDirect =
    program.swapInstructions.some((discriminator) => hasPrefix(data, discriminator)) && accounts[program.swapAccounts.pool] === pool;
  const [input, output] = isDirect ? [accounts[program.swapAccounts.inputVault], accounts[program.swapAccounts.outputVault]] : [];
  const charges: readonly Charge[] = [
    ['lp', given.tradeFee, given.amount, 'in'],
    ['lp', gotten.tradeFee, left, 'out'],
    ['transfer', given.transferFee, given.amount + given.transferFee, 'in'],
    ['transfer', gotten.transferFee, sent, 'out'],
  ];
  const state = stateOfSqrtPrice(sqrtPrice, liquidity);
  const trade = swapTrade(
    { isSell, through, left, charges },
    {
      pool,
      pair: pairOf(context.tokenBalances, ...(isSell ? ([input, output] as const) : ([output, input] as const))),
      trader,
      before: null,
      ...state,
      depth: cappedDepth(state, pool, isSell, context.tokenBalances),
    },
  );
  if (given.tradeFee + gotten.tradeFee === 0n) return trade;
  // The router of the program names the fee tiers of several pools. The account of the pool names the one of this pool.
  return { ...trade, needs: { account: isDirect ? accounts[program.swapAccounts.config]! : pool, facts: [] } };
}

/** Splits the trade fee. */
export function completeTrade(trade: VenueTrade, rates: AccountConstants): VenueTrade {
  return { ...trade, fees: feesInParts(trade.fees, rates as TierRates) };
}

function readPoolCreated(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const [baseMint, quoteMint] = [reader.address(), reader.address()];
  reader.skip(2); // tick_spacing
  const pool = reader.address();
  const sqrtPrice = reader.u128();
  reader.skip(68); // tick, and the vaults
  const emitting = context.instruction();
  if (emitting === null) return null;
  const creator = emitting.accounts[program.creatorAccount];
  if (creator === undefined) return 'was emitted by an instruction without accounts';
  return {
    type: 'poolCreated',
    pool,
    baseMint,
    quoteMint,
    baseDecimals: decimalsOf(context.tokenBalances, baseMint),
    quoteDecimals: decimalsOf(context.tokenBalances, quoteMint),
    reserves: null,
    opening: { state: stateOfSqrtPrice(sqrtPrice, 0n), held: null },
    creator,
    timestamp: null,
  };
}

/** A position was opened. The event names the pool; its vaults are behind it among the accounts. */
function readOpened(reader: BorshReader, context: DecodeContext): VenueEvent | VenueEvent[] | string | null {
  const [pool, provider] = [reader.address(), reader.address()];
  reader.skip(32 + 8 + 16); // owner, ticks, liquidity
  const [baseAmount, quoteAmount] = [reader.u64(), reader.u64()];
  const emitting = context.instruction();
  if (emitting === null) return null;
  const at = emitting.accounts.indexOf(pool) + program.vaultsBehindPool;
  const vaults = [emitting.accounts[at], emitting.accounts[at + 1]] as const;
  const pair = pairOf(context.tokenBalances, ...vaults);
  // A position may be opened empty.
  if (baseAmount + quoteAmount === 0n) return [];
  const left = heldIn(context.tokenBalances, ...vaults);
  return positionChanged({ type: 'liquidityAdded', pool, pair, provider, baseAmount, quoteAmount, left });
}

/** A position grew or shrank. Only the instruction names the pool. Without liquidity, fees alone were collected. */
const readChanged =
  (type: LiquidityChanged['type'], { discriminators, pool: at, vaults }: typeof program.increaseForms | typeof program.decreaseForms) =>
  (reader: BorshReader, context: DecodeContext): VenueEvent | VenueEvent[] | string | null => {
    reader.skip(32); // position_nft_mint
    const liquidity = reader.u128();
    const [baseAmount, quoteAmount] = [reader.u64(), reader.u64()];
    const emitting = context.instruction();
    if (emitting === null) return null;
    const { accounts, data } = emitting;
    const [provider, pool] = [accounts[0], accounts[at]];
    if (!discriminators.some((one) => hasPrefix(data, one)) || provider === undefined || pool === undefined)
      return 'was emitted by an instruction that is not known to change a position';
    if (liquidity === 0n) return [];
    const own = [accounts[vaults[0]], accounts[vaults[1]]] as const;
    const [pair, left] = [pairOf(context.tokenBalances, ...own), heldIn(context.tokenBalances, ...own)];
    return positionChanged({ type, pool, pair, provider, baseAmount, quoteAmount, left });
  };

export const decode = recordDecoder(
  [
    { discriminator: program.eventDiscriminators.swap, name: 'SwapEvent', minLength: swapEventLength, read: readSwap },
    { discriminator: program.eventDiscriminators.poolCreated, name: 'PoolCreatedEvent', read: readPoolCreated },
    { discriminator: program.eventDiscriminators.opened, name: 'CreatePersonalPositionEvent', read: readOpened },
    {
      discriminator: program.eventDiscriminators.increased,
      name: 'IncreaseLiquidityEvent',
      read: readChanged('liquidityAdded', program.increaseForms),
    },
    {
      discriminator: program.eventDiscriminators.decreased,
      name: 'DecreaseLiquidityEvent',
      read: readChanged('liquidityRemoved', program.decreaseForms),
    },
  ],
  program.ignoredEvents,
);

export const decodeAccount = accountDecoder(
  program.accountDiscriminators.pool,
  (data) => {
    const pool = decodePool(data);
    if (pool === null || pool.sqrtPriceX64 === 0n) return 'PoolState too short, or without a price';
    return concentratedPool({ baseMint: pool.mint0, quoteMint: pool.mint1, baseVault: pool.vault0, quoteVault: pool.vault1 }, pool);
  },
  program.ignoredAccounts,
);
