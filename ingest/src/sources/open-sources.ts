import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { SourceName } from '@sluice/shared/config/settings/source-settings.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { offers } from '@sluice/shared/solana/pubsub/offers.ts';
import { createRpc, RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { pricePools, venues as allVenues } from '@sluice/venues/registry.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { BlocksSource } from './blocks/blocks-source.ts';
import { isRefusal, wholeBlock } from './blocks/confirmed-block.ts';
import { TransactionDecoder } from './decode/transaction-decoder.ts';
import { GrpcSource } from './grpc/grpc-source.ts';
import { BlockFeed } from './pubsub/block-feed.ts';
import type { PubSubFeed } from './pubsub/feed.ts';
import { LogsFeed } from './pubsub/logs-feed.ts';
import { PubSubSource, type PubSubOptions } from './pubsub/pubsub-source.ts';
import { TransactionFeed } from './pubsub/transaction-feed.ts';
import type { Source } from './source.ts';

/** A block has five to ten megabytes. */
export const blockTimeoutMs = 10_000;

/**
 * The sources of the settings. If the settings name none: logs, and the first source of whole transactions that all endpoints offer. Logs alone, if
 * an endpoint refuses blocks too.
 */
export async function chooseSources({ rpc, grpc, sources, venues }: Config, signal: AbortSignal): Promise<readonly SourceName[]> {
  if (sources !== null) return sources;
  if (grpc !== null) return ['logs', 'grpc'];
  const programs = allVenues.filter(({ name }) => venues === null || venues.includes(name)).map(({ programId }) => programId);
  const feeds = [new TransactionFeed(programs), new BlockFeed(programs)];
  const offered = await Promise.all(
    feeds.map(async ({ subscriptions: [first] }) => {
      const answers = await Promise.all(rpc!.wsUrls.map((url) => offers(url, first!, signal)));
      return answers.every(Boolean);
    }),
  );
  const feed = feeds.find((_feed, index) => offered[index]);
  if (feed !== undefined) return ['logs', feed.name];
  const withBlocks = await Promise.all(rpc!.httpUrls.map((url) => servesBlocks(url, signal)));
  return withBlocks.every(Boolean) ? ['logs', 'blocks'] : ['logs'];
}

/** False if the node refuses blocks. A node that does not answer may serve them later. */
async function servesBlocks(url: string, signal: AbortSignal): Promise<boolean> {
  const rpc = createRpc([url], { timeoutMs: blockTimeoutMs });
  try {
    const slot = await rpc.call('getSlot', [{ commitment: 'confirmed' }], signal);
    await rpc.call('getBlock', [slot, { ...wholeBlock, transactionDetails: 'none' }], signal);
    return true;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return !isRefusal(error);
  }
}

export interface SourceParts {
  readonly config: Config;
  readonly names: readonly SourceName[];
  readonly venues: readonly Venue[];
  /** The newest slot that any source reports. */
  readonly newestSlot: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Opens sources by their names, not started yet. */
export function openSources({ config, names, venues, newestSlot, clock, log }: SourceParts): Source[] {
  const { httpUrls, wsUrls } = config.rpc!;
  const programs = venues.map(({ programId }) => programId);
  const watched = { programs: venues, accounts: config.pricePools ?? pricePools };
  // One source reads the accounts too: the one that is first at `processed`.
  const accountsBy = (['logs', 'transaction-subscribe', 'grpc'] as const).find((name) => names.includes(name));
  const accountsOf = (name: string): Pick<PubSubOptions, 'programs' | 'accounts'> =>
    name === accountsBy ? watched : { programs: [], accounts: [] };
  const byPubSub = (feed: PubSubFeed, decoder: TransactionDecoder | null = new TransactionDecoder(venues)): Source =>
    new PubSubSource({ feed, urls: wsUrls, ...accountsOf(feed.name), decoder, log });
  const textPrefixes = venues.flatMap(({ records: { textPrefix } }) => (textPrefix === null ? [] : [`Program log: ${textPrefix}`]));
  const open: Readonly<Record<SourceName, () => Source>> = {
    logs: () => byPubSub(new LogsFeed(programs, textPrefixes)),
    'transaction-subscribe': () => byPubSub(new TransactionFeed(programs)),
    'block-subscribe': () => byPubSub(new BlockFeed(programs), null),
    blocks: () => new BlocksSource({ rpcs: httpUrls.map((url) => createRpc([url], { timeoutMs: blockTimeoutMs })), programs, clock, log }),
    grpc: () => {
      const { programs: accountPrograms, accounts } = accountsOf('grpc');
      // A thread receives data only.
      const watchedPrograms = accountPrograms.map(({ programId, watchedAccountPrefixes }) => ({ programId, watchedAccountPrefixes }));
      const filters = { programs, watched: watchedPrograms, accounts };
      return new GrpcSource({ ...config.grpc!, firstIndex: httpUrls.length, filters, newestSlot, log });
    },
  };
  return names.map((name) => open[name]());
}
