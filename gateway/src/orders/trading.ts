import { setTimeout as pause } from 'node:timers/promises';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { PoolLookup } from '@sluice/shared/pools/directory.ts';
import { venues } from '@sluice/shared/venues/registry.ts';
import { pumpPortalLocalEndpoint, pumpPortalTradeEndpoint } from '@sluice/shared/wire/rest/pumpportal.ts';
import {
  tradeBuyEndpoint,
  tradeSellEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
} from '@sluice/shared/wire/rest/trade.ts';
import { keystoreName, passphraseFileOf } from '../custody/passphrase.ts';
import { bindEndpoint, type BoundEndpoint } from '../http/endpoint.ts';
import { createSigner, noSigner } from '../signer/client.ts';
import type { Store } from '../store/store.ts';
import type { Hub } from '../stream/hub.ts';
import type { PrivateEvents } from '../stream/delivery/private-events.ts';
import { createMessageBuilder } from './prepare/message-builder.ts';
import { watchChainIdentity } from './nodes/chain-identity.ts';
import { takeGatewayId } from '../store/gateway-id.ts';
import { createHalt } from '../store/halt.ts';
import { tradeEndpoints } from './api/trade-endpoints.ts';
import { transactionEndpoints } from './api/transaction-endpoints.ts';
import { tradingOff } from './place/admission.ts';
import { createPlaceOrder, type PlaceOrder } from './place/place-order.ts';
import type { ToldOrder } from './model/order.ts';
import { createOrderLedger } from './ledger/order-ledger.ts';
import { createOrderPublisher } from './ledger/order-publisher.ts';
import type { OrderReport } from './order-report.ts';
import { OrderStats } from './ledger/order-stats.ts';
import { pumpPortalEndpoints } from './api/pumpportal/endpoints.ts';
import { seenTrades } from './follow/seen-trades.ts';
import { ThreadedFollower } from './follow/threaded-follower.ts';
import type { SendFirst } from './place/first-send.ts';
import { firstRound } from './send/first-round.ts';
import { createLanes } from './send/lanes.ts';
import { createSendNodes } from './nodes/nodes.ts';
import { createSimulator } from './simulate/simulator.ts';
import { createSendSigned } from './place/send-signed.ts';
import { takeUpOrders } from './follow/take-up.ts';
import { createHotState } from './state/hot-state.ts';
import { OwnOrders } from './state/own-orders.ts';
import { warmNewTokens } from './state/warm-ahead.ts';
import { laneTips } from './prepare/tips.ts';
import { createWalletAccess } from './place/wallet-access.ts';

/** How long a start waits for the open orders to be taken up: nodes that don't answer, or a store, keep nobody from reading. */
const takeUpWithinMs = 3_000;

/** Where the custodial wallets are. */
export interface Custody {
  readonly keystore: string;
  /** Null: there is no passphrase, and nothing is signed. */
  readonly passphraseFile: string | null;
}

export interface TradingOptions {
  readonly config: Config;
  /** That of the settings' chain where it is not given. */
  readonly custody?: Custody;
  /** Null: there is none, and no orders. */
  readonly store: Store | null;
  readonly bus: Bus;
  /** How orders' events go over the bus. */
  readonly events: PrivateEvents;
  readonly hub: Pick<Hub, 'follow'>;
  readonly directory: PoolLookup;
  /** Whether the chain is a simulated one, as far as it is known. */
  readonly simulated: () => boolean;
  readonly log: Logger;
}

/** The trading half of a gateway. */
export interface Trading {
  /** Places an order of a custodial wallet, without HTTP. */
  readonly placeOrder: PlaceOrder;
  readonly endpoints: readonly BoundEndpoint[];
  /** Takes up the orders that this store still has open on the nodes' chain, or will, once nodes and store answer. Resolves soon. */
  start(): Promise<void>;
  /** Null: it does not trade. */
  report(): OrderReport | null;
  /** Why no order would be taken now; null where orders are, or where this gateway is not to trade. */
  fault(): string | null;
  /** Newest slot that the endpoints agree on; 0 before the first, and where it does not trade. */
  slot(): number;
  close(): Promise<void>;
}

/** The trading half of a gateway that has a chain and a store; without either there is nothing to trade on. */
export function openTrading(options: TradingOptions): Trading {
  const { config, store, custody = { keystore: keystoreName(config), passphraseFile: passphraseFileOf(config) } } = options;
  return config.rpc === null || store === null ? noTrading() : createTrading({ ...options, rpc: config.rpc, custody, store });
}

