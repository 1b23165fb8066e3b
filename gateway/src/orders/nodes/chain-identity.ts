import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '@sluice/shared/log/log.ts';
import { isAddress } from '@sluice/shared/solana/base58.ts';
import { countVotes } from '@sluice/shared/solana/quorum/votes.ts';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import type { SendNode } from './nodes.ts';

/** How often nodes are asked while it is not known of which chain they are, and how often after that. */
const firstLookEveryMs = 500;
const lookEveryMs = 10_000;

/** Of which chain the nodes are, by `getGenesisHash`. `contradicted`: they are of several, or of another than before. */
export type ChainStanding = { readonly kind: 'known'; readonly genesisHash: string } | { readonly kind: 'unknown' | 'contradicted' };

export interface ChainIdentity {
  readonly standing: ChainStanding;
  /** The genesis hash as soon as it is known; null where it ended before. */
  readonly known: Promise<string | null>;
}

export interface ChainIdentityOptions {
  readonly nodes: readonly SendNode[];
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly signal: AbortSignal;
}

/**
 * Asks every node of which chain it is, and goes on asking: behind an address another chain may be begun. What more than half of those that
 * answer say counts, and for as long as the process lives it must not change; a node that never answers keeps nobody waiting for longer.
 */
export function watchChainIdentity({ nodes, log, signal }: ChainIdentityOptions): ChainIdentity {
  /** What each node told last; null where it has not. */
  const told: (string | null)[] = nodes.map(() => null);
  let standing: ChainStanding = { kind: 'unknown' };
  let own: string | null = null;
  let isMissed = false;
  let disputed = false;
  let give: (genesisHash: string | null) => void = () => undefined;
  const known = new Promise<string | null>((resolve) => (give = resolve));
  signal.addEventListener('abort', () => give(null), { once: true });

  const judge = (): { readonly standing: ChainStanding; readonly isDisputed: boolean } => {
    const votes = told.flatMap((value, endpoint) => (value === null ? [] : [{ endpoint, value }]));
    const verdict = countVotes(votes, { endpoints: nodes.length, waiting: 0 }, (one, other) => one === other);
    if (verdict.kind === 'contradicted') return { standing: { kind: 'contradicted' }, isDisputed: true };
    if (verdict.kind !== 'agreed') return { standing: { kind: 'unknown' }, isDisputed: false };
    const genesisHash = verdict.votes[0]!.value;
    // Orders bear the hash of the chain that they were made on: another one is none that this process may go on with.
    if (own !== null && own !== genesisHash) return { standing: { kind: 'contradicted' }, isDisputed: true };
    return { standing: { kind: 'known', genesisHash }, isDisputed: verdict.outvoted.length > 0 };
  };
  const look = async (): Promise<void> => {
    await Promise.all(nodes.map(async ({ rpc }, index) => (told[index] = (await askGenesis(rpc, signal)) ?? told[index]!)));
    if (signal.aborted) return;
    const { standing: now, isDisputed } = judge();
    const wasDisputed = disputed;
    [standing, disputed] = [now, isDisputed];
    if (isDisputed && !wasDisputed) {
      log.error({ own, told: nodes.map(({ name }, index) => ({ name, genesisHash: told[index] })) }, 'chain_contradicted');
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
      await pause(standing.kind === 'known' ? lookEveryMs : firstLookEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };
  void watch();
  return {
    get standing() {
      return standing;
    },
    known,
  };
}

/** Null where the node does not answer, or with something else: what it told before stands. */
async function askGenesis(rpc: SendNode['rpc'], signal: AbortSignal): Promise<string | null> {
  try {
    const answer = await rpc.call('getGenesisHash', [], signal);
    return typeof answer === 'string' && isAddress(answer) ? answer : null;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // It is asked again, and while nobody tells, orders are refused.
    return null;
  }
}

/** The chain that an order may be made on now, or why on none. */
export function chainForOrder({ standing }: Pick<ChainIdentity, 'standing'>) {
  if (standing.kind === 'known') return standing;
  const message =
    standing.kind === 'unknown'
      ? 'No node has told yet of which chain it is.'
      : 'The nodes of this server are not of one and the same chain.';
  return { error: 'UPSTREAM_UNAVAILABLE', message, retryAfterSeconds: 1 } as const;
}
