import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { countVotes } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import type { SendNode } from './nodes.ts';

/** How often nodes are asked while their chain is unknown, and how often after that. */
const firstLookEveryMs = 500;
const lookEveryMs = 10_000;

/** The chain of the nodes, by `getGenesisHash`. `contradicted`: the nodes belong to several chains, or to a chain other than before. */
export type ChainStatus = { readonly kind: 'known'; readonly genesisHash: string } | { readonly kind: 'unknown' | 'contradicted' };

export type ChainIdentity = ReturnType<typeof watchChainIdentity>;

export interface ChainIdentityOptions {
  readonly nodes: readonly SendNode[];
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

/** Asks every node repeatedly, because another chain may be started behind the same address. The majority of those that answer decides. */
export function watchChainIdentity({ nodes, log, clock = systemClock, signal }: ChainIdentityOptions) {
  /** The last answer of each node; null if it has not answered. */
  const answers: (string | null)[] = nodes.map(() => null);
  let status: ChainStatus = { kind: 'unknown' };
  let own: string | null = null;
  let isMissed = false;
  let disputed = false;
  let give: (genesisHash: string | null) => void = () => undefined;
  const known = new Promise<string | null>((resolve) => (give = resolve));
  signal.addEventListener('abort', () => give(null), { once: true });

  const judge = (): { readonly status: ChainStatus; readonly isDisputed: boolean } => {
    const votes = answers.flatMap((value, endpoint) => (value === null ? [] : [{ endpoint, value }]));
    const verdict = countVotes(votes, { endpoints: nodes.length, waiting: 0 }, (one, other) => one === other);
    if (verdict.kind === 'contradicted') return { status: { kind: 'contradicted' }, isDisputed: true };
    if (verdict.kind !== 'agreed') return { status: { kind: 'unknown' }, isDisputed: false };
    const genesisHash = verdict.votes[0]!.value;
    // Orders contain the genesis hash of their chain, so this process must not continue on another chain.
    if (own !== null && own !== genesisHash) return { status: { kind: 'contradicted' }, isDisputed: true };
    return { status: { kind: 'known', genesisHash }, isDisputed: verdict.outvoted.length > 0 };
  };
  const look = async (): Promise<void> => {
    await Promise.all(nodes.map(async ({ rpc }, index) => (answers[index] = (await askGenesis(rpc, signal)) ?? answers[index]!)));
    if (signal.aborted) return;
    const { status: now, isDisputed } = judge();
    const wasDisputed = disputed;
    [status, disputed] = [now, isDisputed];
    if (isDisputed && !wasDisputed) {
      log.error({ own, answers: nodes.map(({ name }, index) => ({ name, genesisHash: answers[index] })) }, 'chain_contradicted');
    }
    if (now.kind === 'unknown' && !isMissed) {
      isMissed = true;
      log.warn({ nodes: nodes.map(({ name }) => name) }, 'chain_unknown');
    }
    if (now.kind !== 'known' || own !== null) return;
    own = now.genesisHash;
    log.info({ genesisHash: own }, 'chain_known');
    give(own);
  };
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      await look();
      await pause(status.kind === 'known' ? lookEveryMs : firstLookEveryMs, signal, { ref: false, clock });
    }
  };
  void watch();
  return {
    get status(): ChainStatus {
      return status;
    },
    /** Resolves with the genesis hash as soon as it is known, or with null if `signal` fires before. */
    known,
  };
}

/** Null if the node gives no usable answer. Its last answer then still counts. */
async function askGenesis(rpc: SendNode['rpc'], signal: AbortSignal): Promise<string | null> {
  try {
    const answer = await rpc.call('getGenesisHash', [], signal);
    return typeof answer === 'string' && isAddress(answer) ? answer : null;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // The node is asked again. While no node answers, orders are refused.
    return null;
  }
}

/** The genesis hash as soon as it is known; null if `until` fires before. */
export function knownChain({ known }: Pick<ChainIdentity, 'known'>, until: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    whenAborted(until, () => resolve(null));
    void known.then(resolve);
  });
}

/** The chain on which an order may be made now, or the refusal. */
export function chainForOrder({ status }: Pick<ChainIdentity, 'status'>) {
  if (status.kind === 'known') return status;
  const message =
    status.kind === 'unknown'
      ? 'No node has reported yet which chain it belongs to.'
      : 'The nodes of this server do not all belong to the same chain.';
  return { error: 'UPSTREAM_UNAVAILABLE', message, retryAfterSeconds: 1 } as const;
}
