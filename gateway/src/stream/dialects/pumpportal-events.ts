import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { isCurveVenue } from '@sluice/shared/wire/venues.ts';
import { usualSupply } from '@sluice/venues/registry.ts';
import type { MigrationEvent, NewTokenEvent, PoolEvent, StreamEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import type { DialectCreate, DialectLiquidity, DialectMigrate, DialectTrade } from '@sluice/shared/wire/stream/pumpportal.ts';

/** Raw supply of a mint that this gateway knows; null if it knows none. */
export type SupplyOf = (mint: string) => bigint | null;

/**
 * An event in PumpPortal's form, or null if their protocol has no such event. Amounts are whole coins. Amounts in SOL are left out if the
 * quote coin is another one and its price is unknown.
 */
export function pumpPortalEvent(
  event: StreamEvent,
  supplyOf: SupplyOf,
): DialectCreate | DialectTrade | DialectMigrate | DialectLiquidity | null {
  switch (event.type) {
    case 'newToken':
      return createOf(event);
    case 'trade':
      return tradeOf(event, supplyOf);
    case 'migration':
      return migrateOf(event);
    case 'poolCreated':
    case 'liquidityAdded':
    case 'liquidityRemoved':
      return liquidityOf(event, supplyOf);
    default:
      return null;
  }
}

function createOf(event: NewTokenEvent): DialectCreate {
  const inSol = event.quoteMint === wrappedSolMint;
  return {
    signature: event.signature ?? '',
    mint: event.mint,
    traderPublicKey: event.trader,
    txType: 'create',
    initialBuy: event.initialBuy?.tokenAmount ?? 0,
    solAmount: event.initialBuy === null ? 0 : (event.initialBuy.solAmount ?? event.initialBuy.tokenAmount * (event.priceSol ?? 0)),
    bondingCurveKey: event.bondingCurve,
    vTokensInBondingCurve: toUi(BigInt(event.reserves.virtualBase), event.decimals),
    ...(inSol ? { vSolInBondingCurve: toUi(BigInt(event.reserves.virtualQuote), solDecimals) } : {}),
    ...optional('marketCapSol', event.marketCapSol),
    name: event.name,
    symbol: event.symbol,
    uri: event.uri,
    is_mayhem_mode: event.traits.includes('mayhemMode'),
    pool: event.pool,
    ...commonFields(event),
  };
}

function tradeOf(event: TradeEvent, supplyOf: SupplyOf): DialectTrade {
  const { reserves } = event;
  const solAmount = event.solAmount ?? (event.priceSol === null ? null : event.tokenAmount * event.priceSol);
  const base = {
    signature: event.signature ?? '',
    mint: event.mint,
    traderPublicKey: event.trader,
    txType: event.side,
    tokenAmount: event.tokenAmount,
    ...optional('solAmount', solAmount),
    newTokenBalance: event.traderBalance === undefined ? null : toUi(BigInt(event.traderBalance), event.baseDecimals),
  } as const;
  const ofVenue = reserves === null ? {} : reservesOfVenue(event, reserves);
  return { pool: event.pool, ...base, ...ofVenue, ...optional('marketCapSol', marketCapSol(event, supplyOf)), ...commonFields(event) };
}

/** PumpPortal multiplies the spot price by the usual supply; we do so if the true supply is unknown. Its clients use this cap as the price of a trade. */
function marketCapSol(
  { marketCapSol: known, priceSol, pool, mint, baseDecimals }: TradeEvent | PoolEvent,
  supplyOf: SupplyOf,
): number | null {
  const supply = supplyOf(mint) ?? usualSupply(pool, mint);
  return supply === null || priceSol === null ? known : priceSol * toUi(supply, baseDecimals);
}

function reservesOfVenue(
  { pool, poolAddress, quoteMint, baseDecimals, quoteDecimals }: TradeEvent,
  reserves: NonNullable<TradeEvent['reserves']>,
) {
  const inSol = quoteMint === wrappedSolMint;
  return isCurveVenue(pool)
    ? {
        bondingCurveKey: poolAddress,
        vTokensInBondingCurve: toUi(BigInt(reserves.virtualBase), baseDecimals),
        ...(inSol ? { vSolInBondingCurve: toUi(BigInt(reserves.virtualQuote), quoteDecimals) } : {}),
      }
    : {
        tokensInPool: toUi(BigInt(reserves.realBase), baseDecimals),
        ...(inSol ? { solInPool: toUi(BigInt(reserves.realQuote), quoteDecimals) } : {}),
      };
}

function migrateOf(event: MigrationEvent): DialectMigrate {
  return { signature: event.signature ?? '', mint: event.mint, txType: 'migrate', pool: event.pool };
}

function liquidityOf(event: PoolEvent, supplyOf: SupplyOf): DialectLiquidity {
  const isNew = event.type === 'poolCreated';
  const [base, quote] = isNew ? [event.baseAmount, event.quoteAmount] : [event.baseLeft, event.quoteLeft];
  const inSol = event.quoteMint === wrappedSolMint;
  return {
    signature: event.signature ?? '',
    mint: event.mint,
    traderPublicKey: isNew ? event.creator : event.provider,
    txType: event.type === 'liquidityRemoved' ? 'removeLiquidity' : 'addLiquidity',
    ...optional('tokenAmount', event.tokenAmount),
    ...optional('solAmount', event.solAmount),
    ...optional('tokensInPool', base === null ? null : toUi(BigInt(base), event.baseDecimals)),
    ...optional('solInPool', quote === null || !inSol ? null : toUi(BigInt(quote), event.quoteDecimals)),
    marketId: event.poolAddress,
    ...optional('marketCapSol', marketCapSol(event, supplyOf)),
    ...optional('price', event.priceSol),
    pool: event.pool,
    ...commonFields(event),
  };
}

function optional<Name extends string>(name: Name, value: number | null): Partial<Record<Name, number>> {
  return value === null ? {} : ({ [name]: value } as Record<Name, number>);
}

function commonFields(
  event: TradeEvent | NewTokenEvent | PoolEvent,
): Pick<DialectTrade, 'quoteMint' | 'slot' | 'blockUnixTime' | 'simulated'> {
  return {
    slot: event.slot,
    ...(event.quoteMint === wrappedSolMint ? {} : { quoteMint: event.quoteMint }),
    ...(event.blockTime === null ? {} : { blockUnixTime: event.blockTime }),
    ...(event.simulated === true ? { simulated: true } : {}),
  };
}
