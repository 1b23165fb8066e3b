import { rateDenominator } from '../../kit/fee-tier.ts';
import { stateOfReserves } from '../../kit/constant-product.ts';
import { malformed } from '../../kit/decode.ts';
import { quotePool } from '../../kit/pool-quote.ts';
import { ownedData, quoteFault, type VenueQuoting } from '../../seam/quoting.ts';
import { decodeGlobalConfig, decodePlatformConfig } from './config.ts';
import { decodeAccount } from './decode.ts';
import { buildTrade } from './instructions.ts';
import { pool as poolAt, statusMigrated } from './layout.ts';
import { poolOf, programId } from './program.ts';
import { swapOn, type SwapState } from './swap.ts';

const noBytes = new Uint8Array(0);

/** The account of a curve names its settings and its platform, whose accounts have the rates of the fees. They are read in a second round. */
export const quoting: VenueQuoting = {
  settings: [],
  countsTransferFees: true,
  accountsOf: (mint, quoteMint) => [poolOf(mint, quoteMint)],
  open(mint, [address, ...others], accounts, mintOf) {
    const data = ownedData(accounts, address, programId);
    const decoded = data === null ? null : decodeAccount(data);
    if (decoded?.kind === 'malformed') return decoded;
    if (decoded?.kind !== 'decoded' || decoded.account.baseMint !== mint.address) return { kind: 'absent' };
    const { account } = decoded;
    const { reserves, complete, goal, quoteMint, globalConfig, platformConfig } = account;
    const needed = [globalConfig, platformConfig];
    if (!needed.every((one) => others.includes(one))) return { kind: 'more', addresses: needed };
    const [settings, platform] = [
      decodeGlobalConfig(ownedData(accounts, globalConfig, programId) ?? noBytes),
      decodePlatformConfig(ownedData(accounts, platformConfig, programId) ?? noBytes),
    ];
    if (settings === null || platform === null || settings.curveType !== 0) return malformed('the settings of the curve cannot be used');
    const rates = { protocol: settings.protocol, ...platform };
    if (rates.protocol + rates.platform + rates.creator >= rateDenominator) return malformed('no trade could pay the fees of the curve');
    const state: SwapState = { reserves, rates, sold: goal.from - reserves.realBase };
    const quoted = {
      price: stateOfReserves(reserves),
      token: mint.transferFee,
      money: mintOf(quoteMint)?.transferFee ?? null,
      isCurve: true as const,
      swap: (amount: bigint, exactIn: boolean, isBuy: boolean) => swapOn(state, amount, exactIn, isBuy),
    };
    return {
      kind: 'open',
      pool: {
        address,
        quoteMint,
        curve: true,
        complete,
        migrated: data![poolAt.status] === statusMigrated,
        reserves,
        quote(trade, at) {
          if (complete) return quoteFault('complete');
          const outcome = quotePool(quoted, trade, at.slot);
          // Whether the program counts the amount to receive with the coin's transfer fee or without it is not known.
          const isExactOut = outcome.ok && (trade.exact === 'baseOut' || outcome.quote.cut);
          return isExactOut && mint.transferFee !== null ? quoteFault('unknown_fee') : outcome;
        },
        build: (order) => buildTrade(address, account, order),
      },
    };
  },
};
