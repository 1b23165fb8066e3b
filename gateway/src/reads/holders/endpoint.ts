import { startDeadline } from '@sluice/shared/runtime/abort/deadline.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { LruCache } from '@sluice/shared/metadata/lru.ts';
import { bindEndpoint, type BoundEndpoint } from '../../http/endpoint.ts';
import type { MarketHealth } from '../market-health.ts';
import { refusalOf, type TokenBook } from '../tokens/token-book.ts';
import type { MintView } from '../tokens/mint-view.ts';
import type { Abortable } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { isOnCurve } from '@sluice/shared/solana/addresses/curve.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { askUntilAgreed } from '@sluice/shared/solana/rpc/quorum/ask-until-agreed.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import type { VenueName } from '@sluice/shared/wire/events/events.ts';
import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import { maxHolders, tokenHoldersEndpoint } from '@sluice/shared/wire/rest/tokens/token.ts';
import type { AccountReader, ChainAccount } from '../chain/account-reader.ts';
import { readContextSlot } from '../chain/rpc-account-reader.ts';

/** Limits. Further requests are refused as unavailable, and the oldest stored answers are deleted. */
const holderLimits = {
  /** Tokens read at the same time: the method is expensive for nodes. */
  running: 2,
  /** Tokens that wait for their turn. */
  waiting: 32,
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
  let slot: number | null = null;
  let holders: Holder[] | null = null;
  try {
    const addresses = await listLargestAccounts(endpoints, mint, health.newestSlot(), within);
    if (addresses !== null) {
      const read = addresses.length === 0 ? { slot: token.facts.slot, accounts: [] } : await reader.read(addresses);
      slot = read.slot;
      holders = holdersOf(token, read.accounts);
    }
  } catch (error) {
    log.debug({ err: error, mint }, 'holders_read_failed');
  } finally {
    within.end();
  }
  const simulated = health.simulated === true ? { simulated: true as const } : {};
  return { mint, asOfMs, ...simulated, slot, decimals, supply: `${supply}`, holders };
}

type Holder = NonNullable<AnswerOf<typeof tokenHoldersEndpoint>['holders']>[number];

/** Accounts that a node lists, and accounts of one read. */
const listedAccounts = 20;
const maxAccounts = 100;
const hedgeAfterMs = 600;
const othersWithinMs = 1_500;

/**
 * The largest token accounts of a mint according to a majority of the endpoints, in the order of their ranks. The lists are united: an endpoint
 * can add a smaller account, and cannot hide an account that another endpoint lists. Null: no endpoint gives a list.
 */
async function listLargestAccounts(
  endpoints: readonly Rpc[],
  mint: string,
  newestSlot: number,
  signal: Abortable,
): Promise<readonly string[] | null> {
  const verdict = await askUntilAgreed<readonly string[]>({
    endpoints: endpoints.map((_, index) => index),
    ask: async (index) => {
      try {
        return readList(await endpoints[index]!.call('getTokenLargestAccounts', [mint, { commitment: 'confirmed' }], signal), newestSlot);
      } catch (error) {
        if (error instanceof RpcError) return null;
        throw error;
      }
    },
    agree: () => true,
    hedgeAfterMs,
    othersWithinMs,
  });
  if (verdict.kind !== 'agreed') return null;
  const lists = verdict.votes.map(({ value }) => value);
  const byRank = Array.from({ length: listedAccounts }, (_, rank) => lists.flatMap((list) => list[rank] ?? []));
  return [...new Set(byRank.flat())].slice(0, maxAccounts);
}

function readList(answer: unknown, newestSlot: number): readonly string[] | null {
  const value = readContextSlot(answer, newestSlot) !== null && isRecord(answer) ? answer['value'] : null;
  if (!Array.isArray(value) || value.length > listedAccounts) return null;
  const addresses = (value as readonly unknown[]).map((item) => (isRecord(item) ? item['address'] : null));
  return addresses.every((address) => typeof address === 'string' && isAddress(address)) ? (addresses as readonly string[]) : null;
}

/** The owners of these accounts. An account that is not one of this mint does not count. */
function holdersOf(token: MintView, accounts: readonly (ChainAccount | null)[]): Holder[] {
  const { decimals, supply, tokenProgram } = token.facts.token;
  const owners = new Map<string, { amount: bigint; accounts: number }>();
  for (const account of accounts) {
    const held = account === null || account.owner !== tokenProgram ? null : decodeTokenAccount(account.owner, account.data);
    if (held === null || held.mint !== token.mint || held.amount === 0n) continue;
    const owner = owners.get(held.owner) ?? { amount: 0n, accounts: 0 };
    owners.set(held.owner, { amount: owner.amount + held.amount, accounts: owner.accounts + 1 });
  }
  const venues = poolVenues(token);
  return [...owners]
    .toSorted(([, a], [, b]) => (a.amount < b.amount ? 1 : a.amount > b.amount ? -1 : 0))
    .slice(0, maxHolders)
    .map(([owner, { amount, accounts: count }]) => ({
      owner,
      ...kindOf(owner, token, venues),
      accounts: count,
      amount: `${amount}`,
      uiAmount: toUi(amount, decimals),
      sharePercent: supply === 0n || amount > supply ? null : Number((amount * 1_000_000n) / supply) / 10_000,
    }));
}

/** Pools of the token, which own their vaults. */
function poolVenues({ facts, main }: MintView): ReadonlyMap<string, VenueName> {
  const venues = new Map<string, VenueName>(facts.pools.map(({ venue, address }) => [address, venue.name]));
  if (main !== null) venues.set(main.address, main.venue);
  return venues;
}

function kindOf(owner: string, { facts: { curve } }: MintView, pools: ReadonlyMap<string, VenueName>): Pick<Holder, 'kind' | 'venue'> {
  if (curve !== null && owner === curve.address) return { kind: 'curve', venue: curve.venue.name };
  const venue = pools.get(owner);
  if (venue !== undefined) return { kind: 'pool', venue };
  // An address that is no point of the curve has no private key: a program derived it.
  return { kind: isOnCurve(addressBytes(owner)) ? 'wallet' : 'program', venue: null };
}
