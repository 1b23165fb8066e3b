import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { PoolLookup } from '@sluice/shared/market/pools/pool-directory.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { SigningProcess } from '../signer/client/client.ts';
import { endStates, type PublishedOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { Halt } from '@sluice/gateway/store/halt/halt.ts';
import type { TokenPrices } from '@sluice/gateway/reads/tokens/token-prices.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { pumpPortalEndpoints } from './endpoints/pumpportal/endpoints.ts';
import { batchEndpoint } from './endpoints/batch-endpoint.ts';
import { tradeEndpoints } from './endpoints/trade-endpoints.ts';
import { triggerEndpoints } from './endpoints/trigger-endpoints.ts';
import { followStoredOrders } from '../follow/storing/follow-stored.ts';
import { ThreadedFollower } from '../follow/thread/threaded-follower.ts';
import { createOrderLedger } from '../model/order-ledger.ts';
import type { OrderPublisher } from '../model/order-publisher.ts';
import type { BundleWatch } from '../model/bundle-watch.ts';
import type { OrderStats } from '../model/order-stats.ts';
import { knownChain, type ChainIdentity } from '../nodes/chain-identity.ts';
import type { SendNode } from '../nodes/nodes.ts';
import type { SendBundle, SendFirst } from '../place/first-send.ts';
import { openBatches } from '../place/batch/place-batch.ts';
import { createPlaceOrder } from '../place/place-order.ts';
import { StoreGate } from '../place/store-gate.ts';
import { createSendSigned } from '../place/send-signed.ts';
import type { WalletAccess } from '@sluice/gateway/accounts/wallet-access.ts';
import { createMessageBuilder } from '../prepare/message-builder.ts';
import { laneTips } from '../prepare/tips.ts';
import { Simulator } from '../nodes/simulate/simulator.ts';
import { HotState } from '../state/hot-state.ts';
import { OwnOrders } from '../state/own-orders.ts';
import { Positions } from '../positions/positions.ts';
import { PriceCheck } from '../triggers/firing/price-check.ts';
import type { LogWatchParts } from '../triggers/engine/log-watch.ts';
import { openTriggers } from '../triggers/open.ts';
import type { TriggerStats } from '../triggers/firing/trigger-stats.ts';
import { seenTrades, warmNewTokens } from './log-listeners.ts';

/** Longest wait of a call for the first blockhash of a desk. */
const readyWithinMs = 1_500;
const readyLookEveryMs = 10;

export interface DeskParts {
  readonly config: Pick<Config, 'trading' | 'broadcast' | 'signerLimits'>;
  readonly rpc: NonNullable<Config['rpc']>;
  readonly store: Store;
  readonly directory: PoolLookup;
  readonly gatewayId: string;
  readonly chain: ChainIdentity;
  readonly nodes: readonly SendNode[];
  readonly halt: Halt;
  readonly signer: Pick<SigningProcess, 'sign' | 'judge'>;
  readonly wallets: WalletAccess;
  readonly sendFirst: SendFirst;
  readonly sendBundle: SendBundle;
  readonly bus: Bus;
  readonly keystore: string;
  /** Name of the lease of the positions: unique among the stores that share the bus. */
  readonly positionsName: string;
  readonly prices: TokenPrices;
  readonly readPrices: LogWatchParts['readPrices'];
  readonly publisher: Pick<OrderPublisher, 'publish' | 'publishTrigger' | 'publishPosition'>;
  readonly stats: OrderStats;
  readonly triggerStats: TriggerStats;
  /** Whether this gateway has the trading role at this moment; false while Redis does not answer. */
  readonly holdsRole: () => boolean;
  readonly bundleWatch: BundleWatch;
  /** Price of SOL in USD; null if it is unknown. */
  readonly solUsd: () => number | null;
  /** The desk claims the orders of other gateways at once, because no other gateway holds the trading role any more. */
  readonly takesOverAtOnce: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

export type TradingDesk = ReturnType<typeof openDesk>;

/** What a gateway runs while it holds the trading role: it follows accounts and open orders, and places orders. */
export function openDesk(of: DeskParts) {
  const { config, rpc, store, directory, gatewayId, chain, nodes, publisher, stats, triggerStats, clock, log } = of;
  const life = new AbortController();
  const { signal } = life;
  const { trading: mode, broadcast, signerLimits: limits } = config;
  const state = new HotState({ ...rpc, venues, directory, log, signal });
  const { chain: view, blockhashes } = state;
  const newestSlot = (): number => view.newestSlot;
  const positions = new Positions({ ...of, name: of.positionsName, mode, slots: view, chain: (until) => knownChain(chain, until) });
  const simulator = new Simulator({ nodes, newestSlot, isUnavailable: (endpoint) => view.isUnavailable(endpoint), log, signal });
  const builder = createMessageBuilder();
  const ownOrders = new OwnOrders();
  const onChange = (order: PublishedOrder, landedSlot: number | null = null): void => {
    ownOrders.noteChange(order, landedSlot, view);
    stats.changed(order);
    of.bundleWatch.note(order);
    publisher.publish(order);
    triggers.engine.noteOrder(order);
    if (endStates.has(order.state)) positions.orderEnded();
  };
  const { orders, paper } = store;
  const nowMs = (): number => store.time.nowMs();
  const ledger = createOrderLedger({ orders, publisher: { publish: onChange }, clock, log });
  const follower = new ThreadedFollower({
    settings: followerSettings(of),
    onChange,
    newestSlot,
    blockHeight: () => blockhashes.height,
    clock,
    log,
  });
  const parts = { ...of, venues, state, ownOrders, builder, simulator, endpoints: nodes.length, mode, orders, ledger, follower };
  const storeGate = new StoreGate({ probe: () => orders.probe(), clock, log });
  const placeParts = { ...parts, paper, storeGate, laneTips: laneTips(broadcast), maxDayLamports: limits.maxDayLamports };
  const placeOrder = createPlaceOrder(placeParts);
  const triggers = openTriggers({
    ...parts,
    placeOrder,
    publish: (trigger) => publisher.publishTrigger(trigger),
    prices: nodes.length > 1 ? new PriceCheck(state.markets, clock) : null,
    positions,
    stats: triggerStats,
  });
  const endpoints = [
    ...tradeEndpoints({ ...parts, placeOrder, sendSigned: createSendSigned(parts) }),
    batchEndpoint({ venues, placeBatch: openBatches({ ...placeParts, placeOrder, newestSlot, signal }) }),
    ...triggerEndpoints({
      ...parts,
      desk: triggers.desk,
      triggers: store.triggers,
      paper: mode === 'paper',
      nowMs,
    }),
    ...pumpPortalEndpoints({ ...parts, placeOrder, hasBlockEngine: broadcast.jitoUrl !== null }),
  ];
  const storedFollowed = followStoredOrders({ chain, follower, orders, ledger, gatewayId, log, signal });
  return {
    placeOrder,
    positions,
    /** By the `id` of the endpoint. */
    endpoints: new Map(endpoints.map((endpoint) => [endpoint.spec.id, endpoint])),
    /** Must receive all entries of the log. */
    listeners: [warmNewTokens(state.markets, venues), seenTrades(follower)],
    /** Resolves when a recent blockhash is known, or soon after if none is. */
    ready: untilReady(() => blockhashes.current !== null, signal),
    /** Resolves when the follower has loaded the open orders of the store. */
    storedFollowed,
    report: () => ({
      positions: positions.report(),
      triggers: triggers.engine.size,
      open: follower.size,
      follow: follower.report,
      state: state.counts(),
      simulator: simulator.counters,
    }),
    /** Why no order would be accepted now; null if orders would be. */
    fault: () => (blockhashes.current === null ? 'No recent blockhash is known: too few nodes answer.' : null),
    slot: () => view.slot,
    close: async (): Promise<void> => {
      await triggers.engine.close();
      await positions.close();
      await follower.close();
      life.abort();
      await storedFollowed;
      state.close();
    },
  };
}

function followerSettings({ store, rpc, config: { broadcast }, gatewayId, takesOverAtOnce }: DeskParts) {
  const { dataDir, databaseUrl, signerDir } = store;
  return { store: { dataDir, databaseUrl, signerDir }, httpUrls: rpc.httpUrls, broadcast, gatewayId, takesOverAtOnce };
}

async function untilReady(isReady: () => boolean, signal: AbortSignal): Promise<void> {
  const endMs = performance.now() + readyWithinMs;
  while (!isReady() && !signal.aborted && performance.now() < endMs) await pause(readyLookEveryMs, signal, { ref: false });
}
