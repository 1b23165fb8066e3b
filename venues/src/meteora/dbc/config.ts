import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, u128At, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { malformed } from '../../kit/decode.ts';
import { stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { decodedOnce } from '../../seam/quoting.ts';
import type { AccountConstants, DecodedConstants, Fee, TokenCreated, VenueTrade } from '../../seam/venue.ts';
import { curveOfPieces, reservesAt, type Curve, type Piece } from './curve.ts';
import { config as at, configLength, maxPoints, pointLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The curve of a config: it begins at `start`, and point `n` is (`price n`, `liquidity n`) up to the number of `points`. */
function curveNumbers(view: DataView): Record<string, bigint> | string {
  const numbers: Record<string, bigint> = { start: u128At(view, at.startPrice), end: u128At(view, at.migrationPrice) };
  let lower = numbers['start']!;
  let points = 0;
  for (; points < maxPoints; points++) {
    const [price, liquidity] = [0, 16].map((part) => u128At(view, at.curve + points * pointLength + part)) as [bigint, bigint];
    if (price === 0n || liquidity === 0n) break;
    if (lower === 0n || price <= lower) return 'PoolConfig with prices that do not rise';
    numbers[`price ${points}`] = lower = price;
    numbers[`liquidity ${points}`] = liquidity;
  }
  return points === 0 || lower < numbers['end']! ? 'PoolConfig without a curve' : { ...numbers, points: BigInt(points) };
}

/** Bytes of a config; null if they are not one. */
export function configBytes(data: Uint8Array | null): Uint8Array | null {
  return data !== null && data.length >= configLength && accountDiscriminators.config.some((kind) => hasPrefix(data, kind)) ? data : null;
}

export function quoteMintOf(config: Uint8Array): string {
  return encodeBase58(config, at.quoteMint, 32);
}

/** The numbers of a config that trades and creations need. */
export function constantsOf(data: Uint8Array): DecodedConstants {
  const config = configBytes(data);
  if (config === null) return malformed('PoolConfig too short');
  const view = viewOf(config);
  const curve = curveNumbers(view);
  if (typeof curve === 'string') return malformed(curve);
  const share = config[at.creatorShare]!;
  if (share > 100) return malformed('PoolConfig with an invalid share');
  const constants = {
    ...curve,
    threshold: view.getBigUint64(at.threshold, true),
    decimals: BigInt(config[at.decimals]!),
    creatorShare: BigInt(share),
    tokenAuthority: BigInt(config[at.tokenAuthority]!),
  };
  return { kind: 'decoded', constants };
}

/** Computed once for each config. */
export const curveOf = decodedOnce((constants: AccountConstants): Curve => {
  const pieces: Piece[] = [];
  let lower = constants['start']!;
  for (let index = 0; index < Number(constants['points']); index++) {
    const upper = constants[`price ${index}`]!;
    pieces.push({ lower, upper, liquidity: constants[`liquidity ${index}`]! });
    lower = upper;
  }
  return curveOfPieces(pieces, constants['end']!);
});

const whole = 100n;

/** The creator's part of a trading fee, in percent of it, rounded down. */
export function creatorPart(tradingFee: bigint, share: bigint): bigint {
  return (tradingFee * share) / whole;
}

function splitFee(fee: Fee, share: bigint): readonly Fee[] {
  if (fee.kind !== 'partner') return [fee];
  const creator = creatorPart(fee.amount, share);
  const bps = Math.round((fee.bps * Number(share)) / Number(whole));
  const parts: readonly Fee[] = [
    { ...fee, amount: fee.amount - creator, bps: fee.bps - bps },
    { ...fee, kind: 'creator', amount: creator, bps },
  ];
  return parts.filter(({ amount }) => amount > 0n);
}

/** Adds the reserves, and splits the trading fee. The facts are the square root of the price, and the quote reserve (−1 if the event has none). */
export function completeTrade(trade: VenueTrade, constants: AccountConstants): VenueTrade {
  const [price, quoteReserve] = trade.needs!.facts as readonly [bigint, bigint];
  const fees = trade.fees.flatMap((fee) => splitFee(fee, constants['creatorShare']!));
  const reserves = reservesAt(curveOf(constants), price, quoteReserve < 0n ? null : quoteReserve);
  return { ...trade, ...stateOfSqrtPrice(price, null), reserves, fees };
}

/** The creator or the platform may mint more tokens. */
const mintableFrom = 3n;

/** Adds the first reserves and the decimals. */
export function completeCreated(created: TokenCreated, constants: AccountConstants): TokenCreated {
  const reserves = reservesAt(curveOf(constants), constants['start']!, 0n) ?? created.reserves;
  return { ...created, reserves, decimals: Number(constants['decimals']), supplyByMint: constants['tokenAuthority']! >= mintableFrom };
}