function noTrading(): Trading {
  const specs = [
    tradeBuyEndpoint,
    tradeSellEndpoint,
    transactionBuyEndpoint,
    transactionSellEndpoint,
    transactionSendEndpoint,
    pumpPortalTradeEndpoint,
    pumpPortalLocalEndpoint,
  ];
  return {
    placeOrder: async () => tradingOff,
    endpoints: specs.map((spec) => bindEndpoint(spec, () => tradingOff)),
    start: async () => undefined,
    report: () => null,
    fault: () => null,
    slot: () => 0,
    close: async () => undefined,
  };
}

interface TradingParts extends TradingOptions {
  readonly rpc: NonNullable<Config['rpc']>;
  readonly custody: Custody;
  readonly store: Store;
}

function createTrading({ config, rpc, custody, store, bus, events, hub, directory, simulated, log }: TradingParts): Trading {
  const life = new AbortController();
  const { signal } = life;
  const { trading: mode, signerLimits: limits } = config;
  const state = createHotState({ ...rpc, venues, directory, log, signal });
  const nodes = createSendNodes(rpc.httpUrls);
  const newestSlot = (): number => state.newestSlot();
  const taking = new AbortController();
  const chain = watchChainIdentity({ nodes, log, signal: taking.signal });
  const simulator = createSimulator({ nodes, newestSlot, isAway: (endpoint) => state.isAway(endpoint), log, signal });
  const builder = createMessageBuilder();
  const { id: gatewayId, release: releaseId } = takeGatewayId(store.dataDir);
  const halt = createHalt(store, log);
  const signer =
    mode === 'live'
      ? createSigner({ store, ...custody, signerSocket: config.signerSocket, signerDir: config.signerDir, limits, halt, log })
      : noSigner();
  const lanes = createLanes({ nodes, ...config.broadcast, mayLeave: () => !halt.halted, signal });
  const sendFirst: SendFirst = (signature, wire) => firstRound(signature, wire, lanes);
  const publisher = createOrderPublisher({ bus, events, simulated, log });
  const stats = new OrderStats();
  const ownOrders = new OwnOrders();
  const tell = (order: ToldOrder, landedSlot: number | null = null): void => {
    ownOrders.noteChange(order, landedSlot, state);
    stats.changed(order);
    publisher.tell(order);
  };
  const { orders, wallets } = store;
  const ledger = createOrderLedger({ orders, publisher: { tell }, log });
  const follower = new ThreadedFollower({
    store: { dataDir: store.dataDir, databaseUrl: store.databaseUrl },
    httpUrls: rpc.httpUrls,
    broadcast: config.broadcast,
    gatewayId,
    onChange: tell,
    newestSlot,
    blockHeight: () => state.blockHeight()?.height ?? null,
    log,
  });
  hub.follow(warmNewTokens(state, venues));
  hub.follow(seenTrades(follower));
  const quoting = { venues, chain, state, ownOrders, builder, simulator, endpoints: nodes.length };
  const parts = { ...quoting, mode, halt, orders, ledger, sendFirst, follower, gatewayId, stats, log };
  const access = createWalletAccess(wallets, custody.keystore);
  let takingUp: Promise<void> = Promise.resolve();
  // On paper nothing is sent, by no lane.
  const tips = mode === 'live' ? laneTips(config.broadcast) : [];
  const placeOrder = createPlaceOrder({ ...parts, laneTips: tips, signer, wallets: access, maxDayLamports: limits.maxDayLamports });
  return {
    placeOrder,
    endpoints: [
      ...tradeEndpoints(placeOrder, venues),
      ...transactionEndpoints({ ...parts, sendSigned: createSendSigned(parts) }),
      ...pumpPortalEndpoints({ ...parts, placeOrder }),
    ],
    start: async () => {
      takingUp = takeUpOrders({ chain, follower, orders, log, signal: taking.signal });
      await Promise.race([takingUp, pause(takeUpWithinMs, undefined, { ref: false })]);
    },
    report: () => ({
      stats,
      mode,
      halted: halt.halted,
      open: follower.size,
      lanes: lanes.all,
      follow: follower.report,
      state: state.counts(),
      simulator: simulator.counters,
      signer: { fault: signer.fault, ready: signer.isReady, counts: signer.counts },
    }),
    fault: () => {
      if (mode === 'off') return null;
      return signer.fault ?? (state.blockhash() === null ? 'No recent blockhash is known: too few nodes answer.' : null);
    },
    slot: () => state.slot(),
    close: async () => {
      taking.abort();
      await signer.close();
      await follower.close();
      await takingUp;
      await publisher.close();
      halt.close();
      life.abort();
      state.close();
      releaseId();
    },
  };
}
