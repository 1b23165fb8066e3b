import { startDeadline } from '@sluice/shared/runtime/abort/deadline.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { LruCache } from '@sluice/shared/metadata/lru.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import { tokenHoldersEndpoint } from '@sluice/shared/wire/rest/token.ts';
import type { AccountReader } from '../chain/account-reader.ts';
import { bindEndpoint, type BoundEndpoint } from '../../http/endpoint.ts';
import type { MarketHealth } from '../market-health.ts';
import { refusalOf, type TokenBook } from '../tokens/token-book.ts';
import type { MintView } from '../tokens/mint-view.ts';
import { listLargestAccounts, readHolders, type LargestHolders } from './read-holders.ts';

/** Limits. Further requests are refused as unavailable, and the oldest stored answers are deleted. */
const holderLimits = {
  /** Tokens read at the same time: the method is expensive for nodes. */
  running: 2,
  /** Tokens that wait for their turn. */
  waiting: 32,
  /** Bytes of stored answers. */
  storedBytes: 8 * 1024 * 1024,
} as const;

/** How long an answer is used, also one without holders. */
const storedMs = 30_000;
const listWithinMs = 4_000;

export interface HoldersParts {
  /** One `Rpc` for each endpoint, which nothing else uses: a node that refuses this method may be good for all others. */
  readonly endpoints: readonly Rpc[];
  readonly reader: AccountReader;
  readonly book: TokenBook;
  readonly health: MarketHealth;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** `/token/holders/{mint}`. */
export function holdersBinding(parts: HoldersParts): BoundEndpoint {
  const stored = new LruCache<Buffer>(holderLimits.storedBytes);
  const asked = new Map<string, Promise<Buffer | null>>();
  const reads = new Semaphore(holderLimits.running);

  const answer = async (token: MintView): Promise<Buffer | null> => {
    if (reads.waiting >= holderLimits.waiting) return null;
    const bytes = Buffer.from(JSON.stringify(await reads.run(() => makeAnswer(parts, token))));
    stored.set(token.mint, bytes, bytes.length + token.mint.length, performance.now() + storedMs);
    return bytes;
  };

  return bindEndpoint(tokenHoldersEndpoint, async ({ params: { mint } }) => {
    const found = await parts.book.find(mint);
    if (!found.ok) return refusalOf(found);
    const known = stored.get(mint, performance.now());
    if (known !== undefined) return { jsonBytes: known };
    let answering = asked.get(mint);
    if (answering === undefined) {
      answering = answer(found.token).finally(() => asked.delete(mint));
      asked.set(mint, answering);
    }
    const bytes = await answering;
    return bytes === null
      ? { error: 'UPSTREAM_UNAVAILABLE', message: 'The holders of too many tokens are being read.' }
      : { jsonBytes: bytes };
  });
}

/** `holders` is null: no node lists the holders, or no node gives their accounts. */
async function makeAnswer(
  { endpoints, reader, health, clock, log, signal }: HoldersParts,
  token: MintView,
): Promise<AnswerOf<typeof tokenHoldersEndpoint>> {
  const { mint } = token;
  const { decimals, supply } = token.facts.token;
  const asOfMs = clock.wallMs();
  const within = startDeadline(listWithinMs, signal);
  let found: LargestHolders | null = null;
  try {
    const addresses = await listLargestAccounts(endpoints, mint, health.newestSlot(), within);
    if (addresses !== null) found = await readHolders(reader, token, addresses);
  } catch (error) {
    log.debug({ err: error, mint }, 'holders_read_failed');
  } finally {
    within.end();
  }
  const simulated = health.simulated === true ? { simulated: true as const } : {};
  return { mint, asOfMs, ...simulated, slot: found?.slot ?? null, decimals, supply: `${supply}`, holders: found?.holders ?? null };
}
