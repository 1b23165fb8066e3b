import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { MarketReader } from '@sluice/shared/market/market.ts';
import type { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { AccountReader } from './chain/account-reader.ts';
import type { BoundEndpoint } from '../http/endpoint.ts';
import type { PoolReader } from './pools/pool-reader.ts';
import type { Hub } from '../stream/hub.ts';
import { holdersBinding } from './holders/endpoint.ts';
import type { MarketHealth } from './market-health.ts';
import { portfolioBinding, type PortfolioParts } from './wallets/portfolio-endpoint.ts';
import { TokenBook } from './tokens/token-book.ts';
import { tokenEndpoints } from './tokens/token-endpoints.ts';
import { tokenPrices, type TokenPrices } from './tokens/token-prices.ts';
import { tokenImageBinding } from './tokens/token-image.ts';

export interface ReadsParts {
  readonly hub: Hub;
  readonly health: MarketHealth;
  readonly reader: AccountReader;
  readonly rpc: Rpc;
  /** Each endpoint on its own, for the method that lists holders. */
  readonly holderRpcs: readonly Rpc[];
  readonly market: MarketReader;
  readonly pools: PoolReader;
  /** Off-chain metadata by `uri`, and its images. */
  readonly metadata: TokenMetadataBook;
  readonly clock: Pick<Clock, 'wallMs' | 'steadyMs'>;
  readonly paperBalanceOf: PortfolioParts['paperBalanceOf'];
  readonly log: Logger;
  readonly signal: AbortSignal;
}

interface Reads {
  readonly endpoints: readonly BoundEndpoint[];
  readonly book: TokenBook;
  readonly prices: TokenPrices;
}

/** Creates the endpoints that read tokens and wallets, and their token book, which starts to follow the log. */
export function createReads(parts: ReadsParts): Reads {
  const { hub, health, reader: accounts, rpc, holderRpcs, market, pools, metadata, clock, paperBalanceOf, log, signal } = parts;
  const offChain = (uri: string) => metadata.get(uri);
  const { history } = hub;
  const placeOf: Hub['bus']['placeOf'] = (epoch) => hub.bus.placeOf(epoch);
  const book = new TokenBook({ accounts, market, history, health, pools, placeOf, slots: hub.fanout.slots, offChain, clock, log });
  hub.delivery.listen(book);
  hub.dialect.supplyOf = (mint) => book.supplyOf(mint);
  return {
    endpoints: [
      ...tokenEndpoints({ book, market, history, clock, log }),
      tokenImageBinding({ book, metadata }),
      holdersBinding({ endpoints: holderRpcs, reader: accounts, book, health, clock, log, signal }),
      portfolioBinding({ rpc, book, health, history, clock, paperBalanceOf, log, signal }),
    ],
    book,
    prices: tokenPrices(book, health, clock),
  };
}
