import { yieldEngineThreads } from '@sluice/shared/runtime/thread/priority.ts';
import { wallet } from '../../simnet/runtime/wallets.ts';
import { createChain, type SimChain } from '../../simnet/sim-chain.ts';
import { startSimnet } from '../../simnet/simnet.ts';
import { collectGarbage } from '../../support/garbage.ts';
import { launchCoin, maker, moveToPool, trader, tradeOnChain } from '../../support/chain/quoted-trades.ts';

/**
 * The node that simulates and receives orders: simnet with coins that nobody else trades. It records when the head of each message's HTTP
 * request arrived, and how long each simulation took. argv: number of coins.
 */
export type ToNode =
  | { readonly op: 'fund'; readonly wallets: readonly string[] }
  /** Deletes the records. */
  | { readonly op: 'forget' }
  | { readonly op: 'report' };

export interface NodeReport {
  /** The first arrival of each message, by signature; milliseconds of the machine's monotonic clock. */
  readonly arrivals: readonly (readonly [signature: string, atMs: number])[];
  /** From the head of a request to the end of its answer. */
  readonly simulationsMs: readonly number[];
  readonly landed: number;
  readonly failed: number;
}

/** Milliseconds of a clock that all processes of the machine share. */
export function sharedClockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

interface Call {
  readonly startedMs: number;
  simulated: boolean;
}

const lamports = 400_000n * 10n ** 9n;
const walletLamports = 1_000n * 10n ** 9n;
const slotMs = 400;
/** A validator answers requests while it builds its block and reports it. */
const turnMs = 0.3;
const curveLamports = 5n * 10n ** 9n;
const poolLamports = 1_000n * 10n ** 9n;

/** Every other one is on a pool. */
function launch(chain: SimChain, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => {
    const coin = launchCoin(chain);
    const { err } = tradeOnChain(chain, coin, 'pump', { exact: 'quoteIn', amount: i % 2 === 0 ? curveLamports : poolLamports }, 1n);
    if (err !== null) throw new Error(JSON.stringify(err));
    if (i % 2 === 1) moveToPool(chain, coin, false);
    return coin.mint;
  });
}

async function serve(count: number): Promise<void> {
  // A validator does not pause for garbage collection.
  yieldEngineThreads();
  const funded = [maker, trader, wallet('bench', 'faucet')].map(({ publicKey: address }) => ({ address, lamports, usdc: 10n ** 13n }));
  const chain = createChain({ seed: 'trade bench', market: false, funded, slotMs, turnMs });
  const mints = launch(chain, count);
  /** The request that is being answered. */
  let call: Call | null = null;
  const arrivals = new Map<string, number>();
  /** Messages are sent again until they are in a block, also after the records were deleted. */
  const known = new Set<string>();
  const simulationsMs: number[] = [];
  const landings = { landed: 0, failed: 0 };
  const onRequest = (beganAtMs: number): (() => void) => {
    const begun: Call = { startedMs: sharedClockMs() - (performance.now() - beganAtMs), simulated: false };
    call = begun;
    return () => {
      call = null;
      if (begun.simulated) simulationsMs.push(sharedClockMs() - begun.startedMs);
    };
  };
  const { send, simulate } = { send: chain.send.bind(chain), simulate: chain.simulate.bind(chain) };
  chain.simulate = (...args) => {
    if (call !== null) call.simulated = true;
    return simulate(...args);
  };
  chain.send = (...args) => {
    const outcome = send(...args);
    if (!outcome.ok || call === null || known.has(outcome.signature)) return outcome;
    known.add(outcome.signature);
    arrivals.set(outcome.signature, call.startedMs);
    return outcome;
  };
  chain.listen({
    onFrozen: ({ transactions }) => {
      for (const { err, signature } of transactions) if (arrivals.has(signature)) landings[err === null ? 'landed' : 'failed']++;
    },
  });
  const { rpcUrl, wsUrl } = await startSimnet({ chain, turnMs, onRequest });
  process.on('message', (order: ToNode) => {
    if (order.op === 'fund') for (const address of order.wallets) chain.airdrop(address, walletLamports);
    if (order.op === 'forget') {
      // At once, and not during the measurement.
      collectGarbage();
      arrivals.clear();
      simulationsMs.length = 0;
      landings.landed = landings.failed = 0;
    }
    const report: NodeReport = { arrivals: [...arrivals], simulationsMs, ...landings };
    process.send?.(order.op === 'report' ? report : order.op);
  });
  process.once('disconnect', () => process.exit(0));
  process.send?.({ rpcUrl, wsUrl, mints });
}

const [, , count] = process.argv;
if (process.send !== undefined && count !== undefined) await serve(Number(count));
